/* Random sequences of operations against a model that every rank keeps of all segments. Seeds are fixed, or the
 * arguments. In a round no two operations conflict, so the outcome is determined; accumulates with one op commute.
 */
#include <stdint.h>

#include "windows.h"

enum { blocks = 24, block_longs = 8, longs = blocks * block_longs, rounds = 12 };
enum { ROLE_NONE, ROLE_PUT, ROLE_GET, ROLE_SUM, ROLE_MAX, ROLE_TICKET, ROLE_SWAP, ROLE_STORE, role_count };

typedef struct {
  int role, owner, first, count;
} plan;

static uint64_t state;

static int draw(int below) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (int)((state >> 33) % (uint64_t)below);
}

static int rank, size;
static int64_t* model;        /* size x longs, what all segments hold */
static plan (*plans)[blocks]; /* of each target */

/* The same on all ranks, for all draw the same numbers. */
static void make_plans(void) {
  for (int target = 0; target < size; target++) {
    for (int b = 0; b < blocks; b++) {
      const int first = draw(block_longs);
      plans[target][b] = (plan){draw(role_count), draw(size), b * block_longs + first, 1 + draw(block_longs - first)};
    }
  }
}

static int64_t operand(int origin, int target, int place, int round) {
  return origin * 1000003LL + target * 8191LL + place * 131LL + round;
}

static int acts(const plan* p, int target) {
  if (p->role == ROLE_PUT || p->role == ROLE_SWAP) return p->owner == rank;
  if (p->role == ROLE_STORE) return target == rank;
  return p->role != ROLE_NONE;
}

/* This rank's operations on one target; results are kept in `got`. */
static void act(MPI_Win win, int target, int round, int64_t* out, int64_t* got) {
  for (int b = 0; b < blocks; b++) {
    const plan* p = &plans[target][b];
    if (!acts(p, target)) continue;
    int64_t *from = out + p->first, *to = got + p->first;
    for (int i = 0; i < p->count; i++) from[i] = operand(rank, target, p->first + i, round);
    const int n = p->count;
    switch (p->role) {
      case ROLE_PUT: MPI_Put(from, n, MPI_INT64_T, target, p->first, n, MPI_INT64_T, win); break;
      case ROLE_GET: MPI_Get(to, n, MPI_INT64_T, target, p->first, n, MPI_INT64_T, win); break;
      case ROLE_SUM: MPI_Accumulate(from, n, MPI_INT64_T, target, p->first, n, MPI_INT64_T, MPI_SUM, win); break;
      case ROLE_MAX:
        MPI_Get_accumulate(from, n, MPI_INT64_T, to, n, MPI_INT64_T, target, p->first, n, MPI_INT64_T, MPI_MAX, win);
        break;
      case ROLE_TICKET: MPI_Fetch_and_op(from, to, MPI_INT64_T, target, p->first, MPI_SUM, win); break;
      case ROLE_SWAP:
        MPI_Compare_and_swap(from, &model[target * longs + p->first], to, MPI_INT64_T, target, p->first, win);
        break;
    }
  }
}

static void check_gets(int target, const int64_t* got) {
  for (int b = 0; b < blocks; b++) {
    const plan* p = &plans[target][b];
    const int fetched = p->role == ROLE_GET ? p->count : p->role == ROLE_SWAP && p->owner == rank;
    for (int i = 0; i < fetched; i++) CHECK_EQ(got[p->first + i], model[target * longs + p->first + i]);
  }
}

static void play_model(int round) {
  for (int target = 0; target < size; target++) {
    for (int b = 0; b < blocks; b++) {
      const plan* p = &plans[target][b];
      int64_t* at = &model[target * longs];
      for (int i = p->first; i < p->first + p->count; i++) {
        const int64_t stored = operand(p->role == ROLE_STORE ? target : p->owner, target, i, round);
        if (p->role == ROLE_PUT || p->role == ROLE_STORE || (p->role == ROLE_SWAP && i == p->first)) at[i] = stored;
        for (int origin = 0; origin < size; origin++) {
          const int64_t value = operand(origin, target, i, round);
          if (p->role == ROLE_SUM || (p->role == ROLE_TICKET && i == p->first)) at[i] += value;
          if (p->role == ROLE_MAX && value > at[i]) at[i] = value;
        }
      }
    }
  }
}

static void store_own(int64_t* mine, int round) {
  for (int b = 0; b < blocks; b++) {
    const plan* p = &plans[rank][b];
    if (p->role != ROLE_STORE) continue;
    for (int i = p->first; i < p->first + p->count; i++) mine[i] = operand(rank, rank, i, round);
  }
}

static void play(MPI_Win win, int64_t* mine, int round, int64_t* out, int64_t* got) {
  const int mode = draw(3);
  if (mode == 0) MPI_Win_fence(0, win);
  if (mode == 1) MPI_Win_lock_all(0, win);
  if (mode == 2) MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  store_own(mine, round);
  if (mode == 2) MPI_Win_unlock(rank, win);
  for (int i = 0; i < size; i++) {
    const int target = (rank + i) % size;
    if (mode == 2) MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    act(win, target, round, out + target * longs, got + target * longs);
    if (mode == 2) MPI_Win_unlock(target, win);
  }
  if (mode == 0) MPI_Win_fence(0, win);
  if (mode == 1 && draw(2)) MPI_Win_flush_all(win);
  if (mode == 1) MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void run(const window_kind* kind, uint64_t seed) {
  state = seed * 0x9e3779b97f4a7c15ull + 7;
  int64_t* mine = NULL;
  MPI_Win win = open_window(kind, longs * sizeof(int64_t), sizeof(int64_t), MPI_COMM_WORLD, &mine);
  model = calloc((size_t)size * longs, sizeof *model);
  int64_t* out = calloc((size_t)size * longs, sizeof *out);
  int64_t* got = calloc((size_t)size * longs, sizeof *got);
  MPI_Win_fence(0, win);
  memset(mine, 0, longs * sizeof *mine);
  MPI_Win_fence(0, win);
  for (int round = 0; round < rounds; round++) {
    make_plans();
    play(win, mine, round, out, got);
    for (int target = 0; target < size; target++) check_gets(target, got + target * longs);
    play_model(round);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    if (round % 5 == 0) MPI_Win_sync(win);
    for (int i = 0; i < longs; i++) {
      CHECK_SAY(mine[i] == model[rank * longs + i], "seed %llu round %d: element %d is %lld, not %lld (role %d)",
                (unsigned long long)seed, round, i, (long long)mine[i], (long long)model[rank * longs + i],
                plans[rank][i / block_longs].role);
    }
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(model);
  free(out);
  free(got);
  close_window(kind, &win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  plans = malloc(sizeof *plans * (size_t)size);
  const uint64_t fixed[] = {1, 20261120};
  for (int kind = 0; kind < window_kind_count; kind++) {
    if (!kind_tried(kind, MPI_COMM_WORLD)) continue;
    if (swap_is_broken(&window_kinds[kind])) continue;
    for (int i = 1; i < argc; i++) run(&window_kinds[kind], strtoull(argv[i], NULL, 10));
    for (int i = 0; i < 2 && argc == 1; i++) run(&window_kinds[kind], fixed[i]);
  }
  free(plans);
  MPI_Finalize();
  return 0;
}
