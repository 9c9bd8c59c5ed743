#pragma once
// Whose call an entry is. While it is at work on a thread, a tool behind Sill may go on from MPI_X to PMPI_X, and so
// comes through the same entry again: that goes straight on. All else is the program's, also what its callbacks do that
// the MPI library runs meanwhile: error handlers, delete functions, reduction operations.
#include <cstdint>
#include <type_traits>
#include <utility>

namespace sill::mpi {

// Which function (the same address for both of its names), and a digest of what it was called with.
struct Call {
  const void* entry = nullptr;
  std::uint64_t arguments = 0;

  bool operator==(const Call&) const = default;
};

// Of numbers, handles and pointers.
template <class... Args>
std::uint64_t digest(Args... args) {
  std::uint64_t mixed = 0;
  [[maybe_unused]] const auto add = [&mixed](auto argument) {
    if constexpr (std::is_pointer_v<decltype(argument)>)
      mixed ^= reinterpret_cast<std::uintptr_t>(argument);
    else
      mixed ^= static_cast<std::uint64_t>(argument);
    mixed *= 0x9E3779B97F4A7C15;  // odd, so nothing is lost
    mixed ^= mixed >> 32;
  };
  (add(args), ...);
  return mixed;
}

// An entry at work. By value: a program may leave it by a jump.
class Turn {
 public:
  explicit Turn(const Call& call) : before_(std::exchange(now_, call)) {}
  ~Turn() { now_ = before_; }
  Turn& operator=(Turn&&) = delete;

  // Whether it is this very call that is at work.
  static bool is_again(const Call& call) { return now_ == call; }

 private:
  friend class ProgramTurn;
  static inline constinit thread_local Call now_{};
  Call before_;
};

// The program's own code is at work again, called back by us: its calls are the program's, whatever they are.
class ProgramTurn {
 public:
  ProgramTurn() : before_(std::exchange(Turn::now_, Call{})) {}
  ~ProgramTurn() { Turn::now_ = before_; }
  ProgramTurn& operator=(ProgramTurn&&) = delete;

 private:
  Call before_;
};

}  // namespace sill::mpi
