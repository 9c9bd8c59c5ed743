/* 64 windows at once: a process keeps one descriptor for each, its own file's, and none of its neighbours'. */
#include "files.h"

enum { many = 64, spare = 16 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD), target = (rank + 1) % size_of(MPI_COMM_WORLD);
  MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/w%w.%r storage_alloc_discard=true");
  MPI_Win wins[many + 1];
  int* bases[many + 1];
  /* What the MPI library opens once, it has with the first one. */
  MPI_Win_allocate(sizeof(int), sizeof(int), info, MPI_COMM_WORLD, &bases[many], &wins[many]);
  const int before = entries_in("/proc/self/fd");
  for (int w = 0; w < many; w++) {
    MPI_Info_set(info, "storage_alloc_engine", w % 8 ? "mapped" : "staged");
    MPI_Win_allocate(sizeof(int), sizeof(int), info, MPI_COMM_WORLD, &bases[w], &wins[w]);
    MPI_Win_lock_all(0, wins[w]);
    const int value = 100 * w + rank;
    MPI_Put(&value, 1, MPI_INT, target, 0, 1, MPI_INT, wins[w]);
    MPI_Win_flush(target, wins[w]);
    MPI_Win_sync(wins[w]); /* also the neighbour's file, as far as it is seen */
    MPI_Win_unlock_all(wins[w]);
  }
  const int opened = entries_in("/proc/self/fd") - before;
  CHECK_SAY(opened <= many + spare, "%d descriptors for %d windows", opened, many);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int w = 0; w < many; w++) {
    int value = -1;
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, wins[w]);
    MPI_Get(&value, 1, MPI_INT, target, 0, 1, MPI_INT, wins[w]);
    MPI_Win_unlock(target, wins[w]);
    CHECK_EQ(value, 100 * w + rank);
  }
  for (int w = many; w >= 0; w--) MPI_Win_free(&wins[w]);
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
