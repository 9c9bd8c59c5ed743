#pragma once
// What the user asks for: a window's info object, and the rules of SILL_WINDOWS and sill.toml for those that give none.
#include <mpi.h>

#include <memory>

#include "base/hints.hpp"
#include "base/status.hpp"
#include "window/front.hpp"

namespace sill::window {

struct WindowRequest {
  bool storage = false;  // storage is asked for, or the asking is faulty
  Status status;         // what is wrong with it
  WindowHints hints;
  std::shared_ptr<Front> front = nullptr;  // whose the window is, if it isn't the program's own
};

// While it lives, this thread's windows and memory get what it says instead of what info and rules say: for a front
// that lets another library allocate. A window that can't be had like that becomes one of plain memory, and `failure`
// says why.
class HintOverride {
 public:
  // Plain memory, whatever the rules say.
  HintOverride();
  HintOverride(WindowHints hints, std::shared_ptr<Front> front);
  ~HintOverride();
  HintOverride& operator=(HintOverride&&) = delete;
  // That of this thread; nullptr if there is none.
  static HintOverride* now();

  WindowRequest asked;
  Status failure;

 private:
  HintOverride* before_;
};

// Rules apply unless the info gives an alloc_type of its own; info then overrides them key by key.
WindowRequest read_window_request(MPI_Info info);

}  // namespace sill::window
