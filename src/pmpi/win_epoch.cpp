// MPI 4.1, section 12.5: synchronization calls. They pass straight on; windows with direct access note what is open.
#include "mpi/errors.hpp"
#include "pmpi/entry.hpp"
#include "window/window.hpp"

namespace {

using sill::window::Access;
using sill::window::Window;

Window* rerouted(MPI_Win win) { return sill::window::any_rerouted(false) ? sill::window::find(win) : nullptr; }

Access* access_of(MPI_Win win) {
  Window* window = rerouted(win);
  return window ? window->access() : nullptr;
}

// Before a call that flushes all targets at once, where the MPI library does that too early.
int flush_each(MPI_Win win) {
  Window* window = rerouted(win);
  if (!window || !window->mpi_window().flush_each) return MPI_SUCCESS;
  int code = MPI_SUCCESS;
  for (int target = 0; target < window->access()->size() && code == MPI_SUCCESS; ++target)
    if (window->access()->locked(target)) code = sill::mpi::below().Win_flush(target, win);
  return code;
}

template <class Next>
int on_Win_fence(Next next, int assertion, MPI_Win win) {
  const int code = next(assertion, win);
  Window* window = rerouted(win);
  if (!window || !window->mpi_window().direct || code != MPI_SUCCESS) return code;
  const bool open = !(assertion & MPI_MODE_NOSUCCEED);
  // With NOPRECEDE a fence may return before the targets have come to theirs.
  if (open && (assertion & MPI_MODE_NOPRECEDE)) sill::mpi::below().Barrier(window->comm()->comm);
  window->access()->fence(open);
  return code;
}

template <class Next>
int on_Win_lock(Next next, int lock_type, int rank, int assertion, MPI_Win win) {
  const int code = next(lock_type, rank, assertion, win);
  Access* access = access_of(win);
  if (access && code == MPI_SUCCESS && rank >= 0) access->lock(rank);
  return code;
}

template <class Next>
int on_Win_unlock(Next next, int rank, MPI_Win win) {
  Access* access = access_of(win);
  if (access) access->unlock(rank);
  return next(rank, win);
}

template <class Next>
int on_Win_lock_all(Next next, int assertion, MPI_Win win) {
  const int code = next(assertion, win);
  Access* access = access_of(win);
  if (access && code == MPI_SUCCESS) access->lock_all();
  return code;
}

template <class Next>
int on_Win_unlock_all(Next next, MPI_Win win) {
  if (const int code = flush_each(win); code != MPI_SUCCESS) return code;
  if (Access* access = access_of(win)) access->unlock_all();
  return next(win);
}

template <class Next>
int on_Win_flush_all(Next next, MPI_Win win) {
  const int code = flush_each(win);
  return code == MPI_SUCCESS ? next(win) : code;
}

constexpr auto on_Win_flush_local_all = [](auto next, MPI_Win win) { return on_Win_flush_all(next, win); };

template <class Next>
int on_Win_start(Next next, MPI_Group group, int assertion, MPI_Win win) {
  if (Access* access = access_of(win)) access->start();
  return next(group, assertion, win);
}

}  // namespace

SILL_ENTRY(Win_fence, (int assertion, MPI_Win win), (next, assertion, win))
SILL_ENTRY(Win_lock, (int lock_type, int rank, int assertion, MPI_Win win), (next, lock_type, rank, assertion, win))
SILL_ENTRY(Win_unlock, (int rank, MPI_Win win), (next, rank, win))
SILL_ENTRY(Win_lock_all, (int assertion, MPI_Win win), (next, assertion, win))
SILL_ENTRY(Win_unlock_all, (MPI_Win win), (next, win))
SILL_ENTRY(Win_flush_all, (MPI_Win win), (next, win))
SILL_ENTRY(Win_flush_local_all, (MPI_Win win), (next, win))
SILL_ENTRY(Win_start, (MPI_Group group, int assertion, MPI_Win win), (next, group, assertion, win))
