// MPI 4.1, section 12.2: windows whose memory MPI allocates.
#include "pmpi/entry.hpp"
#include "window/allocate.hpp"

namespace {

template <class Next, class Unit>
int allocate(Next next, MPI_Aint size, Unit disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win,
             bool shared) {
  const sill::window::AllocateCall call{size, disp_unit, info, comm, shared};
  sill::window::WindowRequest asked = sill::window::read_window_request(info);
  if (!sill::window::anyone_asks(call, asked)) return next(size, disp_unit, info, comm, baseptr, win);
  const int code = sill::window::allocate(call, std::move(asked), baseptr, win);
  // Who asked in the caller's name learns of the failure, the caller gets a window all the same.
  const auto* instead = sill::window::HintOverride::now();
  const bool plain = instead && !instead->failure.ok();
  return plain ? next(size, disp_unit, info, comm, baseptr, win) : code;
}

constexpr auto on_Win_allocate = [](auto... args) { return allocate(args..., false); };
constexpr auto on_Win_allocate_shared = [](auto... args) { return allocate(args..., true); };
[[maybe_unused]] constexpr auto on_Win_allocate_c = on_Win_allocate;
[[maybe_unused]] constexpr auto on_Win_allocate_shared_c = on_Win_allocate_shared;

}  // namespace

SILL_ENTRY(Win_allocate, (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win),
           (next, size, disp_unit, info, comm, baseptr, win))
SILL_ENTRY(Win_allocate_shared,
           (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win),
           (next, size, disp_unit, info, comm, baseptr, win))
#if MPI_VERSION >= 4
SILL_ENTRY(Win_allocate_c,
           (MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win),
           (next, size, disp_unit, info, comm, baseptr, win))
SILL_ENTRY(Win_allocate_shared_c,
           (MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win),
           (next, size, disp_unit, info, comm, baseptr, win))
#endif
