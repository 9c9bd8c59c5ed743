#pragma once
// Storage behind MPI_Alloc_mem: memory of one process that lies on a file, for windows of the user's own making.
#include <mpi.h>

#include "base/status.hpp"
#include "window/window_request.hpp"

namespace sill::window {

// Allocates `size` bytes as the hints ask. Local. The address goes to *baseptr.
Status allocate_memory(MPI_Aint size, const WindowRequest& asked, void* baseptr);

// Frees memory of allocate_memory: syncs it (unless discard), deletes the file (if unlink). `known` says whether the
// memory was Sill's at all.
Status free_memory(void* base, bool* known);

// The same for all memory that the program never freed, at the end of MPI: the first error.
Status finish_memories();

// A window of the user's own has got [base, base + size): what of it lies on storage is now synced with the window.
Status cover(MPI_Win win, const void* base, MPI_Aint size);
// MPI_Win_detach: the memory that was attached at `base` leaves the window.
void uncover(MPI_Win win, const void* base);

}  // namespace sill::window
