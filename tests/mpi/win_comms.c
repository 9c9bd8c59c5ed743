/* Windows on communicators other than MPI_COMM_WORLD; halves that allocate at the same time and unequally often. */
#include "files.h"
#include "windows.h"

static int world;

static void ring(MPI_Comm comm, const char* name, int shared) {
  check_context = name;
  const int rank = rank_in(comm), size = size_of(comm);
  char hints[256];
  snprintf(hints, sizeof hints, "alloc_type=storage storage_alloc_filename=@/%s", name);
  MPI_Info info = make_info(hints);
  int* base = NULL;
  MPI_Win win;
  if (!shared) MPI_Win_allocate(40000, 4, info, comm, &base, &win);
  if (shared) MPI_Win_allocate_shared(40000, 4, info, comm, &base, &win);
  MPI_Info_free(&info);
  const int value = 100 * world + rank;
  MPI_Win_fence(0, win);
  MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 9999, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  const int got = base[9999];
  CHECK_EQ(got % 100, (rank + size - 1) % size);
  int from = -1;
  MPI_Sendrecv(&world, 1, MPI_INT, (rank + 1) % size, 0, &from, 1, MPI_INT, (rank + size - 1) % size, 0, comm,
               MPI_STATUS_IGNORE);
  CHECK_EQ(got / 100, from);
  MPI_Win_fence(0, win);
  CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  world = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  MPI_Comm comm;

  /* What one rank has seen of its MPI's memory must not change what it does together with the others. */
  if (world == 0) ring(MPI_COMM_SELF, "alone.%r", 0);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world, &comm);
  ring(comm, "reversed.%r", 0);
  MPI_Comm_free(&comm);
  /* %r is the rank in MPI_COMM_WORLD, whatever the communicator. */
  int value = 0;
  if (with_sill()) read_file(in_scratch("reversed.%d", world), 39996, &value, 4);
  const int before = (size - 1 - world + size - 1) % size; /* the reversed rank that put here */
  if (with_sill()) CHECK_EQ(value, 100 * (size - 1 - before) + before);
  MPI_Barrier(MPI_COMM_WORLD);

  const int half = world % 2;
  MPI_Comm_split(MPI_COMM_WORLD, half, world, &comm);
  const int together = on_one_node(comm);
  for (int turn = 0; turn < 3 + 4 * half; turn++) {
    ring(comm, half ? "odd.%r" : "even.%r", 0);
    ring(comm, half ? "odd.one" : "even.one", 0);
    if (together) ring(comm, half ? "odd.sh" : "even.sh", 1);
  }
  MPI_Comm_free(&comm);

  /* Open MPI 4 refuses MPI_Win_create with one rank. */
  const char* path = getenv("SILL_WINDOW_PATH");
  const int alone = !(is_openmpi4 && path && strcmp(path, "create") == 0);
  for (int turn = 0; alone && turn < 1 + world; turn++) ring(MPI_COMM_SELF, "self.%r", 0);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  ring(comm, "dup.%r", 0);
  MPI_Comm_free(&comm);
  MPI_Barrier(MPI_COMM_WORLD);

  /* A part of the ranks only; the others are somewhere else meanwhile. */
  MPI_Comm_split(MPI_COMM_WORLD, world == size - 1 ? MPI_UNDEFINED : 1, world, &comm);
  if (comm != MPI_COMM_NULL) {
    ring(comm, "most", 0);
    MPI_Comm_free(&comm);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
