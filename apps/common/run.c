/* What is known of a run, its progress, its failures. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "internal.h"

static const double together_seconds = 0.5; /* in which ranks that fail in the same call all come to say so */

struct app_run app_run = {
    .comm = MPI_COMM_NULL, .ranks = 1, .window = "memory", .store = ".", .factor = "0.5", .verify = true};

static struct {
  char what[64];
  double begin, shown;
  bool terminal, line_open;
} progress;

const char* app_readable(double value, const char* unit) {
  static char text[96];
  static const char* const prefixes[] = {"", "k", "M", "G", "T"};
  size_t step = 0, length = strlen(unit);
  bool is_rate = length > 2 && strcmp(unit + length - 2, "/s") == 0;
  while ((is_rate || strcmp(unit, "B") == 0) && step < 4 && fabs(value) >= 1000) {
    value /= 1000;
    ++step;
  }
  const char* shown = strcmp(unit, "1") == 0 ? "" : strcmp(unit, "1/s") == 0 ? "/s" : unit;
  const char* blank = step > 0 && is_rate && strcmp(unit, "B/s") != 0 && shown == unit ? " " : ""; /* M keys/s */
  snprintf(text, sizeof text, "%.4g %s%s%s", value, prefixes[step], blank, shown);
  return text;
}

/* --- progress --- */

void app_progress(const char* what, uint64_t done, uint64_t total, const char* unit) {
  if (app_run.rank != 0 || app_run.quiet) return;
  double now = MPI_Wtime();
  if (strcmp(progress.what, what) != 0) {
    app_progress_end();
    snprintf(progress.what, sizeof progress.what, "%s", what);
    progress.begin = now;
    progress.terminal = isatty(STDERR_FILENO) != 0;
    progress.shown = progress.terminal ? 0 : now;
  }
  if (now - progress.shown < (progress.terminal ? 0.1 : 5.0)) return;
  progress.shown = now;
  double seconds = now - progress.begin, rate = seconds > 0 ? (double)done / seconds : 0;
  char per_second[32];
  snprintf(per_second, sizeof per_second, "%s/s", unit);
  fprintf(stderr, "%s  %s: %.0f %%  %s", progress.terminal ? "\r\033[K" : "", what,
          total > 0 ? 100.0 * (double)done / (double)total : 100.0, app_readable(rate, per_second));
  if (rate > 0 && total >= done) fprintf(stderr, "  %.0f s left", (double)(total - done) / rate);
  if (!progress.terminal) fputc('\n', stderr);
  progress.line_open = progress.terminal;
  fflush(stderr);
}

void app_progress_end(void) {
  if (progress.line_open) fputc('\n', stderr);
  progress.line_open = false;
  progress.what[0] = '\0';
}

/* --- failures --- */

/* Whether all ranks have come here in a moment. Whoever is last to fail could also wait in a collective for ever. */
static bool all_fail_together(void) {
  if (app_run.comm == MPI_COMM_NULL) return false;
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Ibarrier(app_run.comm, &request) != MPI_SUCCESS) return false;
  int all = 0;
  for (double start = MPI_Wtime(); all == 0 && MPI_Wtime() - start < together_seconds;) {
    if (MPI_Test(&request, &all, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    sched_yield();
  }
  return all != 0;
}

/* Wait until the launcher has read what was said: it drops what an abort finds in its pipes. */
static void wait_for_reader(void) {
  int unread = 1;
  fflush(NULL);
  for (double start = MPI_Wtime(); unread > 0 && MPI_Wtime() - start < together_seconds; sched_yield())
    if (ioctl(STDERR_FILENO, FIONREAD, &unread) != 0) return; /* no pipe */
}

void app_fail(const char* format, ...) {
  char text[APP_PATH_ROOM + 512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  app_progress_end();
  const char* name = app_run.app != NULL ? app_run.app->name : "sill-app";
  if (!all_fail_together()) {
    fprintf(stderr, "%s: rank %d: %s\n", name, app_run.rank, text);
    wait_for_reader();
  } else {
    if (app_run.rank == 0) fprintf(stderr, "%s: %s\n", name, text);
    wait_for_reader();
    MPI_Barrier(app_run.comm); /* or another's abort ends rank 0 before it has spoken */
  }
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

void app_check(int mpi_code, const char* call) {
  if (mpi_code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(mpi_code, text, &length);
  app_fail("%s: %s", call, text);
}

void* app_allocate(size_t bytes) { return app_grow(NULL, bytes); }

void* app_allocate_zero(size_t bytes) { return memset(app_allocate(bytes), 0, bytes); }

void* app_grow(void* old, size_t bytes) {
  void* memory = realloc(old, bytes > 0 ? bytes : 1);
  if (memory == NULL) app_fail("no memory for %zu bytes", bytes);
  return memory;
}

int app_open(const char* path, int flags) {
  int fd = open(path, flags | O_CLOEXEC, 0600);
  if (fd < 0) app_fail("%s: %s", path, strerror(errno));
  return fd;
}
