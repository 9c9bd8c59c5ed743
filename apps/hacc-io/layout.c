#include "layout.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "app.h"
#include "checksum.h"
#include "neighborhood.h"

static void name_file(struct checkpoint_file* file, const char* folder, const char* name) {
  if (snprintf(file->path, sizeof file->path, "%s/%s", folder, name) >= (int)sizeof file->path)
    app_fail("%s: the path is too long", folder);
}

/* --- one file of all ranks --- */

static struct checkpoint_file global_file(const struct layout* layout) {
  struct checkpoint_file file = {.near = false};
  struct near_range* range = app_allocate(sizeof *range);
  *range = near_even_part(layout->particles, app_rank(), app_ranks());
  file.share = (struct share){MPI_COMM_WORLD, 0, layout->particles, range->first, range->count, range, 1};
  name_file(&file, layout->folder, "hacc-io.dat");
  return file;
}

/* --- a file for each neighborhood --- */

static struct checkpoint_file near_file(const struct layout* layout) {
  struct checkpoint_file file = {.near = true};
  char folder[sizeof file.path];
  app_folder(layout->folder, folder, sizeof folder);
  file.share.comm = app_neighborhood(MPI_COMM_WORLD, folder, layout->method);
  if (file.share.comm == MPI_COMM_NULL) app_fail("--near %s: this rank has no such folder", folder);
  name_file(&file, folder, "hacc-io.near");
  return file;
}

static void set_values(struct near_file* format) {
  format->variables = variables;
  for (int i = 0; i < variables; i++) format->value_bytes[i] = (uint32_t)value_bytes(i);
}

/* Where this rank's part of the file begins, and how long the file is. */
static void place(struct checkpoint_file* file) {
  struct share* share = &file->share;
  uint64_t end = 0;
  APP_TRY(MPI_Scan(&share->count, &end, 1, MPI_UINT64_T, MPI_SUM, share->comm));
  share->first = end - share->count;
  share->total = file->format.records;
  share->header = near_header_bytes(&file->format);
}

static uint64_t random_set(void) {
  uint64_t set = 0;
  if (app_rank() == 0 && getrandom(&set, sizeof set, 0) != sizeof set) app_fail("getrandom: %s", strerror(errno));
  APP_TRY(MPI_Bcast(&set, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
  return set;
}

struct checkpoint_file layout_for_checkpoint(const struct layout* layout) {
  if (!layout->near) return global_file(layout);
  struct checkpoint_file file = near_file(layout);
  struct share* share = &file.share;
  struct near_range* own = app_allocate(sizeof *own);
  struct near_range* all = app_allocate((size_t)app_ranks_of(share->comm) * sizeof *all);
  *own = near_even_part(layout->particles, app_rank(), app_ranks());
  APP_TRY(MPI_Allgather(own, 2, MPI_UINT64_T, all, 2, MPI_UINT64_T, share->comm));
  file.format.total = layout->particles;
  file.format.chunk = layout->chunk;
  file.format.range_count = (uint64_t)app_ranks_of(share->comm);
  file.format.ranges = all;
  set_values(&file.format);
  near_lay_out(&file.format);
  share->count = own->count;
  share->ranges = own;
  share->range_count = 1;
  place(&file);
  file.format.set = random_set();
  return file;
}

/* The header of the file, which must be that of as many particles. */
static void read_format(struct checkpoint_file* file, uint64_t particles) {
  struct near_file* format = &file->format;
  int fd = app_open(file->path, O_RDONLY);
  near_read_header(format, fd, file->path);
  close(fd);
  bool same = format->variables == variables;
  for (int i = 0; same && i < variables; i++) same = format->value_bytes[i] == value_bytes(i);
  if (!same) app_fail("%s: not a checkpoint of particles", file->path);
  if (format->total != particles)
    app_fail("%s: a checkpoint of %" PRIu64 " particles, not of %" PRIu64, file->path, format->total, particles);
}

/* Those of the file's ranges that lie in places first.. of the file. */
static void cut_ranges(struct share* share, const struct near_file* format) {
  share->ranges = app_allocate((size_t)(format->range_count + 1) * sizeof *share->ranges);
  uint64_t place = 0, end = share->first + share->count;
  for (uint64_t i = 0; i < format->range_count; place += format->ranges[i].count, i++) {
    uint64_t from = place > share->first ? place : share->first, to = place + format->ranges[i].count;
    if (to > end) to = end;
    if (from >= to) continue;
    share->ranges[share->range_count++] = (struct near_range){format->ranges[i].first + (from - place), to - from};
  }
}

struct checkpoint_file layout_for_restart(const struct layout* layout) {
  if (!layout->near) return global_file(layout);
  struct checkpoint_file file = near_file(layout);
  struct share* share = &file.share;
  struct near_file* format = &file.format;
  int rank = app_rank_in(share->comm);
  read_format(&file, layout->particles);
  near_check_set(format, rank == 0, file.path);
  struct near_range part = near_even_part(format->records, rank, app_ranks_of(share->comm));
  share->count = part.count;
  place(&file);
  cut_ranges(share, format);
  return file;
}

void layout_free(struct checkpoint_file* file) {
  free(file->share.ranges);
  near_free(&file->format);
  if (file->near) APP_TRY(MPI_Comm_free(&file->share.comm));
}

/* --- checkpoints of a neighborhood --- */

/* By the lowest rank. */
static void write_header(struct checkpoint_file* file, bool complete) {
  int fd = app_open(file->path, O_RDWR | O_CREAT);
  file->format.complete = complete;
  near_write_header(&file->format, fd, file->path);
  if (close(fd) != 0) app_fail("%s: %s", file->path, strerror(errno));
}

void layout_begin(struct checkpoint_file* file) {
  if (!file->near) return;
  if (app_rank_in(file->share.comm) == 0) write_header(file, false);
  APP_TRY(MPI_Barrier(file->share.comm));
}

/* Checksums of this rank's particles, as they stand in the file: of a chunk after the other, each variable's. */
static uint64_t* sum_up(const struct checkpoint_file* file, const struct particles* particles, uint64_t* count) {
  uint64_t chunk = file->format.chunk, chunks = (file->share.count + chunk - 1) / chunk;
  uint64_t* sums = app_allocate(chunks * variables * sizeof *sums);
  *count = 0;
  for (uint64_t done = 0; done < file->share.count; done += chunk) {
    uint64_t left = file->share.count - done, values = left < chunk ? left : chunk;
    for (int i = 0; i < variables; i++) {
      const char* first = (const char*)particles->values[i] + done * value_bytes(i);
      sums[(*count)++] = checksum(first, values * value_bytes(i));
    }
  }
  return sums;
}

void layout_commit(struct checkpoint_file* file, const struct particles* particles) {
  if (!file->near) return;
  MPI_Comm comm = file->share.comm;
  int rank = app_rank_in(comm), ranks = app_ranks_of(comm);
  uint64_t count = 0;
  uint64_t* sums = sum_up(file, particles, &count);
  int* counts = app_allocate((size_t)ranks * 2 * sizeof *counts);
  int mine = (int)count, before = 0;
  APP_TRY(MPI_Gather(&mine, 1, MPI_INT, counts, 1, MPI_INT, 0, comm));
  for (int i = 0; rank == 0 && i < ranks; before += counts[i++]) counts[ranks + i] = before;
  APP_TRY(MPI_Gatherv(sums, mine, MPI_UINT64_T, file->format.checksums, counts, counts + ranks, MPI_UINT64_T, 0, comm));
  if (rank == 0) write_header(file, true);
  APP_TRY(MPI_Barrier(comm));
  file->format.set++; /* that of the next checkpoint */
  free(counts);
  free(sums);
}
