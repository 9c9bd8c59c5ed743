/* The file of a neighborhood: the records that its ranks hold of a data set, and which they are of all. Other than the
 * canonical file (all values of the first variable, then of the second, and so on, nothing else) it has a header with
 * a checksum for each piece. docs/file-formats.md describes it. Failures end the app.
 *
 * A record's number counts it among all, its place counts it within a file. In the canonical file both are the same. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { near_variables = 32 }; /* at most */

/* Records `first` to `first + count - 1` of all. */
struct near_range {
  uint64_t first, count;
};

struct near_file {
  uint64_t set;     /* which data set it is a part of: the same number in all files of one checkpoint */
  uint64_t total;   /* records of the whole set */
  uint64_t records; /* in this file */
  uint64_t chunk;   /* records of a range that a checksum covers */
  bool complete;    /* all of it was written */
  uint32_t variables;
  uint32_t value_bytes[near_variables];
  uint64_t range_count;
  struct near_range* ranges; /* in the order of their places */
  uint64_t* checksums;       /* of unit 0 for each variable, then of unit 1, ... */
};

/* A chunk of a range: what is checked, copied, and done again after an interruption. */
struct near_unit {
  uint64_t number, place, count; /* records */
};

/* Records of one of `parts` parts of all, as many in each; the first parts have one more. Local. */
struct near_range near_even_part(uint64_t total, int part, int parts);

/* Set `records` from the ranges, and make room for checksums, all 0. The file takes over `ranges`. Local. */
void near_lay_out(struct near_file* file);
void near_free(struct near_file* file);

uint64_t near_units(const struct near_file* file);
struct near_unit near_unit(const struct near_file* file, uint64_t index);

/* Bytes of all values of a record. */
uint64_t near_record_bytes(const struct near_file* file);

/* Bytes before the first value, and of the whole file. */
uint64_t near_header_bytes(const struct near_file* file);
uint64_t near_bytes(const struct near_file* file);

/* Where a value is: in the neighborhood's file by its place, in the canonical one by its number. */
uint64_t near_offset(const struct near_file* file, uint32_t variable, uint64_t place);
uint64_t near_canonical_offset(const struct near_file* file, uint32_t variable, uint64_t number);

/* Write the header with checksums, and make it and what was written before durable. Local. */
void near_write_header(const struct near_file* file, int fd, const char* path);

/* Read the header. A file of another format, one that wasn't completed, and a header that doesn't fit its checksum or
 * the file's length end the app. Local. */
void near_read_header(struct near_file* file, int fd, const char* path);

/* All files must be of one set, and together hold all of it, else the app ends. One rank of each file `leads`.
 * Collective over MPI_COMM_WORLD. */
void near_check_set(const struct near_file* file, bool leads, const char* path);

/* All of it, at an offset; whatever goes wrong ends the app. Local. */
void near_write(int fd, const char* path, const void* bytes, uint64_t count, uint64_t offset);
void near_read(int fd, const char* path, void* bytes, uint64_t count, uint64_t offset);
