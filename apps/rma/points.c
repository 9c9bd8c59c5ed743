/* The operations, and the time they take. */
#include "rma.h"

enum { in_flight = 64 };
static const uint64_t in_flight_bytes = 8u << 20;
static const double batch_seconds = 100e-6; /* what the clock can measure well */

static int put(const struct access* a, int target, MPI_Aint at, int bytes) {
  return MPI_Put(a->local, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, a->win);
}

static int get(const struct access* a, int target, MPI_Aint at, int bytes) {
  return MPI_Get(a->result, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, a->win);
}

static int accumulate(const struct access* a, int target, MPI_Aint at, int bytes) {
  int count = bytes / 8;
  return MPI_Accumulate(a->local, count, MPI_INT64_T, target, at, count, MPI_INT64_T, MPI_SUM, a->win);
}

static int fetch_and_op(const struct access* a, int target, MPI_Aint at, int bytes) {
  (void)bytes;
  return MPI_Fetch_and_op(a->local, a->result, MPI_INT64_T, target, at, MPI_SUM, a->win);
}

/* local[1] is what is expected there, 0 while measuring. */
static int compare_and_swap(const struct access* a, int target, MPI_Aint at, int bytes) {
  (void)bytes;
  return MPI_Compare_and_swap(a->local, a->local + 1, a->result, MPI_INT64_T, target, at, a->win);
}

const struct operation_kind operations[operation_count] = {
    [PUT] = {"put", put, true},
    [GET] = {"get", get, true},
    [ACCUMULATE] = {"accumulate", accumulate, true},
    [FETCH_AND_OP] = {"fetch_and_op", fetch_and_op, false},
    [COMPARE_AND_SWAP] = {"compare_and_swap", compare_and_swap, false},
};

uint64_t stream_length(int bytes) {
  uint64_t fits = in_flight_bytes / (uint64_t)bytes;
  return fits > in_flight ? in_flight : fits < 2 ? 2 : fits;
}

/* Returns an MPI error code, as does run_streams: a test after each operation would be seen in its 20 ns. */
static int run_singles(const struct point* p, const struct access* a) {
  operation* call = operations[p->op].call;
  int failed = MPI_SUCCESS;
  for (uint64_t i = 0; i < p->iterations; ++i) {
    for (int t = 0; t < a->target_count; ++t) {
      failed |= call(a, a->targets[t], a->slice, p->bytes);
      failed |= MPI_Win_flush(a->targets[t], a->win);
    }
  }
  return failed;
}

static int run_streams(const struct point* p, const struct access* a) {
  operation* call = operations[p->op].call;
  uint64_t at = 0, length = stream_length(p->bytes);
  int failed = MPI_SUCCESS;
  for (uint64_t i = 0; i < p->iterations; ++i) {
    for (uint64_t k = 0; k < length; ++k) {
      for (int t = 0; t < a->target_count; ++t) failed |= call(a, a->targets[t], a->slice + (MPI_Aint)at, p->bytes);
      at += (uint64_t)p->bytes;
      if (at + (uint64_t)p->bytes > a->slice_bytes) at = 0;
    }
    /* One by one, because MPI_Win_flush_all of MPICH 4.0 returns while gets are still under way. */
    for (int t = 0; t < a->target_count; ++t) failed |= MPI_Win_flush(a->targets[t], a->win);
  }
  return failed;
}

/* One batch: seconds of an iteration. */
static double run_batch(const struct point* p, const struct access* a) {
  double start = app_seconds();
  int failed = p->aggregate ? run_streams(p, a) : run_singles(p, a);
  double seconds = (app_seconds() - start) / (double)p->iterations;
  if (failed != MPI_SUCCESS) app_fail("%s of %d bytes, or its flush, failed", operations[p->op].name, p->bytes);
  return seconds;
}

/* Warm up, and choose how many iterations make a batch that the clock can measure: the fastest of three counts, so
 * that a batch that was interrupted does not end the search too early. */
static void calibrate(struct point* p, const struct access* a) {
  p->iterations = 1;
  run_batch(p, a);
  while (p->iterations < (1u << 20)) {
    double each[3];
    for (int i = 0; i < 3; ++i) each[i] = run_batch(p, a);
    app_median(each, 3); /* sorts */
    if (each[0] * (double)p->iterations >= batch_seconds) return;
    p->iterations *= 2;
  }
}

void run_point(struct point* p, const struct access* a, double budget) {
  if (p->iterations == 0) calibrate(p, a);
  size_t done = 0;
  double start = app_seconds();
  for (; p->count < max_batches && (done < 3 || app_seconds() - start < budget); ++done)
    p->batches[p->count++] = run_batch(p, a);
}
