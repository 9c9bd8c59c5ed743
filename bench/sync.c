/* Time and device writes of MPI_Win_sync, beside a plain sequential write + fsync, as lines of JSON.
 *
 *   sync --bytes N --repetitions N --percent P --probe PATH [--counter STAT]
 *
 * Each repetition, in turn: the whole window dirtied ("full"), a file of the same size, reserved like a window's,
 * written over in blocks of 1 MiB and fsynced ("dd"), P % of the pages dirtied in one piece ("piece"), P % dirtied here
 * and there
 * ("scattered").
 * STAT is the device's /sys/dev/block/MAJOR:MINOR/stat: its count of sectors written, taken before and after.
 */
#include "common.h"

enum { block_bytes = 1 << 20 };

struct bench {
  MPI_Win win;
  char* base;
  size_t bytes;
  size_t page;
  const char* probe;
  int file;            /* of that name */
  const char* counter; /* NULL: not known */
  uint64_t random;     /* state of next_random */
  char* block;         /* block_bytes, for the probe */
};

/* xorshift64*: the same pages in each run. */
static uint64_t next_random(struct bench* b) {
  b->random ^= b->random >> 12;
  b->random ^= b->random << 25;
  b->random ^= b->random >> 27;
  return b->random * 2685821657736338717u;
}

/* Bytes that the device was given to write since it came up; the 7th number of its stat file, in sectors of 512. */
static uint64_t written_bytes(const struct bench* b) {
  if (b->counter == NULL) return 0;
  FILE* stat = fopen(b->counter, "r");
  if (stat == NULL) fail(b->counter, strerror(errno));
  uint64_t sectors = 0;
  int found = fscanf(stat, "%*u %*u %*u %*u %*u %*u %" SCNu64, &sectors);
  fclose(stat);
  if (found != 1) fail(b->counter, "no count of sectors written");
  return sectors * 512;
}

static void report(const struct bench* b, const char* name, size_t dirtied, double seconds, uint64_t written) {
  printf("{\"kind\": \"sync\", \"case\": \"%s\", \"dirtied\": %zu, \"seconds\": %.6g", name, dirtied, seconds);
  if (b->counter != NULL) printf(", \"written\": %" PRIu64, written);
  printf("}\n");
}

static void time_sync(const struct bench* b, const char* name, size_t dirtied) {
  uint64_t before = written_bytes(b);
  double start = MPI_Wtime();
  MPI_Win_sync(b->win);
  double seconds = MPI_Wtime() - start;
  report(b, name, dirtied, seconds, written_bytes(b) - before);
}

static int open_probe(const struct bench* b) {
  int file = open(b->probe, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) fail(b->probe, strerror(errno));
  int error = posix_fallocate(file, 0, (off_t)b->bytes);
  if (error != 0) fail(b->probe, strerror(error));
  return file;
}

static void write_block(const struct bench* b, size_t at, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t step = pwrite(b->file, b->block + done, bytes - done, (off_t)(at + done));
    if (step < 0 && errno != EINTR) fail(b->probe, strerror(errno));
    if (step > 0) done += (size_t)step;
  }
}

/* What `dd conv=notrunc,fsync` does. */
static void time_dd(const struct bench* b) {
  uint64_t before = written_bytes(b);
  double start = MPI_Wtime();
  for (size_t done = 0; done < b->bytes; done += block_bytes) {
    write_block(b, done, b->bytes - done < block_bytes ? b->bytes - done : block_bytes);
  }
  if (fsync(b->file) != 0) fail(b->probe, strerror(errno));
  double seconds = MPI_Wtime() - start;
  report(b, "dd", b->bytes, seconds, written_bytes(b) - before);
}

static void dirty_page(struct bench* b, size_t page, int value) { memset(b->base + page * b->page, value, b->page); }

/* `count` different pages: one from each of `count` equal stretches of the window. */
static void dirty_scattered(struct bench* b, size_t count, int value) {
  size_t stretch = b->bytes / b->page / count;
  for (size_t i = 0; i < count; ++i) dirty_page(b, i * stretch + next_random(b) % stretch, value);
}

static void repeat(struct bench* b, size_t count, int value) {
  memset(b->base, value, b->bytes);
  time_sync(b, "full", b->bytes);

  memset(b->block, value, block_bytes);
  time_dd(b);

  size_t first = next_random(b) % (b->bytes / b->page - count + 1);
  for (size_t i = 0; i < count; ++i) dirty_page(b, first + i, value + 1);
  time_sync(b, "piece", count * b->page);

  dirty_scattered(b, count, value + 2);
  time_sync(b, "scattered", count * b->page);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 1) fail("sync", "wants 1 rank: the device is to serve one at a time");
  struct bench b = {.page = (size_t)sysconf(_SC_PAGESIZE), .random = 88172645463325252u};
  b.bytes = number_option(argc, argv, "bytes") / b.page * b.page;
  b.probe = text_option(argc, argv, "probe");
  b.counter = find_option(argc, argv, "counter");
  uint64_t repetitions = number_option(argc, argv, "repetitions");
  size_t count = b.bytes / b.page * number_option(argc, argv, "percent") / 100;
  if (count == 0 || count * b.page > b.bytes) fail("percent", "no page, or more than there are");
  b.block = malloc(block_bytes);
  if (b.block == NULL) fail("block", strerror(errno));
  b.file = open_probe(&b);

  MPI_Win_allocate((MPI_Aint)b.bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &b.base, &b.win);
  MPI_Win_lock_all(0, b.win);
  report_run(b.base);
  for (uint64_t i = 0; i < repetitions; ++i) repeat(&b, count, (int)(i * 3 + 1));
  MPI_Win_unlock_all(b.win);
  MPI_Win_free(&b.win);
  if (close(b.file) != 0 || unlink(b.probe) != 0) fail(b.probe, strerror(errno));
  free(b.block);
  MPI_Finalize();
  return 0;
}
