// MPI 4.1, sections 9.2 and 12.2: memory of MPI_Alloc_mem, and the windows that a program makes over it.
#include "base/log.hpp"
#include "mpi/comm.hpp"
#include "mpi/errors.hpp"
#include "pmpi/entry.hpp"
#include "window/memory.hpp"
#include "window/window.hpp"

namespace {

using sill::Status;

template <class Next>
int on_Alloc_mem(Next next, MPI_Aint size, MPI_Info info, void* baseptr) {
  const auto asked = sill::window::read_window_request(info);
  if (!asked.storage) return next(size, info, baseptr);
  return sill::mpi::raise_on_comm(MPI_COMM_WORLD, sill::window::allocate_memory(size, asked, baseptr));
}

template <class Next>
int on_Free_mem(Next next, void* base) {
  bool known = false;
  const Status status = sill::window::free_memory(base, &known);
  return known ? sill::mpi::raise_on_comm(MPI_COMM_WORLD, status) : next(base);
}

bool asks_for_storage(MPI_Info info) {
  const auto pairs = sill::mpi::info_pairs(info, [](const std::string& key) { return key == "alloc_type"; });
  return !pairs.empty() && pairs.front().second == "storage";
}

template <class Next, class Unit>
int on_Win_create(Next next, void* base, MPI_Aint size, Unit disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  const int code = next(base, size, disp_unit, info, comm, win);
  if (code != MPI_SUCCESS) return code;
  const int covered = sill::mpi::raise_on_window(*win, sill::window::cover(*win, base, size));
  if (asks_for_storage(info) && !sill::window::find(*win))
    sill::log(sill::LogLevel::warn,
              "MPI_Win_create: alloc_type=storage can't move memory that is there; give the hints to MPI_Alloc_mem");
  return covered;
}

[[maybe_unused]] constexpr auto on_Win_create_c = [](auto... args) { return on_Win_create(args...); };

template <class Next>
int on_Win_attach(Next next, MPI_Win win, void* base, MPI_Aint size) {
  const int code = next(win, base, size);
  if (code != MPI_SUCCESS) return code;
  return sill::mpi::raise_on_window(win, sill::window::cover(win, base, size));
}

template <class Next>
int on_Win_detach(Next next, MPI_Win win, const void* base) {
  const int code = next(win, base);
  if (code == MPI_SUCCESS) sill::window::uncover(win, base);
  return code;
}

}  // namespace

SILL_ENTRY(Alloc_mem, (MPI_Aint size, MPI_Info info, void* baseptr), (next, size, info, baseptr))
SILL_ENTRY(Free_mem, (void* base), (next, base))
SILL_ENTRY(Win_create, (void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win),
           (next, base, size, disp_unit, info, comm, win))
SILL_ENTRY(Win_attach, (MPI_Win win, void* base, MPI_Aint size), (next, win, base, size))
SILL_ENTRY(Win_detach, (MPI_Win win, const void* base), (next, win, base))
#if MPI_VERSION >= 4
SILL_ENTRY(Win_create_c, (void* base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win),
           (next, base, size, disp_unit, info, comm, win))
#endif
