/* The kernels. SEQ, PAD, RND and MIX access each segment once an iteration, in an order of their own and the same in
 * each iteration, by put and get in turn: half of the window is written, however many iterations there are. */
#include <stdlib.h>
#include <string.h>

#include "mstream.h"

/* --- orders --- */

/* Ascending. */
static void order_seq(size_t* order, size_t count) {
  for (size_t i = 0; i < count; ++i) order[i] = i;
}

/* Every second segment of a list, then the others. */
static void pad(size_t* list, size_t count) {
  size_t* from = memcpy(app_allocate(count * sizeof *from), list, count * sizeof *from);
  size_t evens = (count + 1) / 2;
  for (size_t i = 0; i < count; ++i) list[i] = from[i < evens ? 2 * i : 2 * (i - evens) + 1];
  free(from);
}

static void order_pad(size_t* order, size_t count) {
  order_seq(order, count);
  pad(order, count);
}

static void order_rnd(size_t* order, size_t count) {
  uint64_t random = 1;
  order_seq(order, count);
  for (size_t i = count; i > 1; --i) {
    size_t j = app_random(&random) % i, kept = order[i - 1];
    order[i - 1] = order[j];
    order[j] = kept;
  }
}

static int compare_sizes(const void* left, const void* right) {
  size_t a = *(const size_t*)left, b = *(const size_t*)right;
  return (a > b) - (a < b);
}

/* Half of the segments at random, then what they leave with padding. */
static void order_mix(size_t* order, size_t count) {
  size_t random = count / 2;
  order_rnd(order, count);
  qsort(order + random, count - random, sizeof *order, compare_sizes);
  pad(order + random, count - random);
}

/* --- the four kernels by segments --- */

/* A put of a segment's next content, or a get and a look at one word of what came. */
static void access_segment(struct stream* stream, size_t s, bool write, uint64_t* random, bool* right) {
  MPI_Aint at = (MPI_Aint)(s * stream->segment);
  int bytes = (int)stream->segment, rank = app_rank();
  if (write) {
    APP_TRY(MPI_Put(stream_content(stream, s, stream->pass), bytes, MPI_BYTE, rank, at, bytes, MPI_BYTE, stream->win));
    APP_TRY(MPI_Win_flush(rank, stream->win));
    stream->writer[s] = stream->pass;
    return;
  }
  APP_TRY(MPI_Get(stream->buffer, bytes, MPI_BYTE, rank, at, bytes, MPI_BYTE, stream->win));
  APP_TRY(MPI_Win_flush(rank, stream->win));
  size_t word = app_random(random) % (stream->segment / sizeof(uint64_t));
  const uint64_t* expected = stream_content(stream, s, stream->writer[s]) + word;
  if (memcmp(stream->buffer + word * sizeof *expected, expected, sizeof *expected) != 0) *right = false;
}

static void iterate(struct stream* stream, const size_t* order, struct timing* timing, bool* right) {
  uint64_t random = ++stream->pass;
  for (size_t i = 0; i < stream->count; ++i) {
    bool write = i % 2 == 0;
    double start = stream->split ? app_seconds() : 0;
    access_segment(stream, order[i], write, &random, right);
    if (stream->split) *(write ? &timing->writes : &timing->reads) += app_seconds() - start;
    *(write ? &timing->written_bytes : &timing->read_bytes) += stream->segment;
  }
}

/* Write out what is dirty; the time this took is also part of the total, that since `start`. */
static void flush(struct stream* stream, double start, struct timing* timing) {
  double before = app_seconds();
  APP_TRY(MPI_Win_sync(stream->win));
  double after = app_seconds();
  timing->flush = after - before;
  timing->total = after - start;
}

/* Known contents to begin with; what they dirty isn't to count. */
static void know(struct stream* stream) {
  if (stream->known) return;
  stream_fill(stream);
  APP_TRY(MPI_Win_sync(stream->win));
}

static void run_segments(struct stream* stream, const struct kernel* kernel, struct timing* timing, bool* right) {
  size_t* order = app_allocate(stream->count * sizeof *order);
  uint64_t all = (stream->iterations + 1) * stream->bytes;
  kernel->order(order, stream->count);
  know(stream);
  iterate(stream, order, &(struct timing){0}, right); /* cold */
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  double start = app_seconds();
  for (uint64_t i = 0; i < stream->iterations; ++i) {
    app_progress(kernel->name, (i + 1) * stream->bytes, all, "B");
    iterate(stream, order, timing, right);
  }
  flush(stream, start, timing);
  free(order);
}

/* --- the kernels for windows larger than memory, by loads and stores --- */

static void run_fill(struct stream* stream, const struct kernel* kernel, struct timing* timing, bool* right) {
  (void)kernel, (void)right;
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  double start = app_seconds();
  for (uint64_t pass = 0; pass < stream->passes; ++pass) stream_fill(stream);
  flush(stream, start, timing);
  timing->written_bytes = stream->passes * stream->bytes;
}

static uint64_t sum_of(const uint64_t* words, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += words[i];
  return sum;
}

/* The sum of each segment is a check that costs nothing. */
static void run_scan(struct stream* stream, const struct kernel* kernel, struct timing* timing, bool* right) {
  size_t words = stream->segment / sizeof(uint64_t);
  know(stream);
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  double start = app_seconds();
  for (uint64_t pass = 0; pass < stream->passes; ++pass) {
    for (size_t s = 0; s < stream->count; ++s) {
      app_progress(kernel->name, pass * stream->bytes + s * stream->segment, stream->passes * stream->bytes, "B");
      uint64_t sum = sum_of((const uint64_t*)(const void*)(stream->base + s * stream->segment), words);
      size_t first = (size_t)(stream_content(stream, s, stream->writer[s]) - stream->pattern);
      if (sum != stream->sums[first + words] - stream->sums[first]) *right = false;
    }
  }
  flush(stream, start, timing);
  timing->read_bytes = stream->passes * stream->bytes;
}

static void run_upd(struct stream* stream, const struct kernel* kernel, struct timing* timing, bool* right) {
  (void)right;
  uint64_t* words = (uint64_t*)(void*)stream->base;
  size_t count = stream->bytes / sizeof *words;
  uint64_t random = (uint64_t)app_rank(), done = 0;
  know(stream);
  stream->known = false;
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  double start = app_seconds(), passed = 0;
  while (stream->updates > 0 ? done < stream->updates : passed < stream->seconds) {
    words[app_random(&random) % count] += 1;
    if (++done % 64 != 0) continue; /* the clock costs as much as an update in memory */
    passed = app_seconds() - start;
    double share = passed < stream->seconds ? passed / stream->seconds : 1;
    app_progress(kernel->name, done, stream->updates > 0 ? stream->updates : (uint64_t)((double)done / share),
                 "updates");
  }
  flush(stream, start, timing);
  timing->updates = done;
}

const struct kernel* stream_kernel(const char* name) {
  static const struct kernel kernels[] = {{"SEQ", run_segments, order_seq},
                                          {"PAD", run_segments, order_pad},
                                          {"RND", run_segments, order_rnd},
                                          {"MIX", run_segments, order_mix},
                                          {"FILL", run_fill, NULL},
                                          {"SCAN", run_scan, NULL},
                                          {"UPD", run_upd, NULL}};
  for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; ++i)
    if (strcmp(name, kernels[i].name) == 0) return &kernels[i];
  return NULL;
}
