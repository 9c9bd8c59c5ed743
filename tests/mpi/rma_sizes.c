/* Segments of no bytes, of other sizes and displacement units on each rank, and operations on MPI_PROC_NULL. */
#include "windows.h"

static int rank, size;

static long attribute(MPI_Win win, int key) {
  void* value = NULL;
  int found = 0;
  MPI_Win_get_attr(win, key, &value, &found);
  CHECK(found);
  return key == MPI_WIN_SIZE ? (long)*(MPI_Aint*)value : *(int*)value;
}

/* Rank r has r + 1 times so many bytes and counts in units of r + 1; every second rank has nothing if `holes`. */
static MPI_Aint bytes_of(int r, const window_kind* kind, int holes) {
  return holes && r % 2 == 0 ? 0 : (wants_round_sizes(kind) ? 1008 : 1000) * (r + 1);
}

static void uneven(const window_kind* kind, int holes) {
  unsigned char* mine = NULL;
  MPI_Win win = open_window(kind, bytes_of(rank, kind, holes), rank + 1, MPI_COMM_WORLD, &mine);
  CHECK_EQ(attribute(win, MPI_WIN_SIZE), bytes_of(rank, kind, holes));
  CHECK_EQ(attribute(win, MPI_WIN_DISP_UNIT), rank + 1);

  /* Everybody writes one byte at its own displacement, and the last byte of the segment is rank 0's. */
  MPI_Win_fence(0, win);
  for (MPI_Aint i = 0; i < bytes_of(rank, kind, holes); i++) mine[i] = 255;
  MPI_Win_fence(0, win);
  const unsigned char byte = (unsigned char)(rank + 1);
  for (int target = 0; target < size; target++) {
    if (!bytes_of(target, kind, holes)) continue;
    MPI_Put(&byte, 1, MPI_BYTE, target, 10 + rank, 1, MPI_BYTE, win);
    if (rank == 0)
      MPI_Put(&byte, 1, MPI_BYTE, target, bytes_of(target, kind, holes) / (target + 1) - 1, 1, MPI_BYTE, win);
  }
  MPI_Win_fence(0, win);
  for (MPI_Aint i = 0; i < bytes_of(rank, kind, holes); i++) {
    int expected = 255;
    for (int origin = 0; origin < size; origin++) {
      if (i == (10 + origin) * (rank + 1)) expected = origin + 1;
    }
    if (i == bytes_of(rank, kind, holes) - (rank + 1)) expected = 1;
    CHECK_SAY(mine[i] == expected, "byte %ld is %d, not %d", (long)i, mine[i], expected);
  }
  MPI_Win_fence(0, win);
  close_window(kind, &win);
}

/* No bytes anywhere: the window exists and synchronises all the same. */
static void empty(const window_kind* kind) {
  void* mine = NULL;
  MPI_Win win = open_window(kind, 0, 1, MPI_COMM_WORLD, &mine);
  CHECK_EQ(attribute(win, MPI_WIN_SIZE), 0);
  int nothing = 0;
  MPI_Win_fence(0, win);
  MPI_Put(&nothing, 0, MPI_INT, (rank + 1) % size, 0, 0, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Win_lock_all(0, win);
  MPI_Win_sync(win);
  MPI_Win_unlock_all(win);
  close_window(kind, &win);
}

static void nobody(const window_kind* kind) {
  int* mine = NULL;
  MPI_Win win = open_window(kind, 64, 4, MPI_COMM_WORLD, &mine);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  for (int i = 0; i < 16; i++) mine[i] = i;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  int one = 1, kept = 77;
  MPI_Win_lock_all(0, win);
  MPI_Put(&one, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
  MPI_Get(&kept, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
  MPI_Accumulate(&one, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, win);
  MPI_Get_accumulate(&one, 1, MPI_INT, &kept, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, win);
  MPI_Fetch_and_op(&one, &kept, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, win);
  MPI_Compare_and_swap(&one, &one, &kept, MPI_INT, MPI_PROC_NULL, 0, win);
  MPI_Win_flush_all(win);
  MPI_Win_unlock_all(win);
  MPI_Win_fence(0, win);
  MPI_Put(&one, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK_EQ(kept, 77);
  for (int i = 0; i < 16; i++) CHECK_EQ(mine[i], i);
  close_window(kind, &win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  for (int kind = 0; kind < window_kind_count; kind++) {
    if (!kind_tried(kind, MPI_COMM_WORLD)) continue;
    uneven(&window_kinds[kind], 0);
    if (window_kinds[kind].call != BY_CREATE && size > 1) uneven(&window_kinds[kind], 1);
    if (window_kinds[kind].call == BY_ALLOCATE) empty(&window_kinds[kind]);
    nobody(&window_kinds[kind]);
  }
  MPI_Finalize();
  return 0;
}
