/* Looking at a window's file from outside of the window. */
#ifndef SILL_TESTS_FILES_H
#define SILL_TESTS_FILES_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

/* "SCRATCH/NAME" with a number in it if the name has a %d. The text lives until the thread's fourth next call. */
static inline const char* in_scratch(const char* name, int number) {
  static _Thread_local char texts[4][1024];
  static _Thread_local int next;
  char* text = texts[next++ % 4];
  char format[512];
  snprintf(format, sizeof format, "%s/%s", scratch(), name);
  char* spot = strstr(format, "%d");
  if (spot) *spot = '\0';
  if (spot) snprintf(text, sizeof texts[0], "%s%d%s", format, number, spot + 2);
  if (!spot) snprintf(text, sizeof texts[0], "%s", format);
  return text;
}

/* Exactly `count` bytes of the file at `offset`; a short read is a failed check. */
static inline void read_file(const char* path, long long offset, void* buffer, size_t count) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  CHECK_SAY(file >= 0, "can't open %s: %s", path, strerror(errno));
  const ssize_t got = pread(file, buffer, count, offset);
  CHECK_SAY(got == (ssize_t)count, "%s: %zd of %zu bytes at %lld", path, got, count, offset);
  CHECK_EQ(close(file), 0);
}

/* Writes `count` bytes of `fill` at `offset`; makes the file if need be. */
static inline void write_file(const char* path, long long offset, int fill, size_t count) {
  const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  CHECK_SAY(file >= 0, "can't open %s: %s", path, strerror(errno));
  char* bytes = malloc(count + 1);
  memset(bytes, fill, count);
  CHECK_EQ(pwrite(file, bytes, count, offset), count);
  free(bytes);
  CHECK_EQ(close(file), 0);
}

/* A storage window of all ranks with the hints of both texts; the second is what a failing check shows. */
static inline MPI_Win open_storage(const char* always, const char* hints, MPI_Aint bytes, unsigned char** base) {
  char text[512];
  snprintf(text, sizeof text, "alloc_type=storage %s %s", always, hints);
  check_context = hints;
  MPI_Info info = make_info(text);
  MPI_Win win;
  CHECK_EQ(MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, base, &win), MPI_SUCCESS);
  MPI_Info_free(&info);
  return win;
}

/* Size in bytes; -1 if there is no such file. */
static inline long long file_size(const char* path) {
  struct stat status;
  return stat(path, &status) == 0 ? (long long)status.st_size : -1;
}

/* Number of entries of a folder, without . and .. */
static inline int entries_in(const char* folder) {
  DIR* stream = opendir(folder);
  CHECK_SAY(stream != NULL, "can't open %s: %s", folder, strerror(errno));
  int count = 0;
  for (struct dirent* entry = readdir(stream); entry; entry = readdir(stream)) {
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  }
  CHECK_EQ(closedir(stream), 0);
  return count;
}

/* The byte that position `i` of rank `rank`'s segment holds in round `round`; no two neighbours agree. */
static inline unsigned char pattern(int rank, size_t i, int round) {
  return (unsigned char)(rank * 61 + (int)(i % 251) + (int)(i / 251) * 7 + round * 29 + 1);
}

static inline void fill_pattern(unsigned char* bytes, size_t count, int rank, int round) {
  for (size_t i = 0; i < count; i++) bytes[i] = pattern(rank, i, round);
}

/* `bytes` must be positions first .. first + count of that pattern. */
static inline void check_pattern(const unsigned char* bytes, size_t first, size_t count, int rank, int round) {
  for (size_t i = 0; i < count; i++) {
    CHECK_SAY(bytes[i] == pattern(rank, first + i, round), "byte %zu of rank %d is %d, not %d", first + i, rank,
              bytes[i], pattern(rank, first + i, round));
  }
}

#endif
