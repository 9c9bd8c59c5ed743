#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app.h"
#include "checksum.h"
#include "stage.h"

static const uint64_t batch_bytes = 64 << 20; /* copied between two notes in the journal */
enum { progress_tag = 1 };

/* --- progress: rank 0 shows what all have done --- */

static struct {
  const char* what;
  uint64_t done, all;
} progress;

static void expect(const char* what, uint64_t mine) {
  progress.what = what;
  progress.done = 0;
  APP_TRY(MPI_Allreduce(&mine, &progress.all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
}

static void hear(void) {
  uint64_t bytes = 0;
  APP_TRY(MPI_Recv(&bytes, 1, MPI_UINT64_T, MPI_ANY_SOURCE, progress_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  progress.done += bytes;
}

static void tell(uint64_t bytes) {
  if (app_rank() != 0) {
    if (bytes > 0) APP_TRY(MPI_Send(&bytes, 1, MPI_UINT64_T, 0, progress_tag, MPI_COMM_WORLD));
    return;
  }
  int there = 1;
  progress.done += bytes;
  while (there != 0) {
    APP_TRY(MPI_Iprobe(MPI_ANY_SOURCE, progress_tag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE));
    if (there != 0) hear();
  }
  app_progress(progress.what, progress.done, progress.all, "B");
}

/* Until all ranks are done. */
static void end_progress(void) {
  while (app_rank() == 0 && progress.done < progress.all) {
    hear();
    app_progress(progress.what, progress.done, progress.all, "B");
  }
  app_progress_end();
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
}

/* --- units --- */

/* This rank's units: its part of the neighborhood's, side by side. */
static void own_units(const struct copy* copy, uint64_t* first, uint64_t* end) {
  uint64_t units = near_units(&copy->format), rank = (uint64_t)copy->rank, ranks = (uint64_t)app_ranks_of(copy->comm);
  *first = units * rank / ranks;
  *end = units * (rank + 1) / ranks;
}

static uint64_t unit_bytes(const struct copy* copy, uint64_t index) {
  return near_unit(&copy->format, index).count * near_record_bytes(&copy->format);
}

static uint64_t offset(const struct copy* copy, bool canonical, uint32_t variable, struct near_unit unit) {
  return canonical ? near_canonical_offset(&copy->format, variable, unit.number)
                   : near_offset(&copy->format, variable, unit.place);
}

static _Noreturn void damaged(const char* path, uint32_t variable, struct near_unit unit) {
  app_fail("%s: variable %" PRIu32 " of records %" PRIu64 " to %" PRIu64 " doesn't fit its checksum", path, variable,
           unit.number, unit.number + unit.count - 1);
}

/* Copy one unit, and put its checksums into `checksums`; those of a neighborhood's file must fit. */
static void copy_unit(const struct copy* copy, uint64_t index, char* buffer, uint64_t* checksums) {
  const struct near_file* format = &copy->format;
  struct near_unit unit = near_unit(format, index);
  for (uint32_t v = 0; v < format->variables; v++) {
    uint64_t bytes = unit.count * format->value_bytes[v];
    near_read(copy->source_fd, copy->source, buffer, bytes, offset(copy, !copy->out, v, unit));
    checksums[v] = checksum(buffer, bytes);
    if (copy->out && checksums[v] != format->checksums[index * format->variables + v]) damaged(copy->source, v, unit);
    near_write(copy->target_fd, copy->target, buffer, bytes, offset(copy, copy->out, v, unit));
  }
}

static bool is_done(const uint64_t* checksums, uint32_t variables) {
  for (uint32_t v = 0; v < variables; v++)
    if (checksums[v] != 0) return true;
  return false;
}

/* Room for the longest piece of a unit. */
static char* allocate_piece(const struct near_file* format) {
  uint64_t longest = 0, records = 0;
  for (uint32_t v = 0; v < format->variables; v++)
    if (format->value_bytes[v] > longest) longest = format->value_bytes[v];
  for (uint64_t i = 0; i < format->range_count; i++)
    if (format->ranges[i].count > records) records = format->ranges[i].count;
  return app_allocate((records < format->chunk ? records : format->chunk) * longest);
}

uint64_t copy_units(struct copy* copy) {
  uint32_t variables = copy->format.variables;
  uint64_t first = 0, end = 0, left = 0, copied = 0, units = 0;
  own_units(copy, &first, &end);
  uint64_t* checksums = app_allocate((end - first) * variables * sizeof *checksums);
  journal_read(copy, first, end - first, checksums);
  for (uint64_t i = first; i < end; i++)
    if (!is_done(checksums + (i - first) * variables, variables)) left += unit_bytes(copy, i);
  expect(copy->out ? "stage-out" : "stage-in", left);
  char* buffer = allocate_piece(&copy->format);
  uint64_t noted = first, fresh = 0; /* units in the journal; bytes copied since */
  for (uint64_t i = first; i < end; i++) {
    if (!is_done(checksums + (i - first) * variables, variables)) {
      copy_unit(copy, i, buffer, checksums + (i - first) * variables);
      fresh += unit_bytes(copy, i);
      units++;
    }
    bool stop = copy->stop_after > 0 && units == copy->stop_after;
    if (fresh < batch_bytes && i + 1 < end && !stop) continue;
    if (fresh > 0 && fdatasync(copy->target_fd) != 0) app_fail("%s: %s", copy->target, strerror(errno));
    journal_write(copy, noted, i + 1 - noted, checksums + (noted - first) * variables);
    noted = i + 1;
    copied += fresh;
    tell(fresh);
    fresh = 0;
    if (stop) app_fail("stopped after %" PRIu64 " units, as --test-stop says", units);
  }
  end_progress();
  free(buffer);
  free(checksums);
  return copied;
}

bool copy_right(struct copy* copy) {
  const struct near_file* format = &copy->format;
  uint64_t first = 0, end = 0, mine = 0;
  bool right = true;
  own_units(copy, &first, &end);
  for (uint64_t i = first; i < end; i++) mine += unit_bytes(copy, i);
  expect("check", mine);
  uint64_t* checksums = app_allocate((end - first) * format->variables * sizeof *checksums);
  journal_read(copy, first, end - first, checksums);
  char* buffer = allocate_piece(format);
  posix_fadvise(copy->target_fd, 0, 0, POSIX_FADV_DONTNEED); /* advice: what it says of success is of no use */
  for (uint64_t i = first; i < end; i++) {
    struct near_unit unit = near_unit(format, i);
    for (uint32_t v = 0; v < format->variables; v++) {
      uint64_t bytes = unit.count * format->value_bytes[v];
      near_read(copy->target_fd, copy->target, buffer, bytes, offset(copy, copy->out, v, unit));
      right = right && checksum(buffer, bytes) == checksums[(i - first) * format->variables + v];
    }
    tell(unit_bytes(copy, i));
  }
  end_progress();
  free(buffer);
  free(checksums);
  return right;
}
