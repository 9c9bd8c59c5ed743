/* Neighborhoods: ranks that share a store. What a program writes there, the other ranks of its neighborhood can read.
 */
#pragma once

#include <mpi.h>
#include <stddef.h>

/* Put the rank's own folder into `to`: %h in `pattern` is the host, %r the rank in MPI_COMM_WORLD, %% a %. A text that
 * doesn't fit, or any other letter behind a %, ends the app. Local. */
void app_folder(const char* pattern, char* to, size_t room);

/* The ranks of `comm` that see the same directory as the caller, in the order of `comm`; MPI_COMM_NULL on a rank
 * without that directory. `method`: nbhd_method of `sill hints`, NULL for its default. Collective over `comm`. */
MPI_Comm app_neighborhood(MPI_Comm comm, const char* folder, const char* method);
