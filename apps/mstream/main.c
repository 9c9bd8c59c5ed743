/* sill-mstream: the options, the window, and what comes of the kernels. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mstream.h"

static struct stream stream = {.bytes = 64 << 20, .segment = 1 << 20, .iterations = 10, .passes = 1, .seconds = 5};
static const char* kernels = "SEQ,PAD,RND,MIX";
static uint64_t corrupt = UINT64_MAX;

static const struct app_option options[] = {
    {"window-bytes", "SIZE", APP_SIZE, &stream.bytes, "the window of each rank"},
    {"segment", "SIZE", APP_SIZE, &stream.segment, "what one put or get transfers"},
    {"kernels", "LIST", APP_TEXT, &kernels, "of SEQ, PAD, RND, MIX, FILL, SCAN, UPD, in this order"},
    {"iterations", "N", APP_NUMBER, &stream.iterations, "counted ones of SEQ, PAD, RND, MIX; a cold one comes before"},
    {"split", NULL, APP_FLAG, &stream.split, "time reads and writes apart"},
    {"passes", "N", APP_NUMBER, &stream.passes, "over the window, of FILL and SCAN"},
    {"seconds", "S", APP_REAL, &stream.seconds, "of UPD"},
    {"updates", "N", APP_NUMBER, &stream.updates, "of UPD on each rank; 0: as many as go into --seconds"},
    {"test-corrupt", "N", APP_NUMBER, &corrupt, NULL},
};

static const struct app app = {
    .name = "sill-mstream",
    .purpose = "bandwidth of a window's memory in large segments: sequential, padded, random, mixed; and out of core.",
    .example = "mpiexec -n 1 sill-mstream --window storage --store /scratch --window-bytes 2g --segment 16m",
    APP_OPTIONS(options)};

/* 0, or the exit code after the reason. */
static int check_options(void) {
  if (stream.segment < 64 || stream.segment % 64 != 0 || stream.segment > INT_MAX)
    return app_wrong("--segment: not a multiple of 64 below 2g");
  if (stream.bytes < stream.segment || stream.bytes % stream.segment != 0)
    return app_wrong("--window-bytes: not a multiple of --segment");
  if (stream.iterations == 0 || stream.passes == 0) return app_wrong("--iterations and --passes: at least 1");
  if (stream.updates == 0 && stream.seconds <= 0) return app_wrong("--seconds: more than 0, or give --updates");
  const char* list = kernels;
  for (const char* name; (name = app_next_name(&list)) != NULL;)
    if (stream_kernel(name) == NULL)
      return name[0] == '\0' ? app_wrong("--kernels %s: an empty name", kernels)
                             : app_wrong("--kernels %s: unknown; see --help", name);
  return 0;
}

static void prepare(void) {
  size_t words = stream.segment / sizeof(uint64_t) + PATTERN_STEP * PATTERN_SHIFTS;
  uint64_t random = 2026 + (uint64_t)app_rank();
  stream.count = stream.bytes / stream.segment;
  stream.pattern = app_allocate(words * sizeof *stream.pattern);
  stream.sums = app_allocate((words + 1) * sizeof *stream.sums);
  stream.buffer = app_allocate_zero(stream.segment);
  stream.writer = app_allocate_zero(stream.count * sizeof *stream.writer);
  stream.sums[0] = 0;
  for (size_t i = 0; i < words; ++i) {
    stream.pattern[i] = app_random(&random);
    stream.sums[i + 1] = stream.sums[i] + stream.pattern[i];
  }
  MPI_Info info = app_window_info("mstream");
  APP_TRY(MPI_Win_allocate((MPI_Aint)stream.bytes, 1, info, MPI_COMM_WORLD, &stream.base, &stream.win));
  APP_TRY(MPI_Info_free(&info));
  APP_TRY(MPI_Win_set_errhandler(stream.win, MPI_ERRORS_RETURN));
  app_backing(stream.base);
  APP_TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, app_rank(), 0, stream.win));
}

static void finish(void) {
  APP_TRY(MPI_Win_unlock(app_rank(), stream.win));
  APP_TRY(MPI_Win_free(&stream.win));
  free(stream.pattern);
  free(stream.sums);
  free(stream.buffer);
  free(stream.writer);
}

/* Of all ranks together, in the time of the slowest. Collective. */
static void report(const char* kernel, const struct timing* timing) {
  double ranks = app_ranks(), total = app_slowest(timing->total), flush = app_slowest(timing->flush);
  double before = app_slowest(timing->total - timing->flush);
  double reads = app_slowest(timing->reads), writes = app_slowest(timing->writes);
  double bytes = ranks * (double)(timing->read_bytes + timing->written_bytes);
  if (bytes > 0) {
    app_result_of("bandwidth", bytes / total, "B/s", "kernel=%s", kernel);
    app_result_of("bandwidth", bytes / before, "B/s", "kernel=%s flush=without", kernel);
  }
  if (stream.split && reads > 0)
    app_result_of("read", ranks * (double)timing->read_bytes / reads, "B/s", "kernel=%s", kernel);
  if (stream.split && writes > 0)
    app_result_of("write", ranks * (double)timing->written_bytes / writes, "B/s", "kernel=%s", kernel);
  uint64_t updates = 0;
  APP_TRY(MPI_Allreduce(&timing->updates, &updates, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
  if (updates > 0) {
    app_result_of("updates", (double)updates / total, "1/s", "kernel=%s", kernel);
    app_result_of("updates", (double)updates / before, "1/s", "kernel=%s flush=without", kernel);
  }
  app_result_of("time", total, "s", "kernel=%s", kernel);
  app_result_of("flush", flush, "s", "kernel=%s", kernel);
  app_result_of("flush_share", flush / total, "1", "kernel=%s", kernel);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 0;
  if (app_begin(&app, argc, argv, &code) && (code = check_options()) == 0) {
    bool right = true;
    prepare();
    const char* list = kernels;
    for (const char* name; (name = app_next_name(&list)) != NULL;) {
      struct timing timing = {0};
      const struct kernel* kernel = stream_kernel(name);
      kernel->run(&stream, kernel, &timing, &right);
      report(name, &timing);
      if (list == NULL && corrupt != UINT64_MAX) stream.base[corrupt % stream.bytes] ^= 1;
      if (app_verify() && !stream_check(&stream, timing.updates)) right = false;
    }
    finish();
    code = app_end(right);
  }
  MPI_Finalize();
  return code;
}
