#include "util.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char reason[2048];

int fail(const char* format, ...) {
  if (reason[0] == '\0') {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
  }
  return -1;
}

const char* failure(void) { return reason; }

int check(int code, const char* call) {
  if (code == MPI_SUCCESS) return 0;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) snprintf(text, sizeof text, "MPI error %d", code);
  return fail("%.*s: %s", (int)strcspn(call, "("), call, text);
}

int flush_ranks(MPI_Win window, int ranks) {
  for (int rank = 0; rank < ranks; rank++) TRY_MPI(MPI_Win_flush(rank, window));
  return 0;
}

int agree(int result) {
  int worst = -1;
  TRY_MPI(MPI_Allreduce(&result, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  return worst;
}

void print_failure(void) {
  int rank = 0;
  int first = INT_MAX;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int mine = reason[0] != '\0' ? rank : INT_MAX;
  MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (mine == first && mine != INT_MAX) fprintf(stderr, "sill-wordcount: %s\n", reason);
}

void give_up(void) {
  fprintf(stderr, "sill-wordcount: %s\n", reason);
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

void* must_realloc(void* old, size_t bytes) {
  void* memory = realloc(old, bytes > 0 ? bytes : 1);
  if (memory == NULL) {
    fail("no memory for %zu bytes", bytes);
    give_up();
  }
  return memory;
}

/* One multiplication and two shifts mix every bit of the word into the upper and lower half. */
static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29) ^ (hash >> 47);
}

uint64_t hash_bytes(uint64_t hash, const void* data, size_t bytes) {
  const char* from = data;
  size_t at = 0;
  for (; at + 8 <= bytes; at += 8) {
    uint64_t word;
    memcpy(&word, from + at, 8);
    hash = mix(hash, word);
  }
  uint64_t rest = 0;
  memcpy(&rest, from + at, bytes - at);
  return mix(hash, rest ^ ((uint64_t)bytes << 56));
}
