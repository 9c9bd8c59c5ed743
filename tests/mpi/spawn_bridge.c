/* spawn_bridge COMMAND: rank 0 alone spawns one child by COMMAND (this program), and leads it to the ranks of its own
 * world. All make a window together. Before, it spawns no program at all.
 */
#include "check.h"

/* A window whose every rank has been given its left neighbour's rank. */
static void try_window(MPI_Comm comm) {
  const int rank = rank_in(comm), size = size_of(comm);
  int* base = NULL;
  MPI_Win win;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &base, &win);
  MPI_Win_fence(0, win);
  MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK_EQ(*base, (rank + size - 1) % size);
  MPI_Win_free(&win);
}

/* Whatever the MPI library makes of that. */
static void spawn_nothing(void) {
  MPI_Comm none = MPI_COMM_NULL;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_spawn_multiple(0, (char*[]){NULL}, MPI_ARGVS_NULL, (int[]){0}, (MPI_Info[]){MPI_INFO_NULL}, 0, MPI_COMM_SELF,
                          &none, MPI_ERRCODES_IGNORE);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent, pair = MPI_COMM_NULL, bridge, all;
  MPI_Comm_get_parent(&parent);
  const int is_child = parent != MPI_COMM_NULL, leads = rank_in(MPI_COMM_WORLD) == 0;
  if (!is_child && leads) spawn_nothing(); /* rank 1 must not know of spawning */
  if (!is_child && leads)
    MPI_Comm_spawn(argv[1], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &parent, MPI_ERRCODES_IGNORE);
  /* What came to nothing was no world. */
  if (is_child && with_sill()) CHECK(strcmp(getenv("SILL_WORLD"), "s0.1") == 0);
  if (leads) MPI_Intercomm_merge(parent, is_child, &pair); /* rank 0 is the parent */
  MPI_Intercomm_create(MPI_COMM_WORLD, 0, pair, is_child ? 0 : 1, 5, &bridge);
  MPI_Intercomm_merge(bridge, is_child, &all);
  CHECK(size_of(all) >= 2);
  try_window(all);
  MPI_Comm_free(&all);
  MPI_Comm_free(&bridge);
  if (leads) MPI_Comm_free(&pair);
  if (leads) MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 0;
}
