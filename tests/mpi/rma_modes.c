/* Every way to synchronise - fence, post/start/complete/wait, lock, lock_all, the flushes - on every kind of window. */
#include "windows.h"

enum { slots = 48 };

static int rank, size;

static long value_of(int origin, int target, int round) { return 1000000L * round + 1000L * origin + target + 1; }

/* Every rank has put one value into its slot of every window. */
static void check_slots(const long* mine, int round) {
  for (int origin = 0; origin < size; origin++) CHECK_EQ(mine[origin], value_of(origin, rank, round));
}

static void put_everywhere(MPI_Win win, int round, long* values) {
  for (int target = 0; target < size; target++) {
    values[target] = value_of(rank, target, round);
    MPI_Put(&values[target], 1, MPI_LONG, target, rank, 1, MPI_LONG, win);
  }
}

static void fences(MPI_Win win, const long* mine) {
  long values[slots];
  MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
  put_everywhere(win, 1, values);
  MPI_Win_fence(0, win);
  check_slots(mine, 1);
  MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT, win);
  long got = 0;
  const int neighbour = (rank + 1) % size;
  MPI_Get(&got, 1, MPI_LONG, neighbour, rank, 1, MPI_LONG, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  CHECK_EQ(got, value_of(rank, neighbour, 1));
}

/* Everybody exposes to all and accesses all, itself included. */
static void post_start(MPI_Win win, const long* mine, int round, int poll) {
  MPI_Group group;
  MPI_Win_get_group(win, &group);
  long values[slots];
  MPI_Win_post(group, 0, win);
  MPI_Win_start(group, 0, win);
  put_everywhere(win, round, values);
  MPI_Win_complete(win);
  for (int done = !poll; !done;) MPI_Win_test(win, &done);
  if (!poll) MPI_Win_wait(win);
  check_slots(mine, round);
  MPI_Group_free(&group);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A ring: exposed to the left neighbour only, so epochs of different ranks overlap. */
static void post_start_ring(MPI_Win win, const long* mine) {
  if (size == 1) return;
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Group all, from, to;
  MPI_Win_get_group(win, &all);
  MPI_Group_incl(all, 1, &left, &from);
  MPI_Group_incl(all, 1, &right, &to);
  for (int round = 30; round < 33; round++) {
    const long value = value_of(rank, right, round);
    MPI_Win_post(from, 0, win);
    MPI_Win_start(to, 0, win);
    MPI_Put(&value, 1, MPI_LONG, right, rank, 1, MPI_LONG, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    CHECK_EQ(mine[left], value_of(left, rank, round));
  }
  MPI_Group_free(&all);
  MPI_Group_free(&from);
  MPI_Group_free(&to);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Read, add one, write back: only an exclusive lock makes the sum come out. */
static void exclusive(MPI_Win win, long* mine) {
  enum { turns = 7 };
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  mine[slots - 1] = 0;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int turn = 0; turn < turns; turn++) {
    const int target = turn % size;
    long value = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Get(&value, 1, MPI_LONG, target, slots - 1, 1, MPI_LONG, win);
    MPI_Win_flush(target, win);
    value++;
    MPI_Put(&value, 1, MPI_LONG, target, slots - 1, 1, MPI_LONG, win);
    MPI_Win_unlock(target, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  CHECK_EQ(mine[slots - 1], (long)size * (turns / size + (rank < turns % size)));
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void shared_locks(MPI_Win win, const long* mine) {
  const int target = (rank + 1) % size;
  long value = value_of(rank, target, 50), got = 0;
  MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
  MPI_Put(&value, 1, MPI_LONG, target, rank, 1, MPI_LONG, win);
  MPI_Win_flush_local(target, win);
  value = -1;
  MPI_Win_flush(target, win);
  MPI_Get(&got, 1, MPI_LONG, target, rank, 1, MPI_LONG, win);
  MPI_Win_flush_local(target, win);
  CHECK_EQ(got, value_of(rank, target, 50));
  MPI_Win_unlock(target, win);
  MPI_Barrier(MPI_COMM_WORLD);
  const int left = (rank + size - 1) % size;
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win); /* after MPI_MODE_NOCHECK here, MPICH 4 and 5 keep later locks forever */
  MPI_Win_sync(win);
  CHECK_EQ(mine[left], value_of(left, rank, 50));
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void lock_all(MPI_Win win, const long* mine, int assertion) {
  long values[slots], got[slots];
  MPI_Win_lock_all(assertion, win);
  put_everywhere(win, 60, values);
  MPI_Win_flush_local_all(win);
  MPI_Win_flush_all(win);
  for (int target = 0; target < size; target++) MPI_Get(&got[target], 1, MPI_LONG, target, rank, 1, MPI_LONG, win);
  MPI_Win_flush_all(win);
  for (int target = 0; target < size; target++) CHECK_EQ(got[target], value_of(rank, target, 60));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  check_slots(mine, 60);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD); /* nobody may lock otherwise while an epoch without checks is open */
}

/* What a rank stores itself must reach the others' gets. */
static void local_stores(MPI_Win win, long* mine) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  mine[0] = 7000 + rank;
  MPI_Win_sync(win);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int target = 0; target < size; target++) {
    long got = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Get(&got, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
    MPI_Win_unlock(target, win);
    CHECK_EQ(got, 7000 + target);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  for (int kind = 0; kind < window_kind_count; kind++) {
    if (!kind_tried(kind, MPI_COMM_WORLD)) continue;
    long* mine = NULL;
    MPI_Win win = open_window(&window_kinds[kind], slots * sizeof(long), sizeof(long), MPI_COMM_WORLD, &mine);
    fences(win, mine);
    MPI_Barrier(MPI_COMM_WORLD);
    post_start(win, mine, 20, 0);
    post_start(win, mine, 21, 1);
    post_start_ring(win, mine);
    exclusive(win, mine);
    shared_locks(win, mine);
    lock_all(win, mine, 0);
    lock_all(win, mine, MPI_MODE_NOCHECK);
    local_stores(win, mine);
    close_window(&window_kinds[kind], &win);
  }
  MPI_Finalize();
  return 0;
}
