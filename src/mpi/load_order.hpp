#pragma once
// Whether the program's MPI calls come to Sill: they do where its library stands before the MPI library.
#include <string>

#include "base/status.hpp"

namespace sill::mpi {

// To be called by entries that the program calls: they come.
void note_entry();

// The path of the library that this code is in.
std::string own_library();

// By the order of what is loaded: an error, with what to do, if an MPI library stands before Sill. Tools that do are
// fine, for they call on. Needs no MPI.
Status check_order();

// The same, and whether any call has come; for functions that tell or do something about what the entries have made.
Status check_entered();

}  // namespace sill::mpi
