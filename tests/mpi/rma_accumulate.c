/* Accumulate, get_accumulate, fetch_and_op, compare_and_swap: all ranks at once on the same elements lose nothing. */
#include <complex.h>
#include <stdint.h>

#include "windows.h"

enum { count = 300, turns = 8 };

static int rank, size;

static void zero(MPI_Win win, void* mine, size_t bytes) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  memset(mine, 0, bytes);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Sums of one C type, with every rank adding to every rank `turns` times. */
#define SUM_TEST(name, ctype, datatype)                                                                    \
  static void name(MPI_Win win, void* base) {                                                              \
    ctype *mine = base, add[count];                                                                        \
    zero(win, base, sizeof add);                                                                           \
    for (int i = 0; i < count; i++) add[i] = (ctype)(i % 3 + 1);                                           \
    MPI_Win_lock_all(0, win);                                                                              \
    for (int turn = 0; turn < turns / 4; turn++) {                                                         \
      for (int target = 0; target < size; target++)                                                        \
        MPI_Accumulate(add, count, datatype, target, 0, count, datatype, MPI_SUM, win);                    \
    }                                                                                                      \
    MPI_Win_unlock_all(win);                                                                               \
    MPI_Barrier(MPI_COMM_WORLD);                                                                           \
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);                                                           \
    for (int i = 0; i < count; i++) {                                                                      \
      CHECK_SAY(mine[i] == (ctype)((i % 3 + 1) * size * (turns / 4)), "wrong sum of " #ctype " at %d", i); \
    }                                                                                                      \
    MPI_Win_unlock(rank, win);                                                                             \
  }

SUM_TEST(sum_int8, int8_t, MPI_INT8_T)
SUM_TEST(sum_int16, int16_t, MPI_INT16_T)
SUM_TEST(sum_uint32, uint32_t, MPI_UINT32_T)
SUM_TEST(sum_int64, int64_t, MPI_INT64_T)
SUM_TEST(sum_float, float, MPI_FLOAT)
SUM_TEST(sum_double, double, MPI_DOUBLE)
SUM_TEST(sum_complex, double complex, MPI_C_DOUBLE_COMPLEX)

/* Operand of a rank and the result over all ranks, for each predefined operation. */
static int operand(int r) { return (r + 2) * 5 % 7 + 1; }

static int combine(MPI_Op op, int a, int b) {
  if (op == MPI_SUM) return a + b;
  if (op == MPI_PROD) return a * b;
  if (op == MPI_MAX) return a > b ? a : b;
  if (op == MPI_MIN) return a < b ? a : b;
  if (op == MPI_BAND) return a & b;
  if (op == MPI_BOR) return a | b;
  if (op == MPI_BXOR) return a ^ b;
  if (op == MPI_LAND) return a && b;
  if (op == MPI_LOR) return a || b;
  return !a != !b; /* MPI_LXOR */
}

static void operations(MPI_Win win, void* base, int without_xor) {
  const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR};
  const int op_count = 10 - without_xor, start = 3;
  int* mine = base;
  MPI_Win_fence(0, win);
  for (int i = 0; i < op_count; i++) mine[i] = start;
  MPI_Win_fence(0, win);
  const int value = operand(rank);
  for (int target = 0; target < size; target++) {
    for (int i = 0; i < op_count; i++) MPI_Accumulate(&value, 1, MPI_INT, target, 4L * i, 1, MPI_INT, ops[i], win);
  }
  MPI_Win_fence(0, win);
  for (int i = 0; i < op_count; i++) {
    int expected = start;
    for (int r = 0; r < size; r++) expected = combine(ops[i], expected, operand(r));
    CHECK_SAY(mine[i] == expected, "operation %d gives %d, not %d", i, mine[i], expected);
  }
  MPI_Win_fence(0, win);
}

/* Every fetched ticket must be a different one. */
static void tickets(MPI_Win win, void* base) {
  int64_t* mine = base;
  int64_t drawn[turns], *all = malloc(sizeof(int64_t) * turns * size);
  char* seen = calloc(turns * size, 1);
  zero(win, base, 64);
  const int64_t one = 1;
  MPI_Win_lock_all(0, win);
  for (int turn = 0; turn < turns; turn++) {
    if (turn % 2) MPI_Fetch_and_op(&one, &drawn[turn], MPI_INT64_T, 0, 16, MPI_SUM, win);
    if (!(turn % 2))
      MPI_Get_accumulate(&one, 1, MPI_INT64_T, &drawn[turn], 1, MPI_INT64_T, 0, 16, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Win_flush(0, win);
  }
  MPI_Win_unlock_all(win);
  MPI_Allgather(drawn, turns, MPI_INT64_T, all, turns, MPI_INT64_T, MPI_COMM_WORLD);
  for (int i = 0; i < turns * size; i++) {
    CHECK_SAY(all[i] >= 0 && all[i] < turns * size && !seen[all[i]], "ticket %lld twice or out of range",
              (long long)all[i]);
    seen[all[i]] = 1;
  }
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  CHECK_EQ(mine[2], rank == 0 ? turns * size : 0);
  MPI_Win_unlock(rank, win);
  free(all);
  free(seen);
}

/* Atomic read, replacement and arrays. */
static void fetching(MPI_Win win, void* base) {
  int64_t* mine = base;
  const int next = (rank + 1) % size;
  MPI_Win_fence(0, win);
  for (int i = 0; i < count; i++) mine[i] = 10 * rank + i;
  MPI_Win_fence(0, win);
  int64_t got[count], with[count], nothing = 0, old = -1;
  for (int i = 0; i < count; i++) with[i] = 5000 + rank + i;
  MPI_Get_accumulate(with, count, MPI_INT64_T, got, count, MPI_INT64_T, next, 0, count, MPI_INT64_T, MPI_REPLACE, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < count; i++) CHECK_EQ(got[i], 10 * next + i);
  MPI_Fetch_and_op(&nothing, &old, MPI_INT64_T, next, 8, MPI_NO_OP, win);
  MPI_Get_accumulate(NULL, 0, MPI_INT64_T, got, count, MPI_INT64_T, next, 0, count, MPI_INT64_T, MPI_NO_OP, win);
  MPI_Win_fence(0, win);
  CHECK_EQ(old, 5000 + rank + 1);
  for (int i = 0; i < count; i++) CHECK_EQ(got[i], 5000 + rank + i);
  MPI_Accumulate(with, 1, MPI_INT64_T, next, 8 * (count - 1), 1, MPI_INT64_T, MPI_REPLACE, win);
  MPI_Win_fence(0, win);
  CHECK_EQ(mine[count - 1], 5000 + (rank + size - 1) % size);
  MPI_Win_fence(0, win);
}

/* A counter moved by swaps only, and by all ways at once on another element. */
static void swaps(MPI_Win win, void* base) {
  int64_t* mine = base;
  zero(win, base, 64);
  const int64_t one = 1;
  MPI_Win_lock_all(0, win);
  for (int turn = 0; turn < turns; turn++) {
    int64_t expected = 0, seen = -1;
    while (1) {
      const int64_t desired = expected + 1;
      MPI_Compare_and_swap(&desired, &expected, &seen, MPI_INT64_T, size - 1, 24, win);
      MPI_Win_flush(size - 1, win);
      if (seen == expected) break;
      expected = seen;
    }
    int64_t ignored = 0;
    MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 32, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Fetch_and_op(&one, &ignored, MPI_INT64_T, 0, 32, MPI_SUM, win);
    MPI_Get_accumulate(&one, 1, MPI_INT64_T, &ignored, 1, MPI_INT64_T, 0, 32, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Win_flush(0, win);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  CHECK_EQ(mine[3], rank == size - 1 ? turns * size : 0);
  CHECK_EQ(mine[4], rank == 0 ? 3 * turns * size : 0);
  MPI_Win_unlock(rank, win);
  int32_t narrow = 5, want = 9, before = 0;
  int32_t* first = base;
  MPI_Win_fence(0, win);
  first[0] = 5;
  MPI_Win_fence(0, win);
  MPI_Compare_and_swap(&want, &narrow, &before, MPI_INT32_T, rank, 0, win);
  MPI_Win_fence(0, win);
  CHECK_EQ(before, 5);
  CHECK_EQ(first[0], 9);
  MPI_Win_fence(0, win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  for (int kind = 0; kind < window_kind_count; kind++) {
    if (!kind_tried(kind, MPI_COMM_WORLD)) continue;
    void* base = NULL;
    MPI_Win win = open_window(&window_kinds[kind], count * sizeof(double complex), 1, MPI_COMM_WORLD, &base);
    sum_int8(win, base);
    sum_int16(win, base);
    sum_uint32(win, base);
    sum_int64(win, base);
    sum_float(win, base);
    sum_double(win, base);
    sum_complex(win, base);
    MPI_Barrier(MPI_COMM_WORLD);
    operations(win, base, xor_is_broken(&window_kinds[kind]));
    tickets(win, base);
    MPI_Barrier(MPI_COMM_WORLD);
    fetching(win, base);
    if (!swap_is_broken(&window_kinds[kind])) swaps(win, base);
    close_window(&window_kinds[kind], &win);
  }
  MPI_Finalize();
  return 0;
}
