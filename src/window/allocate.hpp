#pragma once
// The collective birth of a storage window, for MPI_Win_allocate and MPI_Win_allocate_shared.
#include <mpi.h>

#include "window/window.hpp"
#include "window/window_request.hpp"

namespace sill::window {

struct AllocateCall {
  MPI_Aint size = 0;       // bytes of this rank's segment
  MPI_Aint disp_unit = 1;  // bytes
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  bool shared = false;
};

// Whether any rank asks for storage. If not, the call goes on to the MPI library as it came. Collective: a rank whose
// hints differ from the others' must not leave them waiting.
bool anyone_asks(const AllocateCall& call, const WindowRequest& asked);

// Allocates the window. Errors are agreed on by all ranks, undone by all, given to the communicator's error handler,
// and returned by all.
int allocate(const AllocateCall& call, WindowRequest asked, void* baseptr, MPI_Win* win);

// Moves a window that Sill allocated onto other stores, bytes and all; what these stores held before comes first: then
// the window gets their bytes. Cause::unsupported if segments would have to begin elsewhere. Collective; all ranks get
// the same status, and after an error the window is as it was. `front`: whose it is from then on.
Status move_to(Window& window, const WindowHints& hints, std::shared_ptr<Front> front);

}  // namespace sill::window
