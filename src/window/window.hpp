#pragma once
// What Sill knows of one MPI window. It hangs on the window as a cached attribute.
#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/hints.hpp"
#include "base/status.hpp"
#include "mpi/comm.hpp"
#include "storage/promises.hpp"
#include "window/access.hpp"
#include "window/front.hpp"
#include "window/mpi_window.hpp"
#include "window/plan.hpp"
#include "window/segment.hpp"

namespace sill::window {

class Window {
 public:
  // A window that Sill allocated; `flavor` is the one the user asked for.
  struct Allocation {
    int flavor = MPI_WIN_FLAVOR_ALLOCATE;
    std::shared_ptr<const mpi::OwnComm> comm;
    std::vector<Placement> placements;
    MpiWindow mpi_window;
    WindowHints hints;
    std::string name;  // its number, for messages and tables
    std::shared_ptr<Front> front = nullptr;
  };
  // Bytes, but for the last two; no value where the kernel can't tell.
  struct Stats {
    std::uint64_t memory = 0;
    std::uint64_t storage = 0;
    std::optional<std::uint64_t> resident;
    std::optional<std::uint64_t> dirty;
    std::optional<std::uint64_t> synced;
    std::uint64_t syncs = 0;
    std::uint64_t nanoseconds = 0;
  };
  explicit Window(Allocation allocation);
  // A window of the user's own making (MPI_Win_create, dynamic), over memory of MPI_Alloc_mem.
  Window() = default;

  // Whether Sill allocated the window, and so answers for its attributes.
  bool allocated() const { return !placements().empty(); }
  int rank() const { return allocation_.comm ? allocation_.comm->rank : 0; }
  const std::string& name() const { return allocation_.name; }
  const std::string& path() const { return path_; }
  bool restored() const;
  // Where this rank's storage lies now, absolute and without links; none without storage. Of several memories that are
  // attached, the first; so for the answers.
  std::optional<std::string> store_path() const;
  // What MPI_Win_get_info answers: this rank's hints as they were settled, and the window's path.
  HintPairs answers() const;
  // This rank's numbers.
  Stats stats();
  const std::vector<Placement>& placements() const { return allocation_.placements; }
  const mpi::OwnComm* comm() const { return allocation_.comm.get(); }
  const MpiWindow& mpi_window() const { return allocation_.mpi_window; }
  WindowHints& hints() { return allocation_.hints; }
  // For windows with direct access, or whose targets must be flushed one by one; nullptr for others.
  Access* access() { return access_.get(); }

  // What MPI_Win_get_attr answers, at addresses that live as long as the window.
  struct Attributes {
    void* base = nullptr;
    MPI_Aint size = 0;
    int disp_unit = 1;
    int flavor = 0;
  };
  Attributes& attributes() { return attributes_; }

  // The base of a rank's segment in this process; nullptr where it can't be seen.
  std::byte* base(int target) const { return allocation_.mpi_window.bases[target]; }
  // The same where all of the segment is seen: on memory of our own, of a neighbour's only what lies on storage is.
  std::byte* whole_base(int target) const {
    const Placement& placement = placements()[target];
    const bool whole = target == rank() || mpi_window().regions.empty() || placement.storage_length == placement.size;
    return whole ? base(target) : nullptr;
  }
  // The displacement that the MPI window needs to reach the same byte.
  MPI_Aint translate(int target, MPI_Aint disp) const {
    if (target < 0 || target >= static_cast<int>(ways_.size())) return disp;
    return disp * ways_[target].unit + ways_[target].shift;
  }

  // Adds storage to what sync covers: this process's own, or another rank's on this node.
  void add(std::shared_ptr<StoredSegment> segment, bool own);
  // The same for a part of it, and the way back. Used for memory of MPI_Alloc_mem, whose hints live as long as its
  // segment.
  void add_range(std::shared_ptr<StoredSegment> segment, const WindowHints* hints, const void* attached,
                 const std::byte* begin, const std::byte* end);
  void drop_range(const void* attached);
  bool rerouted() const { return mpi_window().translated || mpi_window().direct || mpi_window().flush_each; }
  // Whether Sill allocated it for reading only, and so refuses what would write to it.
  bool readonly() const { return allocation_.hints.readonly; }
  bool has_storage() const;
  // Whether this rank leads the store that its own segment lies on.
  bool leads_store() const;
  // Storage and where it lies, for who puts other storage in its place.
  struct Storing {
    std::vector<Placement> placements;
    WindowHints hints;
    std::shared_ptr<Front> front;
    std::vector<std::shared_ptr<StoredSegment>> segments;  // own first
  };
  // Gives up what it has, so that segments of other storage can be added; and the way back.
  Storing exchange_storing(std::vector<Placement> placements, WindowHints hints, std::shared_ptr<Front> front);
  Status put_back(Storing storing);
  // This rank's storage, of a window that Sill allocated; nullptr if it has none.
  StoredSegment* own_segment() const;

  // Makes durable all that this rank stored, or put on this node, and all that was put into its segment and completed.
  Status sync();
  // The same for all ranks. Collective on a window that Sill allocated, where all get the same result; else local.
  Status sync_all();
  // Has this rank's storage watched, as the hints want it.
  void watch();
  // Makes this rank's own storage durable. Local.
  Status sync_own();
  // Passes a changed access_style to the kernel.
  Status advise();
  // Keeps what was promised to this rank's part in memory until the window is gone.
  void keep(storage::Promise promise);
  // Makes the window ready for being freed: the last sync. Collective; all ranks get the same result.
  Status close();
  // Undoes a close when the MPI library then refused to free the window `win`.
  void reopen(MPI_Win win);
  // Gives up the files, after all ranks have freed the window: unlinks and unlocks them. Collective; all ranks get the
  // same result.
  Status finish();

 private:
  struct Range {
    std::shared_ptr<StoredSegment> segment;
    const WindowHints* hints;  // of a memory; nullptr: the window's
    const void* attached;      // the address it was attached by
    const std::byte* begin;
    const std::byte* end;
    bool own;
  };
  struct Way {
    MPI_Aint unit;
    MPI_Aint shift;
  };
  // How the window ends, the same on all ranks but for the last.
  struct End {
    bool keep;       // its last sync counts: no rank gives up its bytes
    bool has_front;  // which is to be told
    bool gives_up;   // this rank would have kept them
  };
  Result<End> agree_on_end();
  Status last_step(const End& end);
  std::vector<Range> ranges() const;
  Status sync_ranges(const std::vector<Range>& ranges);

  Allocation allocation_;
  Attributes attributes_;
  std::vector<Way> ways_;  // per rank, if displacements are translated
  std::unique_ptr<Access> access_;
  std::string path_;           // of this rank's own store, for tables
  mutable std::mutex mutex_;   // guards ranges_ and path_ while memory is attached and detached
  std::vector<Range> ranges_;  // own storage first
  SyncCounts counts_;
  storage::Promise memory_;
};

// --- the way from a handle to its window ---------------------------------------------------------------------------

// Counts windows that came or went: what a thread remembers is good as long as it stands still.
extern std::atomic<std::uint64_t> generation;
struct Remembered {
  std::uint64_t generation;
  MPI_Win win;
  Window* window;
};
extern constinit thread_local Remembered remembered;
Window* look_up(MPI_Win win);

// The window behind a handle; nullptr for windows that Sill has nothing to do with. RMA calls ask this: threads
// remember the last answer.
inline Window* find(MPI_Win win) {
  const bool known = remembered.generation == generation.load(std::memory_order_acquire) && remembered.win == win;
  return known ? remembered.window : look_up(win);
}
// Hangs a window on its handle.
Status enter(MPI_Win win, std::unique_ptr<Window> window);
// Takes the window of a handle that has been freed.
std::unique_ptr<Window> leave(Window* window);
// All windows that are open in this process.
std::vector<Window*> open_windows();
// True if the RMA calls of any window do not just pass through: displacements are translated, or copies direct; for
// calls that write, also if a window is only read.
bool any_rerouted(bool writes);
// Calls back whenever that may have changed. For the RMA entry points, at their start.
void when_rerouting_changes(void (*call)());
// Held while that changes, and by those who act on what any_rerouted() says.
extern std::mutex rerouting_mutex;

}  // namespace sill::window
