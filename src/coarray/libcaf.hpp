#pragma once
// The libcaf below: its functions behind our own entries, and the communicator of the current team.
#include "coarray/abi.hpp"

#define SILL_CAF_EXPORT extern "C" __attribute__((visibility("default")))

namespace sill::coarray {

struct Libcaf {
#define X(name, result, params) result(*next_##name) params;
  SILL_CAF_CALLS(X)
#undef X
  MPI_Comm* current_comm;          // libcaf's communicator of the current team
  LibcafTokenList** newest_token;  // nullptr where libcaf hides it
};

// The table, filled at first use. Ends the program with a message if no libcaf is behind us.
const Libcaf& libcaf();

// True while libcaf is at work for us: what it calls of itself through our entries goes straight on.
class LibcafTurn {
 public:
  LibcafTurn() { ++depth_; }
  ~LibcafTurn() { --depth_; }
  LibcafTurn& operator=(LibcafTurn&&) = delete;
  static bool now() { return depth_ != 0; }

 private:
  static inline thread_local int depth_ = 0;
};

}  // namespace sill::coarray
