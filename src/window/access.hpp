#pragma once
// Direct access: on the `direct` path, contiguous puts and gets to a rank on the same node are copies through this
// process's own mapping of the target's store. Accumulates never are: the MPI library's atomicity must hold for all.
#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <vector>

namespace sill::window {

class Window;

// Which targets this process may touch now: what the synchronization calls have opened.
class Access {
 public:
  explicit Access(int ranks) : targets_(static_cast<std::size_t>(ranks)) {}

  // After MPI_Win_fence; `open` unless nothing follows.
  void fence(bool open) { fence_.store(open); }
  void lock(int target) {
    fence_.store(false);
    targets_[target].store(State::locked);
  }
  // `target` as the user gave it.
  void unlock(int target) {
    if (target >= 0 && target < size()) targets_[target].store(State::closed);
  }
  void lock_all() {
    fence_.store(false);
    set_all(State::locked);
  }
  void unlock_all() { set_all(State::closed); }
  // MPI_Win_start may return before the target has posted, so nothing is direct in such an epoch.
  void start() { fence_.store(false); }

  int size() const { return static_cast<int>(targets_.size()); }
  bool locked(int target) const { return targets_[target].load() != State::closed; }

  // Whether the target's memory may be touched. A lock may be granted as late as its first operation: this then makes
  // the MPI library wait for it.
  bool open(MPI_Win win, int target);

 private:
  enum class State : unsigned char { closed, locked, granted };
  void set_all(State state) {
    for (auto& target : targets_) target.store(state);
  }

  std::atomic<bool> fence_{false};
  std::vector<std::atomic<State>> targets_;
};

// One side of a transfer, as MPI_Put and MPI_Get describe it.
struct Buffer {
  void* address;
  MPI_Count count;
  MPI_Datatype type;
};
struct Target {
  int rank;
  MPI_Aint disp;  // in the target's units
  MPI_Count count;
  MPI_Datatype type;
};

// Do the transfer directly; false if it has to go through the MPI library.
bool put_directly(Window& window, MPI_Win win, const Buffer& origin, const Target& target);
bool get_directly(Window& window, MPI_Win win, const Buffer& origin, const Target& target);

}  // namespace sill::window
