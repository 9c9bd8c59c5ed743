#pragma once
// Ranks of other worlds (MPI_COMM_WORLDs), which a communicator can have since MPI_Comm_spawn, accept, connect or join,
// and by MPI_Intercomm_create with a leader that has met them. They may run without Sill, and would not come to a
// collective call that Sill makes.
#include <mpi.h>

namespace sill::mpi {

// From now on communicators may have ranks of other worlds.
void expect_other_worlds();

// What this world was spawned by, if it was: to be called when MPI has started.
void note_parents();

// All ranks of the spawning communicator and of the spawned world run with Sill. To be called by all of them, with the
// inter-communicator between them.
void note_spawned(MPI_Comm local, MPI_Comm inter);

// Whether all ranks of a communicator, of either kind, are known to run with Sill: those of this world are, and so are
// those of a spawning communicator and what it spawned. All ranks that run with Sill get the same answer. Local.
bool all_have_sill(MPI_Comm comm);

// Whether this is the lowest of its world's ranks in an intra-communicator. Local.
bool is_first_of_world(MPI_Comm comm);

// Whether all ranks of an intra-communicator are of this world. Local.
bool is_one_world(MPI_Comm comm);

}  // namespace sill::mpi
