/* What the benchmark programs share: options, the order statistic, and lines of JSON about a run.
 *
 * The programs are plain MPI. Whether their windows lie in memory or on storage is decided outside, by preloading Sill
 * and by SILL_WINDOWS, so that one binary gives both sides of a ratio; `report_run` says what it really was.
 */
#ifndef SILL_BENCH_COMMON_H
#define SILL_BENCH_COMMON_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* End the whole job with one line. */
static inline void fail(const char* what, const char* reason) {
  fprintf(stderr, "bench: %s: %s\n", what, reason);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The value after --NAME on the command line, NULL if it isn't there. */
static inline const char* find_option(int argc, char** argv, const char* name) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0) return argv[i + 1];
  }
  return NULL;
}

static inline const char* text_option(int argc, char** argv, const char* name) {
  const char* value = find_option(argc, argv, name);
  if (value == NULL) fail(name, "option is missing");
  return value;
}

/* A whole number greater than 0. */
static inline uint64_t number_option(int argc, char** argv, const char* name) {
  const char* text = text_option(argc, argv, name);
  char* end = NULL;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || value == 0 || text[0] == '-') fail(name, "not a number above 0");
  return value;
}

static inline int compare_doubles(const void* left, const void* right) {
  double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

/* The middle of `count` values, which get sorted; of an even number the lower one of the two in the middle. */
static inline double median(double* values, size_t count) {
  qsort(values, count, sizeof *values, compare_doubles);
  return values[(count - 1) / 2];
}

static inline void print_json_string(const char* text) {
  putchar('"');
  for (; *text != '\0'; ++text) {
    if (*text == '"' || *text == '\\') putchar('\\');
    if ((unsigned char)*text >= ' ') putchar(*text);
  }
  putchar('"');
}

/* The file that the kernel has mapped at `address`, "" for memory without a name. */
static inline void backing_of(const void* address, char* path, size_t size) {
  FILE* maps = fopen("/proc/self/maps", "r");
  if (maps == NULL) fail("/proc/self/maps", strerror(errno));
  char line[5000];
  path[0] = '\0';
  while (fgets(line, sizeof line, maps) != NULL) {
    uintptr_t first = 0, end = 0;
    int name = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &first, &end, &name) < 2) continue;
    if ((uintptr_t)address < first || (uintptr_t)address >= end) continue;
    line[strcspn(line, "\n")] = '\0';
    snprintf(path, size, "%s", name > 0 ? line + name : "");
    break;
  }
  fclose(maps);
}

static inline int is_sill(struct dl_phdr_info* library, size_t size, void* found) {
  (void)size;
  if (strstr(library->dlpi_name, "libsill-") != NULL) *(bool*)found = true;
  return 0;
}

/* {"kind": "run", ...}: the MPI library, whether Sill is loaded, and what the page at `base` of this rank lies on. */
static inline void report_run(const void* base) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING], backing[4200];
  int length = 0;
  bool sill = false;
  MPI_Get_library_version(version, &length);
  version[strcspn(version, "\n")] = '\0';
  dl_iterate_phdr(is_sill, &sill);
  backing_of(base, backing, sizeof backing);
  printf("{\"kind\": \"run\", \"library\": ");
  print_json_string(version);
  printf(", \"sill\": %s, \"backing\": ", sill ? "true" : "false");
  print_json_string(backing);
  printf("}\n");
}

#endif
