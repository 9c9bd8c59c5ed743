/* The request-based forms: MPI_Rput, MPI_Rget, MPI_Raccumulate, MPI_Rget_accumulate, waited for and polled. */
#include "windows.h"

enum { count = 100 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  for (int kind = 0; kind < window_kind_count; kind++) {
    if (!kind_tried(kind, MPI_COMM_WORLD)) continue;
    int* mine = NULL;
    const MPI_Aint bytes = (MPI_Aint)sizeof(int) * count * (size + 1);
    MPI_Win win = open_window(&window_kinds[kind], bytes, sizeof(int), MPI_COMM_WORLD, &mine);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    memset(mine, 0, bytes);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);

    int* values = malloc(sizeof(int) * count * size);
    int* got = malloc(sizeof(int) * count * size);
    MPI_Request* requests = malloc(sizeof(MPI_Request) * size);
    MPI_Win_lock_all(0, win);
    for (int target = 0; target < size; target++) {
      int* part = values + count * target;
      for (int i = 0; i < count; i++) part[i] = 100 * rank + 7 * target + i;
      MPI_Rput(part, count, MPI_INT, target, count * rank, count, MPI_INT, win, &requests[target]);
    }
    MPI_Waitall(size, requests, MPI_STATUSES_IGNORE);
    memset(values, -1, sizeof(int) * count * size); /* ours again after the wait */
    MPI_Win_flush_all(win);
    for (int target = 0; target < size; target++) {
      MPI_Rget(got + count * target, count, MPI_INT, target, count * rank, count, MPI_INT, win, &requests[target]);
    }
    for (int target = 0; target < size; target++) {
      for (int done = 0; !done;) MPI_Test(&requests[target], &done, MPI_STATUS_IGNORE);
      for (int i = 0; i < count; i++) CHECK_EQ(got[count * target + i], 100 * rank + 7 * target + i);
    }

    int ones[count], before[count];
    for (int i = 0; i < count; i++) ones[i] = 1;
    for (int target = 0; target < size; target++) {
      MPI_Raccumulate(ones, count, MPI_INT, target, count * size, count, MPI_INT, MPI_SUM, win, &requests[target]);
    }
    MPI_Waitall(size, requests, MPI_STATUSES_IGNORE);
    MPI_Win_flush_all(win);
    MPI_Request fetch;
    MPI_Rget_accumulate(ones, count, MPI_INT, before, count, MPI_INT, 0, count * size, count, MPI_INT, MPI_SUM, win,
                        &fetch);
    MPI_Wait(&fetch, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++) CHECK_SAY(before[i] >= 1 && before[i] < 2 * size, "old value %d", before[i]);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    for (int i = 0; i < count; i++) CHECK_EQ(mine[count * size + i], rank == 0 ? 2 * size : size);
    for (int origin = 0; origin < size; origin++) CHECK_EQ(mine[count * origin + 5], 100 * origin + 7 * rank + 5);

    /* Nothing at all, and nobody: both give requests that complete. */
    MPI_Rput(ones, 0, MPI_INT, rank, 0, 0, MPI_INT, win, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Rget(ones, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Win_unlock(rank, win);
    free(values);
    free(got);
    free(requests);
    close_window(&window_kinds[kind], &win);
  }
  MPI_Finalize();
  return 0;
}
