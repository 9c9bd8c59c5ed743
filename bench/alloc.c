/* Time to allocate and to free a window of a size, as lines of JSON; with --probe also what the file system alone takes
 * to make, reserve and remove a file of that size on every rank.
 *
 *   alloc --sizes 65536,... --iterations N [--probe PREFIX]
 *
 * Each iteration starts at a barrier; its time is that of the slowest rank. Values are medians in microseconds.
 */
#include "common.h"

enum { max_iterations = 1000 };

enum step { step_allocate, step_free, step_create, step_reserve, step_remove, step_count };
static const char* const step_names[step_count] = {"allocate", "free", "create", "reserve", "remove"};

static double seconds_since(double* mark) {
  double now = MPI_Wtime(), passed = now - *mark;
  *mark = now;
  return passed;
}

static void time_window(size_t bytes, double* steps, bool report) {
  char* base = NULL;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Barrier(MPI_COMM_WORLD);
  double mark = MPI_Wtime();
  MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  steps[step_allocate] = seconds_since(&mark);
  if (report) report_run(base);
  MPI_Barrier(MPI_COMM_WORLD);
  mark = MPI_Wtime();
  MPI_Win_free(&win);
  steps[step_free] = seconds_since(&mark);
}

/* What no storage window can avoid: the same file, made by system calls. */
static void time_file(size_t bytes, const char* path, double* steps) {
  MPI_Barrier(MPI_COMM_WORLD);
  double mark = MPI_Wtime();
  int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) fail(path, strerror(errno));
  steps[step_create] = seconds_since(&mark);
  int error = posix_fallocate(file, 0, (off_t)bytes);
  if (error != 0) fail(path, strerror(error));
  steps[step_reserve] = seconds_since(&mark);
  MPI_Barrier(MPI_COMM_WORLD);
  mark = MPI_Wtime();
  if (close(file) != 0 || unlink(path) != 0) fail(path, strerror(errno));
  steps[step_remove] = seconds_since(&mark);
}

static void time_size(size_t bytes, uint64_t iterations, const char* probe, int rank) {
  static double seconds[step_count][max_iterations];
  enum step last = probe != NULL ? step_remove : step_free;
  for (uint64_t i = 0; i < iterations; ++i) {
    double steps[step_count] = {0}, slowest[step_count] = {0};
    time_window(bytes, steps, rank == 0 && i == 0);
    if (probe != NULL) time_file(bytes, probe, steps);
    MPI_Reduce(steps, slowest, step_count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    for (int step = 0; step < step_count; ++step) seconds[step][i] = slowest[step];
  }
  if (rank != 0) return;
  for (int step = 0; step <= (int)last; ++step) {
    printf("{\"kind\": \"alloc\", \"step\": \"%s\", \"bytes\": %zu, \"value\": %.6g, \"unit\": \"us\"}\n",
           step_names[step], bytes, median(seconds[step], iterations) * 1e6);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  uint64_t iterations = number_option(argc, argv, "iterations");
  if (iterations > max_iterations) fail("iterations", "at most 1000");
  const char* prefix = find_option(argc, argv, "probe");
  char probe[4200];
  if (prefix != NULL) snprintf(probe, sizeof probe, "%s.%d", prefix, rank);
  for (const char* at = text_option(argc, argv, "sizes"); *at != '\0';) {
    char* end = NULL;
    unsigned long long bytes = strtoull(at, &end, 10);
    if (end == at || (*end != ',' && *end != '\0') || bytes == 0) fail("sizes", "not a list of numbers");
    at = *end == ',' ? end + 1 : end;
    time_size(bytes, iterations, prefix != NULL ? probe : NULL, rank);
  }
  MPI_Finalize();
  return 0;
}
