/* Error classes, and an allocation that must fail: on every rank, with one class, at once. */
#ifndef SILL_TESTS_ERRORS_H
#define SILL_TESTS_ERRORS_H

#include "check.h"

/* The error class of that name on a command line. */
static inline int class_named(const char* name) {
  static const struct {
    const char* name;
    int value;
  } names[] = {
      {"no_such_file", MPI_ERR_NO_SUCH_FILE},
      {"bad_file", MPI_ERR_BAD_FILE},
      {"access", MPI_ERR_ACCESS},
      {"read_only", MPI_ERR_READ_ONLY},
      {"no_space", MPI_ERR_NO_SPACE},
      {"in_use", MPI_ERR_FILE_IN_USE},
      {"quota", MPI_ERR_QUOTA},
      {"io", MPI_ERR_IO},
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(name, names[i].name) == 0) return names[i].value;
  }
  CHECK_SAY(0, "no class %s", name);
  return -1;
}

/* One try: seconds it took on the slowest rank. */
static inline double fail_once(MPI_Info info, MPI_Aint bytes, int expected, const char* key, const char* path) {
  void* base = NULL;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  const int code = MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &base, &win);
  const double seconds = MPI_Wtime() - start;
  CHECK_SAY(code != MPI_SUCCESS, "no error");
  char text[MPI_MAX_ERROR_STRING];
  int length = 0, error_class = class_of(code);
  MPI_Error_string(code, text, &length);
  CHECK_SAY(error_class == expected, "class %d, not %d: %s", error_class, expected, text);
  CHECK_SAY(!key || strstr(text, key), "%s is not in: %s", key, text);
  CHECK_SAY(!path || strstr(text, path), "%s is not in: %s", path, text);
  CHECK(win == MPI_WIN_NULL);
  double slowest = 0;
  MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

/* Seconds that a good window of memory takes on the slowest rank: what the machine is capable of right now. */
static inline double seconds_of_memory(void) {
  void* base = NULL;
  MPI_Win win;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  MPI_Win_free(&win);
  const double seconds = MPI_Wtime() - start;
  double slowest = 0;
  MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

/* Allocating a window must fail with `expected` on every rank within a second, and name `key` and `path` (unless NULL).
 * On a machine so busy that memory windows take long as well there are more tries, and time in proportion. Collective.
 */
static inline void expect_error(MPI_Info info, MPI_Aint bytes, int expected, const char* key, const char* path) {
  double seconds = fail_once(info, bytes, expected, key, path), allowed = 1.0;
  for (int more = 0; more < 3 && seconds >= allowed; more++) {
    allowed = 1.0 + 10 * seconds_of_memory();
    seconds = fail_once(info, bytes, expected, key, path);
  }
  CHECK_SAY(seconds < allowed, "took %.2f s", seconds);
}

#endif
