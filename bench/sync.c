/* Time and device writes of MPI_Win_sync, beside a plain sequential write + fsync.
 *
 * Each round, in turn: the whole window dirtied ("full"), a file of the same size, reserved like a window's, written
 * over in blocks of 1 MiB and fsynced ("dd"), some of the pages dirtied in one piece ("piece"), as many dirtied here
 * and there ("scattered"). Bytes written are the block device's own count, taken before and after.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "app.h"

enum { block_bytes = 1 << 20, max_rounds = 40, path_room = 4200 };
enum kind { kind_full, kind_dd, kind_piece, kind_scattered, kind_count };
static const char* const kind_names[kind_count] = {"full", "dd", "piece", "scattered"};

static struct {
  uint64_t bytes, rounds;
  double percent;
} options = {.bytes = 1 << 30, .rounds = 3, .percent = 1};

static const struct app_option option_table[] = {
    {"window-bytes", "SIZE", APP_SIZE, &options.bytes, "the window"},
    {"rounds", "N", APP_NUMBER, &options.rounds, "of which the median counts"},
    {"percent", "P", APP_REAL, &options.percent, "of the pages, dirtied in one piece and scattered"},
};

static const struct app app = {
    .name = "bench-sync",
    .purpose = "time of MPI_Win_sync, and what it writes.",
    .example = "sill run -n 1 -- bench-sync --window storage --store /scratch",
    .options = option_table,
    .option_count = sizeof option_table / sizeof option_table[0],
};

struct bench {
  MPI_Win win;
  char* base;
  size_t bytes, page, count; /* count: pages of "piece" and "scattered" */
  char probe[path_room];
  int file;                /* of that name */
  char counter[path_room]; /* the device's statistics; empty: there is no single device */
  uint64_t random;
  char* block; /* block_bytes, for the probe */
  double seconds[kind_count][max_rounds], written[kind_count][max_rounds];
  uint64_t round;
};

/* Bytes that the device was given to write since it came up: the 7th number of its stat file, in sectors of 512. */
static uint64_t written_bytes(const struct bench* b) {
  if (b->counter[0] == '\0') return 0;
  FILE* stat = fopen(b->counter, "r");
  if (stat == NULL) app_fail("%s: %s", b->counter, strerror(errno));
  uint64_t sectors = 0;
  int found = fscanf(stat, "%*u %*u %*u %*u %*u %*u %" SCNu64, &sectors);
  fclose(stat);
  if (found != 1) app_fail("%s: no count of sectors written", b->counter);
  return sectors * 512;
}

static void note(struct bench* b, enum kind kind, double seconds, uint64_t written) {
  b->seconds[kind][b->round] = seconds;
  b->written[kind][b->round] = (double)written;
}

static void time_sync(struct bench* b, enum kind kind) {
  uint64_t before = written_bytes(b);
  double start = app_seconds();
  APP_TRY(MPI_Win_sync(b->win));
  double seconds = app_seconds() - start;
  note(b, kind, seconds, written_bytes(b) - before);
}

static void write_block(const struct bench* b, size_t at, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t step = pwrite(b->file, b->block + done, bytes - done, (off_t)(at + done));
    if (step < 0 && errno != EINTR) app_fail("%s: %s", b->probe, strerror(errno));
    if (step > 0) done += (size_t)step;
  }
}

/* What `dd conv=notrunc,fsync` does. */
static void time_dd(struct bench* b) {
  uint64_t before = written_bytes(b);
  double start = app_seconds();
  for (size_t done = 0; done < b->bytes; done += block_bytes) {
    write_block(b, done, b->bytes - done < block_bytes ? b->bytes - done : block_bytes);
  }
  if (fsync(b->file) != 0) app_fail("%s: %s", b->probe, strerror(errno));
  double seconds = app_seconds() - start;
  note(b, kind_dd, seconds, written_bytes(b) - before);
}

static void dirty_page(struct bench* b, size_t page, int value) { memset(b->base + page * b->page, value, b->page); }

/* Different pages: one from each of equal stretches of the window. */
static void dirty_scattered(struct bench* b, int value) {
  size_t stretch = b->bytes / b->page / b->count;
  for (size_t i = 0; i < b->count; ++i) dirty_page(b, i * stretch + app_random(&b->random) % stretch, value);
}

static void run_round(struct bench* b, int value) {
  memset(b->base, value, b->bytes);
  time_sync(b, kind_full);

  memset(b->block, value, block_bytes);
  time_dd(b);

  size_t first = app_random(&b->random) % (b->bytes / b->page - b->count + 1);
  for (size_t i = 0; i < b->count; ++i) dirty_page(b, first + i, value + 1);
  time_sync(b, kind_piece);

  dirty_scattered(b, value + 2);
  time_sync(b, kind_scattered);
}

static void open_probe(struct bench* b) {
  struct stat store;
  snprintf(b->probe, sizeof b->probe, "%s/sync-probe", app_store());
  b->file = open(b->probe, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (b->file < 0 || fstat(b->file, &store) != 0) app_fail("%s: %s", b->probe, strerror(errno));
  int error = posix_fallocate(b->file, 0, (off_t)b->bytes);
  if (error != 0) app_fail("%s: %s", b->probe, strerror(error));
  snprintf(b->counter, sizeof b->counter, "/sys/dev/block/%u:%u/stat", major(store.st_dev), minor(store.st_dev));
  if (access(b->counter, R_OK) != 0) b->counter[0] = '\0'; /* tmpfs, NFS, some btrfs */
}

static void report(struct bench* b) {
  for (int kind = 0; kind < kind_count; ++kind) {
    char labels[32];
    snprintf(labels, sizeof labels, "case=%s", kind_names[kind]);
    double dirtied = kind <= kind_dd ? (double)b->bytes : (double)(b->count * b->page);
    double seconds = app_median(b->seconds[kind], b->round), written = app_median(b->written[kind], b->round);
    app_result("time", labels, seconds, "s");
    app_result("bandwidth", labels, dirtied / seconds, "B/s");
    if (b->counter[0] != '\0') app_result("written_per_byte", labels, written / dirtied, "1");
  }
}

/* 0, or the exit code after the reason. */
static int check_options(struct bench* b) {
  b->page = (size_t)sysconf(_SC_PAGESIZE);
  b->bytes = options.bytes / b->page * b->page;
  b->count = (size_t)((double)(b->bytes / b->page) * options.percent / 100);
  if (app_ranks() != 1) return app_wrong("start 1 rank: the device is to serve one at a time");
  if (options.rounds == 0 || options.rounds > max_rounds) return app_wrong("--rounds: 1 to %d", max_rounds);
  if (b->count == 0 || b->count * b->page > b->bytes) return app_wrong("--percent: no page, or more than there are");
  return 0;
}

/* The last round's scattered pages and what is between them. */
static bool right(const struct bench* b) {
  for (size_t i = 0; i < b->bytes; i += b->page) {
    int distance = b->base[i] - (char)((b->round - 1) * 3 + 1);
    if (distance < 0 || distance > 2) return false;
  }
  return true;
}

int main(int argc, char** argv) {
  static struct bench b = {.random = 1};
  int code = 0;
  MPI_Init(&argc, &argv);
  if (app_begin(&app, argc, argv, &code) && (code = check_options(&b)) == 0) {
    b.block = app_allocate(block_bytes);
    open_probe(&b);
    MPI_Info info = app_window_info("sync");
    APP_TRY(MPI_Win_allocate((MPI_Aint)b.bytes, 1, info, MPI_COMM_WORLD, &b.base, &b.win));
    APP_TRY(MPI_Info_free(&info));
    APP_TRY(MPI_Win_set_errhandler(b.win, MPI_ERRORS_RETURN));
    app_backing(b.base);
    APP_TRY(MPI_Win_lock_all(0, b.win));
    for (; b.round < options.rounds; ++b.round) {
      app_progress("sync", b.round, options.rounds, "rounds");
      run_round(&b, (int)(b.round * 3 + 1));
    }
    bool ok = !app_verify() || right(&b);
    APP_TRY(MPI_Win_unlock_all(b.win));
    APP_TRY(MPI_Win_free(&b.win));
    if (close(b.file) != 0 || unlink(b.probe) != 0) app_fail("%s: %s", b.probe, strerror(errno));
    report(&b);
    free(b.block);
    code = app_end(ok);
  }
  MPI_Finalize();
  return code;
}
