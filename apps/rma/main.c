/* sill-rma: the options, the window, the rounds, and what comes of them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rma.h"

static const char* pattern = "one-to-one";
static const char* aggregate = "both";
static const char* ops = "put,get,accumulate,fetch_and_op,compare_and_swap";
static const char* sizes = "8,64,512,4k,32k,256k,1m,4m";
static const char* allocation = "allocate";
static uint64_t window_bytes = 16 << 20, rounds = 3, budget_us = 10000;
static bool corrupt = false;

static const struct app_option options[] = {
    {"pattern", "one-to-one|one-to-all|all-pairs", APP_CHOICE, &pattern, "0 to 1, 0 to all others, all at a time"},
    {"aggregate", "no|yes|both", APP_CHOICE, &aggregate, "a flush after each, many and one flush, both one by one"},
    {"ops", "LIST", APP_TEXT, &ops, "operations"},
    {"sizes", "LIST", APP_TEXT, &sizes, "bytes an operation transfers, multiples of 8"},
    {"allocation", "allocate|shared", APP_CHOICE, &allocation, "how the window is allocated"},
    {"window-bytes", "SIZE", APP_SIZE, &window_bytes, "of each rank's memory, for each rank that accesses it"},
    {"rounds", "N", APP_NUMBER, &rounds, "over all that is measured"},
    {"budget-us", "N", APP_NUMBER, &budget_us, "microseconds of each figure in each round"},
    {"test-corrupt", NULL, APP_FLAG, &corrupt, NULL},
};

static const struct app app = {.name = "sill-rma",
                               .purpose = "latency and bandwidth of one-sided operations.",
                               .example = "mpiexec -n 2 sill-rma --window storage --store /scratch --ops put,get",
                               APP_OPTIONS(options)};

static struct point points[max_points];
static size_t point_count;
static bool chosen[operation_count];
static int largest = 16; /* compare_and_swap takes two numbers */

/* --- options --- */

/* False if there is a name that no operation has. */
static bool choose_operations(void) {
  const char* list = ops;
  for (const char* name; (name = app_next_name(&list)) != NULL;) {
    int op = 0;
    while (op < operation_count && strcmp(operations[op].name, name) != 0) ++op;
    if (op == operation_count) return false;
    chosen[op] = true;
  }
  return true;
}

static void add_point(int op, int bytes, bool aggregated) {
  if (strcmp(aggregate, aggregated ? "no" : "yes") == 0) return;
  if (point_count == max_points) app_fail("--sizes: too many figures; at most %d", max_points);
  points[point_count++] = (struct point){
      .op = op, .bytes = bytes, .aggregate = aggregated, .batches = app_allocate(max_batches * sizeof(double))};
}

/* False if --sizes isn't a list of multiples of 8. */
static bool add_points(void) {
  for (const char* at = sizes;; ++at) {
    uint64_t bytes = 0;
    at = app_read_size(at, &bytes);
    if (at == NULL || bytes == 0 || bytes % 8 != 0 || bytes > 1u << 30) return false;
    if ((int)bytes > largest) largest = (int)bytes;
    for (int op = 0; op < operation_count; ++op) {
      if (!chosen[op] || (bytes != 8 && !operations[op].any_size)) continue;
      add_point(op, (int)bytes, false);
      add_point(op, (int)bytes, true);
    }
    if (*at == '\0') return true;
  }
}

/* 0, or the exit code after the reason. */
static int check_options(void) {
  if (!choose_operations()) return app_wrong("--ops %s: one is unknown; see --help", ops);
  if (!add_points()) return app_wrong("--sizes %s: not a list of multiples of 8 up to 1g", sizes);
  if (point_count == 0) return app_wrong("--sizes, --ops: nothing to measure; atomic operations have 8 bytes");
  if (window_bytes < (uint64_t)largest || window_bytes % 8 != 0 || window_bytes > INT64_MAX / (uint64_t)app_ranks())
    return app_wrong("--window-bytes: not a multiple of 8 as large as the largest of --sizes");
  if (rounds == 0) return app_wrong("--rounds: at least 1");
  if (app_ranks() < 2) return app_wrong("start at least 2 ranks");
  return 0;
}

/* --- the window --- */

static void open_window(struct access* a) {
  int rank = app_rank(), ranks = app_ranks();
  bool all = strcmp(pattern, "all-pairs") == 0;
  int last = strcmp(pattern, "one-to-one") == 0 ? 1 : ranks - 1;
  int* targets = app_allocate((size_t)ranks * sizeof *targets);
  *a = (struct access){.win = MPI_WIN_NULL, .slice_bytes = window_bytes, .targets = targets};
  /* Each begins with the next rank, so that not all go for the same one. */
  for (int t = 1; t <= last && (all || rank == 0); ++t) targets[a->target_count++] = (rank + t) % ranks;
  a->slice = all ? (MPI_Aint)window_bytes * rank : 0;
  a->local = app_allocate_zero((size_t)largest);
  a->result = app_allocate_zero((size_t)largest);

  char* base = NULL;
  MPI_Aint bytes = (MPI_Aint)window_bytes * (all ? ranks : 1);
  MPI_Info info = app_window_info("rma");
  bool shared = strcmp(allocation, "shared") == 0;
  APP_TRY((shared ? MPI_Win_allocate_shared : MPI_Win_allocate)(bytes, 1, info, MPI_COMM_WORLD, &base, &a->win));
  APP_TRY(MPI_Info_free(&info));
  APP_TRY(MPI_Win_set_errhandler(a->win, MPI_ERRORS_RETURN));
  app_backing(base);
  APP_TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, a->win));
  memset(base, 0, (size_t)bytes);
  APP_TRY(MPI_Win_unlock(rank, a->win));
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD)); /* a rank that locked all before would keep others from their own */
  APP_TRY(MPI_Win_lock_all(0, a->win));
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
}

static void close_window(struct access* a) {
  APP_TRY(MPI_Win_unlock_all(a->win));
  APP_TRY(MPI_Win_free(&a->win));
  free((int*)a->targets);
  free(a->local);
  free(a->result);
}

/* --- measuring --- */

/* One rank after the other, because others could change what the look of one is at. Collective. */
static bool check(const struct access* a, bool spoil) {
  bool right = true;
  for (int rank = 0; rank < app_ranks() && app_verify(); ++rank) {
    if (rank == app_rank()) right = check_transfers(a, chosen, largest, spoil);
    APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  }
  return right;
}

/* Whoever doesn't measure waits in a barrier, inside of MPI, so that software progress goes on. */
static void measure(const struct access* a) {
  for (uint64_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < point_count; ++i) {
      app_progress("measure", round * point_count + i, rounds * point_count, "figures");
      if (a->target_count > 0) run_point(&points[i], a, (double)budget_us * 1e-6);
      if (strcmp(pattern, "all-pairs") == 0) APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
    }
  }
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
}

/* Latency of the slowest rank; bandwidth of all ranks together. Collective. */
static void report(struct point* p, const struct access* a) {
  double seconds = 0, spread = 0, rate = 0, all = 0;
  uint64_t each = p->aggregate ? stream_length(p->bytes) : 1;
  if (a->target_count > 0) {
    seconds = app_median(p->batches, p->count); /* sorts */
    spread = seconds / p->batches[0];
    rate = (double)p->bytes * (double)each * a->target_count / seconds;
    seconds /= (double)each * a->target_count;
  }
  char labels[160];
  snprintf(labels, sizeof labels, "op=%s bytes=%d pattern=%s aggregate=%s", operations[p->op].name, p->bytes, pattern,
           p->aggregate ? "yes" : "no");
  seconds = app_slowest(seconds);
  spread = app_slowest(spread);
  APP_TRY(MPI_Allreduce(&rate, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  if (p->aggregate) {
    app_result("bandwidth", labels, all, "B/s");
  } else {
    app_result("latency", labels, seconds * 1e6, "us");
  }
  app_result("median_over_fastest", labels, spread, "1");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 0;
  if (app_begin(&app, argc, argv, &code) && (code = check_options()) == 0) {
    struct access access;
    open_window(&access);
    bool right = check(&access, false);
    measure(&access);
    right &= check(&access, corrupt);
    for (size_t i = 0; i < point_count; ++i) {
      report(&points[i], &access);
      free(points[i].batches);
    }
    close_window(&access);
    code = app_end(right);
  }
  MPI_Finalize();
  return code;
}
