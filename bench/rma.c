/* Time of one-sided operations from rank 0 to rank 1, passive target, as lines of JSON.
 *
 *   rma --window allocate|shared --ops put,get,accumulate,fetch_and_op,compare_and_swap --sizes 8,64,...
 *       --window_bytes N --rounds N --budget_us N
 *
 * latency: one operation and its flush, microseconds. bandwidth: many operations one after another through the window,
 * then one flush, MB/s. A measurement is the median of its batches; the batches of a point are spread over `rounds`
 * passes over all points, so that a disturbance of a moment can't sit on one point.
 */
#include "common.h"

enum { max_points = 256, max_batches = 4096, in_flight = 64, target = 1 };
static const size_t in_flight_bytes = 8u << 20;
static const double batch_seconds = 100e-6;

struct access {
  MPI_Win win;
  int64_t* local;  /* of the size of the largest operation */
  int64_t* result; /* of fetching operations, same size */
};

typedef void operation(const struct access* a, MPI_Aint disp, int bytes);

static void put(const struct access* a, MPI_Aint disp, int bytes) {
  MPI_Put(a->local, bytes, MPI_BYTE, target, disp, bytes, MPI_BYTE, a->win);
}

static void get(const struct access* a, MPI_Aint disp, int bytes) {
  MPI_Get(a->result, bytes, MPI_BYTE, target, disp, bytes, MPI_BYTE, a->win);
}

static void accumulate(const struct access* a, MPI_Aint disp, int bytes) {
  int count = bytes / 8;
  MPI_Accumulate(a->local, count, MPI_INT64_T, target, disp, count, MPI_INT64_T, MPI_SUM, a->win);
}

static void fetch_and_op(const struct access* a, MPI_Aint disp, int bytes) {
  (void)bytes;
  MPI_Fetch_and_op(a->local, a->result, MPI_INT64_T, target, disp, MPI_SUM, a->win);
}

static void compare_and_swap(const struct access* a, MPI_Aint disp, int bytes) {
  (void)bytes;
  MPI_Compare_and_swap(a->local, a->local, a->result, MPI_INT64_T, target, disp, a->win);
}

static const struct {
  const char* name;
  operation* call;
  bool any_size; /* otherwise 8 bytes only */
} operations[] = {
    {"put", put, true},
    {"get", get, true},
    {"accumulate", accumulate, true},
    {"fetch_and_op", fetch_and_op, false},
    {"compare_and_swap", compare_and_swap, false},
};
enum { operation_count = sizeof operations / sizeof operations[0] };

struct point {
  int op; /* index in operations */
  int bytes;
  bool streamed; /* bandwidth instead of latency */
  size_t iterations;
  size_t count;    /* of batches so far */
  double* batches; /* seconds an operation, or seconds a stream */
};

static size_t stream_length(int bytes) {
  size_t fits = in_flight_bytes / (size_t)bytes;
  return fits > in_flight ? in_flight : fits < 2 ? 2 : fits;
}

/* One batch: seconds per operation and flush, or per stream of operations and flush. */
static double run_batch(const struct point* p, const struct access* a, size_t window_bytes) {
  operation* call = operations[p->op].call;
  double start = MPI_Wtime();
  if (!p->streamed) {
    for (size_t i = 0; i < p->iterations; ++i) {
      call(a, 0, p->bytes);
      MPI_Win_flush(target, a->win);
    }
  } else {
    size_t disp = 0, length = stream_length(p->bytes);
    for (size_t i = 0; i < p->iterations; ++i) {
      for (size_t k = 0; k < length; ++k) {
        call(a, (MPI_Aint)disp, p->bytes);
        disp += (size_t)p->bytes;
        if (disp + (size_t)p->bytes > window_bytes) disp = 0;
      }
      MPI_Win_flush(target, a->win);
    }
  }
  return (MPI_Wtime() - start) / (double)p->iterations;
}

/* Warm up, and choose how many iterations make a batch that the clock can measure: the fastest of three counts, so
 * that a batch that was interrupted does not end the search too early. */
static void calibrate(struct point* p, const struct access* a, size_t window_bytes) {
  p->iterations = 1;
  run_batch(p, a, window_bytes);
  while (p->iterations < (1u << 20)) {
    double each[3];
    for (int i = 0; i < 3; ++i) each[i] = run_batch(p, a, window_bytes);
    qsort(each, 3, sizeof each[0], compare_doubles);
    if (each[0] * (double)p->iterations >= batch_seconds) return;
    p->iterations *= 2;
  }
}

static void run_point(struct point* p, const struct access* a, size_t window_bytes, double budget) {
  if (p->iterations == 0) calibrate(p, a, window_bytes);
  size_t done = 0;
  for (double start = MPI_Wtime(); p->count < max_batches && (done < 3 || MPI_Wtime() - start < budget); ++done) {
    p->batches[p->count++] = run_batch(p, a, window_bytes);
  }
}

static void report_point(struct point* p) {
  double seconds = median(p->batches, p->count);
  double fastest = p->batches[0]; /* `median` sorts */
  double value = p->streamed ? p->bytes * (double)stream_length(p->bytes) / seconds / 1e6 : seconds * 1e6;
  printf(
      "{\"kind\": \"point\", \"op\": \"%s\", \"metric\": \"%s\", \"bytes\": %d, \"value\": %.6g, \"unit\": \"%s\", "
      "\"batches\": %zu, \"median_over_fastest\": %.3f}\n",
      operations[p->op].name, p->streamed ? "bandwidth" : "latency", p->bytes, value, p->streamed ? "MB/s" : "us",
      p->count, seconds / fastest);
}

static bool contains(const char* list, const char* word) {
  size_t length = strlen(word);
  for (const char* at = list; (at = strstr(at, word)) != NULL; at += length) {
    if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0')) return true;
  }
  return false;
}

static size_t add_points(struct point* points, const char* ops, const char* sizes, int* largest) {
  size_t count = 0;
  for (const char* at = sizes; *at != '\0';) {
    char* end = NULL;
    long bytes = strtol(at, &end, 10);
    if (end == at || (*end != ',' && *end != '\0') || bytes < 8 || bytes % 8 != 0 || bytes > (1 << 30)) {
      fail("sizes", "not a list of multiples of 8");
    }
    at = *end == ',' ? end + 1 : end;
    if (bytes > *largest) *largest = (int)bytes;
    for (int op = 0; op < operation_count; ++op) {
      if (!contains(ops, operations[op].name) || (bytes != 8 && !operations[op].any_size)) continue;
      for (int streamed = 0; streamed < 2; ++streamed) {
        if (count == max_points) fail("sizes", "too many points");
        points[count] = (struct point){.op = op, .bytes = (int)bytes, .streamed = streamed == 1};
        points[count].batches = calloc(max_batches, sizeof(double));
        if (points[count].batches == NULL) fail("batches", strerror(errno));
        ++count;
      }
    }
  }
  if (count == 0) fail("ops", "nothing to measure");
  return count;
}

/* A figure of a window that holds the wrong bytes is worth nothing. */
static void check_transfer(const struct access* a, int bytes) {
  memset(a->local, 0x5a, (size_t)bytes);
  memset(a->result, 0, (size_t)bytes);
  put(a, 0, bytes);
  MPI_Win_flush(target, a->win);
  get(a, 0, bytes);
  MPI_Win_flush(target, a->win);
  if (memcmp(a->local, a->result, (size_t)bytes) != 0) fail("check", "what was put is not what was got");
}

static MPI_Win make_window(const char* kind, size_t bytes, void* base) {
  MPI_Win win = MPI_WIN_NULL;
  if (strcmp(kind, "allocate") == 0) {
    MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, base, &win);
  } else if (strcmp(kind, "shared") == 0) {
    MPI_Win_allocate_shared((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, base, &win);
  } else {
    fail("window", "allocate or shared");
  }
  return win;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0, largest = 8;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) fail("rma", "wants 2 ranks");
  static struct point points[max_points];
  size_t count = add_points(points, text_option(argc, argv, "ops"), text_option(argc, argv, "sizes"), &largest);
  size_t window_bytes = number_option(argc, argv, "window_bytes");
  uint64_t rounds = number_option(argc, argv, "rounds");
  double budget = (double)number_option(argc, argv, "budget_us") * 1e-6;
  if (window_bytes < (size_t)largest) fail("window_bytes", "smaller than the largest size");

  char* base = NULL;
  struct access a = {.win = make_window(text_option(argc, argv, "window"), window_bytes, &base)};
  a.local = calloc(1, (size_t)largest);
  a.result = calloc(1, (size_t)largest);
  if (a.local == NULL || a.result == NULL) fail("buffers", strerror(errno));
  memset(base, 0, window_bytes);
  MPI_Win_lock_all(0, a.win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    report_run(base);
    check_transfer(&a, largest);
    memset(a.local, 0, (size_t)largest);
    for (uint64_t round = 0; round < rounds; ++round) {
      for (size_t i = 0; i < count; ++i) run_point(&points[i], &a, window_bytes, budget);
    }
    check_transfer(&a, largest);
    for (size_t i = 0; i < count; ++i) report_point(&points[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD); /* rank 1 waits here, inside of MPI, so that software progress goes on */
  MPI_Win_unlock_all(a.win);
  MPI_Win_free(&a.win);
  for (size_t i = 0; i < count; ++i) free(points[i].batches);
  free(a.local);
  free(a.result);
  MPI_Finalize();
  return 0;
}
