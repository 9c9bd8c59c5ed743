#pragma once
// The attributes of a window that Sill answers, for C and for Fortran.
#include <mpi.h>

namespace sill::pmpi {

// What MPI_Win_get_attr gives for a predefined key of a window that Sill allocated: the base itself, or the address of
// the number. False if the MPI library knows better.
bool answer_attribute(MPI_Win win, int keyval, void** answer);

}  // namespace sill::pmpi
