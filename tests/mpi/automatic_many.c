/* automatic_many BYTES COUNT window|self|memory ROUNDS: COUNT windows of all ranks, or of each rank by itself at the
 * same moment, or memories of MPI_Alloc_mem, whose share on storage is left to Sill and which nobody touches. Rank 0
 * prints "memory BYTES" of all ranks together; and again for each round, when all are freed and made anew.
 */
#include "files.h"

enum { most = 32 };

static unsigned char* base[most];
static MPI_Win win[most];

/* One more, a window unless there is no communicator; what of it is in memory. */
static long long make(MPI_Aint bytes, int number, MPI_Comm comm) {
  char hints[512];
  snprintf(hints, sizeof hints,
           "alloc_type=storage storage_alloc_filename=@/%d.%%r storage_alloc_factor=auto storage_alloc_reserve=sparse "
           "storage_alloc_unlink=true",
           number);
  MPI_Info info = make_info(hints);
  if (comm == MPI_COMM_NULL)
    MPI_Alloc_mem(bytes, info, &base[number]);
  else
    MPI_Win_allocate(bytes, 1, info, comm, &base[number], &win[number]);
  MPI_Info_free(&info);
  char name[64];
  snprintf(name, sizeof name, "%d.%%d", number);
  const long long stored = file_size(in_scratch(name, rank_in(MPI_COMM_WORLD)));
  return bytes - (stored < 0 ? 0 : stored);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 5);
  const MPI_Aint bytes = atoll(argv[1]);
  const int count = atoi(argv[2]), rounds = atoi(argv[4]);
  const int alone = strcmp(argv[3], "self") == 0, by_window = strcmp(argv[3], "memory") != 0;
  const MPI_Comm comm = !by_window ? MPI_COMM_NULL : alone ? MPI_COMM_SELF : MPI_COMM_WORLD;
  CHECK(count <= most);
  for (int round = 0; round < rounds; round++) {
    long long mine = 0, all = 0;
    for (int i = 0; i < count; i++) mine += make(bytes, i, comm);
    MPI_Barrier(MPI_COMM_WORLD); /* what one rank gives back, another one could get */
    MPI_Reduce(&mine, &all, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank_in(MPI_COMM_WORLD) == 0) printf("memory %lld\n", all);
    for (int i = 0; i < count && by_window; i++) MPI_Win_free(&win[i]);
    for (int i = 0; i < count && !by_window; i++) MPI_Free_mem(base[i]);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
