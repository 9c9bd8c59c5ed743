/* What every program here needs: checks that end the whole job, the scratch folder, infos from a line of text.
 * Exit 0 = passed, 1 = failed, 77 = skipped, with the reason as the last line on standard output.
 */
#ifndef SILL_TESTS_CHECK_H
#define SILL_TESTS_CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is being tested right now; shown by a failing check. */
static const char* check_context = "";

static inline void check_failed(const char* file, int line, const char* format, ...) {
  int rank = -1, has_world = 0; /* a program with sessions alone has none */
  MPI_Initialized(&has_world);
  if (has_world) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fprintf(stderr, "%s:%d: rank %d [%s]: %s\n", file, line, rank, check_context, text);
  fflush(stderr);
  if (!has_world) abort();
  MPI_Abort(MPI_COMM_WORLD, 1);
}

#define CHECK(condition)                                                         \
  do {                                                                           \
    if (!(condition)) check_failed(__FILE__, __LINE__, "not true: " #condition); \
  } while (0)

/* Integers of any width: a failure shows both. */
#define CHECK_EQ(actual, expected)                                                                                   \
  do {                                                                                                               \
    const long long actual_ = (long long)(actual), expected_ = (long long)(expected);                                \
    if (actual_ != expected_) check_failed(__FILE__, __LINE__, "%s is %lld, not %lld", #actual, actual_, expected_); \
  } while (0)

/* Like CHECK, with a text of one's own. */
#define CHECK_SAY(condition, ...)                                    \
  do {                                                               \
    if (!(condition)) check_failed(__FILE__, __LINE__, __VA_ARGS__); \
  } while (0)

/* The error class of a call's result. */
static inline int class_of(int code) {
  int error_class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  return error_class;
}

static inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

static inline int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

/* Whether Sill is loaded. Without it the same program runs on memory windows and shows that the test itself is right.
 */
static inline int with_sill(void) { return getenv("SILL_TEST_ACTIVE") != NULL; }

/* The scratch folder of this run, the same on all ranks. */
static inline const char* scratch(void) {
  const char* folder = getenv("SILL_TEST_DIR");
  return folder ? folder : "/tmp";
}

/* Ends the program as skipped. Call it on all ranks, between MPI_Init and MPI_Finalize. */
static inline void skip(const char* reason) {
  /* Written before any rank can end: Open MPI's launchers drop what comes when one has ended with 77. */
  if (rank_in(MPI_COMM_WORLD) == 0) printf("skip: %s\n", reason);
  fflush(stdout);
  MPI_Finalize();
  exit(77);
}

/* An info from "key=value key=value"; an @ that begins a value stands for the scratch folder. The caller frees it. */
static inline MPI_Info make_info(const char* hints) {
  MPI_Info info;
  MPI_Info_create(&info);
  char* copy = strdup(hints);
  char* rest = NULL;
  for (char* item = strtok_r(copy, " ", &rest); item; item = strtok_r(NULL, " ", &rest)) {
    char* value = strchr(item, '=');
    CHECK(value != NULL);
    *value++ = '\0';
    char text[1024];
    snprintf(text, sizeof text, "%s%s", value[0] == '@' ? scratch() : "", value[0] == '@' ? value + 1 : value);
    MPI_Info_set(info, item, text);
  }
  free(copy);
  return info;
}

#endif
