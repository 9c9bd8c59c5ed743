/* spawn COMMAND: two worlds of two children each, started by COMMAND (this program, or a copy). Every world has a
 * window of its own, the parents have one with each world of children, and a split with it.
 */
#include "check.h"

typedef struct {
  MPI_Win win;
  int* base;
} window;

/* A window whose every rank has been given its left neighbour's rank. */
static window make_window(MPI_Comm comm) {
  window made;
  const int rank = rank_in(comm), size = size_of(comm);
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &made.base, &made.win);
  MPI_Win_fence(0, made.win);
  MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, made.win);
  MPI_Win_fence(0, made.win);
  CHECK_EQ(*made.base, (rank + size - 1) % size);
  return made;
}

static void meet(MPI_Comm inter, int is_child) {
  MPI_Comm all, node;
  MPI_Intercomm_merge(inter, is_child, &all);
  CHECK_EQ(size_of(all), size_of(MPI_COMM_WORLD) + 2);
  MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  CHECK(size_of(node) >= 1);
  MPI_Comm_free(&node);
  window together = make_window(all);
  MPI_Win_free(&together.win);
  /* A part of them, by a communicator that carries nothing of the first one. */
  MPI_Comm_split(all, rank_in(all) % 2, 0, &node);
  together = make_window(node);
  MPI_Win_free(&together.win);
  MPI_Comm_free(&node);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&inter);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent, children[2];
  MPI_Comm_get_parent(&parent);
  window own = make_window(MPI_COMM_WORLD);
  if (parent != MPI_COMM_NULL) {
    CHECK(argc == 2 && strcmp(argv[1], "two words") == 0);
    meet(parent, 1);
  } else {
    char* arguments[] = {"two words", NULL};
    char* commands[] = {argv[1]};
    char** lists[] = {arguments};
    const int counts[] = {2};
    const MPI_Info infos[] = {MPI_INFO_NULL};
    MPI_Comm_spawn(argv[1], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children[0], MPI_ERRCODES_IGNORE);
    MPI_Comm_spawn_multiple(1, commands, lists, counts, infos, 0, MPI_COMM_WORLD, &children[1], MPI_ERRCODES_IGNORE);
    for (int i = 0; i < 2; i++) meet(children[i], 0);
  }
  MPI_Win_free(&own.win);
  MPI_Finalize();
  return 0;
}
