/* sill-winalloc: what it takes to get and to free global memory, by each way that MPI has.
 *
 * Each iteration begins at a barrier; a step's time is that of the slowest rank, and the result the median of all
 * iterations. What a dynamic window needs more, telling all ranks the addresses, is part of getting it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "methods.h"

enum { max_sizes = 64, path_room = 4200 };

static const char* chosen = "allocate,create,attach,shared";
static const char* sizes = "8,64,512,4k,32k,256k,2m,16m,256m";
static uint64_t iterations = 20;
static bool probe = false;
static uint64_t corrupt = UINT64_MAX;

static const struct app_option options[] = {
    {"methods", "LIST", APP_TEXT, &chosen, "of allocate, create, attach (to a dynamic window), shared (and attached)"},
    {"sizes", "LIST", APP_TEXT, &sizes, "of each rank's memory"},
    {"iterations", "N", APP_NUMBER, &iterations, "of which the median counts"},
    {"probe", NULL, APP_FLAG, &probe, "time also what the file system takes to create, reserve, remove such a file"},
    {"test-corrupt", "N", APP_NUMBER, &corrupt, NULL},
};

static const struct app app = {
    .name = "sill-winalloc",
    .purpose = "time to get and to free global memory: windows allocated, created, dynamic, shared.",
    .example = "mpiexec -n 2 sill-winalloc --window storage --store /scratch --probe",
    APP_OPTIONS(options)};

enum step { step_get, step_free, step_create, step_reserve, step_remove, step_count };
static const char* const step_names[step_count] = {"get", "free", "create", "reserve", "remove"};

/* Whether a list separated by commas has this word. */
static bool contains(const char* list, const char* word) {
  for (const char* name; (name = app_next_name(&list)) != NULL;)
    if (strcmp(name, word) == 0) return true;
  return false;
}

/* What of --methods is none; NULL if all are. */
static const char* unknown_method(void) {
  const char* list = chosen;
  for (const char* name; (name = app_next_name(&list)) != NULL;) {
    size_t i = 0;
    while (i < method_count && strcmp(methods[i].name, name) != 0) ++i;
    if (i == method_count) return name;
  }
  return NULL;
}

/* Seconds since *mark, which becomes now. */
static double lap(double* mark) {
  double now = app_seconds(), passed = now - *mark;
  *mark = now;
  return passed;
}

/* --- the self-check: what the left neighbour puts at both ends arrives --- */

static uint64_t word_of(int rank, uint64_t bytes) {
  uint64_t state = bytes + (uint64_t)rank;
  return app_random(&state);
}

static bool check(const struct memory* memory, uint64_t bytes) {
  int rank = app_rank(), ranks = app_ranks(), right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  uint64_t sent = word_of(rank, bytes), expected = word_of(left, bytes), first = 0, last = 0;
  MPI_Aint begin = memory->begin != NULL ? memory->begin[right] : 0;
  MPI_Aint ends[2] = {begin, begin + (MPI_Aint)(bytes - sizeof sent)};
  for (int i = 0; i < 2; ++i) {
    APP_TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, memory->win));
    APP_TRY(MPI_Put(&sent, 1, MPI_UINT64_T, right, ends[i], 1, MPI_UINT64_T, memory->win));
    APP_TRY(MPI_Win_unlock(right, memory->win));
  }
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  APP_TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, memory->win));
  if (corrupt != UINT64_MAX && rank == 0) memory->base[corrupt % sizeof sent] ^= 1;
  memcpy(&first, memory->base, sizeof first);
  memcpy(&last, memory->base + bytes - sizeof last, sizeof last);
  APP_TRY(MPI_Win_unlock(rank, memory->win));
  return first == expected && last == expected;
}

/* --- measuring --- */

static bool time_method(const struct method* method, uint64_t bytes, bool checked, double* steps) {
  struct memory memory = {.win = MPI_WIN_NULL, .shared = MPI_WIN_NULL};
  bool right = true;
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  double mark = app_seconds();
  method->get(&memory, bytes);
  steps[step_get] = lap(&mark);
  APP_TRY(MPI_Win_set_errhandler(memory.win, MPI_ERRORS_RETURN));
  app_backing(memory.base);
  if (checked) right = check(&memory, bytes);
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  mark = app_seconds();
  method->release(&memory);
  steps[step_free] = lap(&mark);
  return right;
}

/* What no storage window can avoid: the same file, made by system calls. */
static void time_file(uint64_t bytes, double* steps) {
  char path[path_room];
  int length = snprintf(path, sizeof path, "%s/winalloc-probe.%d", app_store(), app_rank());
  if (length < 0 || (size_t)length >= sizeof path) app_fail("%s: the path is too long", app_store());
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  double mark = app_seconds();
  int file = app_open(path, O_RDWR | O_CREAT | O_EXCL);
  steps[step_create] = lap(&mark);
  int error = posix_fallocate(file, 0, (off_t)bytes);
  if (error != 0) app_fail("%s: %s", path, strerror(error));
  steps[step_reserve] = lap(&mark);
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  mark = app_seconds();
  if (close(file) != 0 || unlink(path) != 0) app_fail("%s: %s", path, strerror(errno));
  steps[step_remove] = lap(&mark);
}

static void report(const char* method, uint64_t bytes, double* seconds, enum step first, enum step last) {
  for (int step = (int)first; step <= (int)last; ++step)
    app_result_of("time", app_median(seconds + (size_t)step * iterations, iterations) * 1e6, "us",
                  "method=%s bytes=%" PRIu64 " step=%s", method, bytes, step_names[step]);
}

/* One method, or the probe if it is NULL, with one size. Returns whether its memory held what was put there. */
static bool measure(const struct method* method, uint64_t bytes) {
  double* seconds = app_allocate(step_count * iterations * sizeof *seconds);
  bool right = true;
  for (uint64_t i = 0; i < iterations; ++i) {
    double steps[step_count] = {0}, slowest[step_count] = {0};
    if (method == NULL) {
      time_file(bytes, steps);
    } else if (!time_method(method, bytes, i == 0 && app_verify(), steps)) {
      right = false;
    }
    APP_TRY(MPI_Allreduce(steps, slowest, step_count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    for (size_t step = 0; step < step_count; ++step) seconds[step * iterations + i] = slowest[step];
  }
  if (method == NULL) {
    report("file", bytes, seconds, step_create, step_remove);
  } else {
    report(method->name, bytes, seconds, step_get, step_free);
  }
  free(seconds);
  return right;
}

static bool measure_all(const uint64_t* bytes, size_t count) {
  uint64_t done = 0, all = (method_count + 1) * count;
  bool right = true;
  for (size_t m = 0; m <= method_count; ++m) {
    const struct method* method = m < method_count ? &methods[m] : NULL;
    bool wanted = method != NULL ? contains(chosen, method->name) : probe;
    if (wanted && method != NULL) app_note(method->name, "%s", method->calls);
    for (size_t i = 0; i < count; ++i) {
      app_progress("measure", done++, all, "measurements");
      if (wanted && !measure(method, bytes[i])) right = false;
    }
  }
  return right;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 0;
  if (app_begin(&app, argc, argv, &code)) {
    uint64_t bytes[max_sizes];
    size_t count = app_read_sizes(sizes, 8, INT64_MAX, bytes, max_sizes);
    if (count == 0) {
      code = app_wrong("--sizes %s: not a list of up to %d sizes from 8 on", sizes, max_sizes);
    } else if (unknown_method() != NULL) {
      code = app_wrong("--methods: \"%s\" is unknown; see --help", unknown_method());
    } else if (iterations == 0) {
      code = app_wrong("--iterations: at least 1");
    } else {
      methods_begin();
      bool right = measure_all(bytes, count);
      methods_end();
      code = app_end(right);
    }
  }
  MPI_Finalize();
  return code;
}
