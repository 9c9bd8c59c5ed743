// MPI 4.1, sections 12.2.5 and 12.5.4: a window's sync, which makes storage durable, and its end.
#include "mpi/errors.hpp"
#include "pmpi/entry.hpp"
#include "window/report.hpp"
#include "window/window.hpp"

namespace {

using sill::mpi::below;
using sill::window::Window;

template <class Next>
int on_Win_sync(Next next, MPI_Win win) {
  Window* window = sill::window::find(win);
  if (!window || !(window->allocated() || window->has_storage())) return next(win);
  // The library's own sync refuses to run outside of passive epochs; what it does inside of them is a fence, which
  // ours includes, and progress for programs that wait for another node by polling.
  if (const auto* comm = window->comm(); comm && comm->node_count > 1) {
    int arrived = 0;
    below().Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm->comm, &arrived, MPI_STATUS_IGNORE);
  }
  return sill::mpi::raise_on_window(win, window->sync());
}

template <class Next>
int on_Win_free(Next next, MPI_Win* win) {
  Window* window = win ? sill::window::find(*win) : nullptr;
  if (!window) return next(win);
  const int closed = sill::mpi::raise_on_window(*win, window->close());
  const sill::mpi::WindowHandler handler(*win);
  // A thread that makes a window may get this handle at once: what threads remember of it must not be used then.
  ++sill::window::generation;
  const int freed = next(win);
  if (freed != MPI_SUCCESS) {
    window->reopen(*win);
    return freed;
  }
  sill::window::note_window(*window);
  const sill::Status finished = window->finish();
  sill::window::leave(window);
  const int code = handler.raise(finished);
  return closed != MPI_SUCCESS ? closed : code;
}

}  // namespace

SILL_ENTRY(Win_sync, (MPI_Win win), (next, win))
SILL_ENTRY(Win_free, (MPI_Win * win), (next, win))
