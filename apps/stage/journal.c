#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app.h"
#include "checksum.h"
#include "stage.h"

/* The begin of a journal: which copy it is of. */
struct head {
  uint64_t set, ranges, values, chunk, inode;
};

static uint64_t unit_bytes(const struct copy* copy) { return copy->format.variables * sizeof(uint64_t); }

static struct head head_of(const struct copy* copy, uint64_t inode) {
  const struct near_file* format = &copy->format;
  uint64_t ranges = checksum(format->ranges, format->range_count * sizeof *format->ranges);
  uint64_t values = checksum(format->value_bytes, sizeof format->value_bytes);
  return (struct head){format->set, ranges, values, format->chunk, inode};
}

/* By one rank. */
static void begin(const struct copy* copy, bool fresh, const struct head* head) {
  const struct journal* journal = &copy->journal;
  struct head found;
  struct stat status;
  off_t bytes = (off_t)(sizeof *head + near_units(&copy->format) * unit_bytes(copy));
  if (fstat(journal->fd, &status) != 0) app_fail("%s: %s", journal->path, strerror(errno));
  if (!fresh && status.st_size == bytes) {
    near_read(journal->fd, journal->path, &found, sizeof found, 0);
    if (memcmp(&found, head, sizeof found) == 0) return;
  }
  if (ftruncate(journal->fd, 0) != 0 || ftruncate(journal->fd, bytes) != 0)
    app_fail("%s: %s", journal->path, strerror(errno));
  near_write(journal->fd, journal->path, head, sizeof *head, 0);
}

void journal_open(struct copy* copy, bool fresh, uint64_t inode) {
  struct journal* journal = &copy->journal;
  struct head head = head_of(copy, inode);
  if (snprintf(journal->path, sizeof journal->path, "%s.staging", copy->near) >= path_room)
    app_fail("%s: the path is too long", copy->near);
  journal->fd = app_open(journal->path, O_RDWR | O_CREAT);
  if (copy->rank == 0) begin(copy, fresh, &head);
  APP_TRY(MPI_Barrier(copy->comm));
}

static uint64_t offset_of(const struct copy* copy, uint64_t unit) {
  return sizeof(struct head) + unit * unit_bytes(copy);
}

void journal_read(const struct copy* copy, uint64_t first, uint64_t count, uint64_t* checksums) {
  near_read(copy->journal.fd, copy->journal.path, checksums, count * unit_bytes(copy), offset_of(copy, first));
}

void journal_write(const struct copy* copy, uint64_t first, uint64_t count, const uint64_t* checksums) {
  near_write(copy->journal.fd, copy->journal.path, checksums, count * unit_bytes(copy), offset_of(copy, first));
}

void journal_close(struct copy* copy) {
  if (close(copy->journal.fd) != 0) app_fail("%s: %s", copy->journal.path, strerror(errno));
  APP_TRY(MPI_Barrier(copy->comm));
  if (copy->rank == 0 && unlink(copy->journal.path) != 0) app_fail("%s: %s", copy->journal.path, strerror(errno));
}
