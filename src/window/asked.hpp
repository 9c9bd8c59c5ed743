#pragma once
// What the user asks for: a window's info object, and the rules of SILL_WINDOWS and sill.toml for those that give none.
#include <mpi.h>

#include "base/hints.hpp"
#include "base/status.hpp"

namespace sill::window {

struct Asked {
  bool storage = false;  // storage is asked for, or the asking is faulty
  Status status;         // what is wrong with it
  WindowHints hints;
};

// Rules apply unless the info gives an alloc_type of its own; info then overrides them key by key.
Asked read_asked(MPI_Info info);

}  // namespace sill::window
