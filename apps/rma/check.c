/* A figure of a window that holds the wrong bytes is worth nothing. */
#include <string.h>

#include "rma.h"

/* One operation that must succeed, complete when this returns. */
static void run(const struct access* a, int op, int target, int bytes) {
  app_check(operations[op].call(a, target, a->slice, bytes), operations[op].name);
  APP_TRY(MPI_Win_flush(target, a->win));
}

/* What `target` holds is in a->result then. */
static const int64_t* look(const struct access* a, int target, int bytes) {
  memset(a->result, 0xff, (size_t)bytes);
  run(a, GET, target, bytes);
  return a->result;
}

static bool check_put(const struct access* a, int target, int bytes, bool spoil) {
  uint64_t random = (uint64_t)target + 1;
  for (int i = 0; i < bytes / 8; ++i) a->local[i] = (int64_t)(app_random(&random) >> 2); /* room for sums */
  run(a, PUT, target, bytes);
  if (spoil) {
    unsigned char byte = (unsigned char)~*(unsigned char*)a->local;
    APP_TRY(MPI_Put(&byte, 1, MPI_BYTE, target, a->slice, 1, MPI_BYTE, a->win));
    APP_TRY(MPI_Win_flush(target, a->win));
  }
  return memcmp(look(a, target, bytes), a->local, (size_t)bytes) == 0;
}

/* The put's values twice. */
static bool check_accumulate(const struct access* a, int target, int bytes) {
  run(a, ACCUMULATE, target, bytes);
  const int64_t* now = look(a, target, bytes);
  for (int i = 0; i < bytes / 8; ++i)
    if ((uint64_t)now[i] != 2 * (uint64_t)a->local[i]) return false;
  return true;
}

static bool check_fetch_and_op(const struct access* a, int target) {
  int64_t before = look(a, target, 8)[0];
  a->local[0] = -before / 2;
  run(a, FETCH_AND_OP, target, 8);
  bool fetched = a->result[0] == before;
  return fetched && look(a, target, 8)[0] == before - before / 2;
}

static bool check_compare_and_swap(const struct access* a, int target) {
  int64_t before = look(a, target, 8)[0];
  a->local[0] = before / 3;
  a->local[1] = before;
  run(a, COMPARE_AND_SWAP, target, 8);
  if (a->result[0] != before || look(a, target, 8)[0] != before / 3) return false;
  a->local[1] = before / 3 + 1; /* not what is there: nothing is swapped */
  a->local[0] = 0;
  run(a, COMPARE_AND_SWAP, target, 8);
  return a->result[0] == before / 3 && look(a, target, 8)[0] == before / 3;
}

bool check_transfers(const struct access* a, const bool* chosen, int largest, bool spoil) {
  bool right = true;
  for (int t = 0; t < a->target_count; ++t) {
    int target = a->targets[t];
    right &= check_put(a, target, largest, spoil);
    if (chosen[ACCUMULATE]) right &= check_accumulate(a, target, largest);
    if (chosen[FETCH_AND_OP]) right &= check_fetch_and_op(a, target);
    if (chosen[COMPARE_AND_SWAP]) right &= check_compare_and_swap(a, target);
    memset(a->local, 0, (size_t)largest); /* leave zeros everywhere: what is measured adds them, compares with them */
    run(a, PUT, target, largest);
  }
  return right;
}
