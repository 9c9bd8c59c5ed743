#include "near_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app.h"
#include "checksum.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the file's numbers are little-endian, and written as they are");

static const char magic[8] = {'S', 'I', 'L', 'L', 'N', 'E', 'A', '1'};
enum { block = 4096 };
static const uint64_t most_ranges = 1 << 24; /* a header that says more is damaged */

/* The begin of the header; ranges and checksums follow, zeros fill the last block. */
struct head {
  char magic[8];
  uint64_t checksum; /* of the header with 0 in this place */
  uint64_t header_bytes, set, total, records, chunk, range_count;
  uint32_t complete, variables, value_bytes[near_variables];
};

static uint64_t chunks(const struct near_file* file, uint64_t range) {
  return (file->ranges[range].count + file->chunk - 1) / file->chunk;
}

uint64_t near_units(const struct near_file* file) {
  uint64_t units = 0;
  for (uint64_t i = 0; i < file->range_count; i++) units += chunks(file, i);
  return units;
}

struct near_unit near_unit(const struct near_file* file, uint64_t index) {
  uint64_t place = 0, range = 0;
  for (; index >= chunks(file, range); range++) {
    index -= chunks(file, range);
    place += file->ranges[range].count;
  }
  uint64_t before = index * file->chunk, left = file->ranges[range].count - before;
  return (struct near_unit){file->ranges[range].first + before, place + before,
                            left < file->chunk ? left : file->chunk};
}

static size_t checksum_bytes(const struct near_file* file) {
  return near_units(file) * file->variables * sizeof *file->checksums;
}

struct near_range near_even_part(uint64_t total, int part, int parts) {
  uint64_t each = total / (uint64_t)parts, more = total % (uint64_t)parts, number = (uint64_t)part;
  return (struct near_range){number * each + (number < more ? number : more), each + (number < more ? 1 : 0)};
}

void near_lay_out(struct near_file* file) {
  file->records = 0;
  for (uint64_t i = 0; i < file->range_count; i++) file->records += file->ranges[i].count;
  file->checksums = app_allocate_zero(checksum_bytes(file));
}

void near_free(struct near_file* file) {
  free(file->ranges);
  free(file->checksums);
  file->ranges = NULL;
  file->checksums = NULL;
}

static uint64_t bytes_before(const struct near_file* file, uint32_t variable) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < variable; i++) bytes += file->value_bytes[i];
  return bytes;
}

uint64_t near_record_bytes(const struct near_file* file) { return bytes_before(file, file->variables); }

uint64_t near_header_bytes(const struct near_file* file) {
  uint64_t bytes = sizeof(struct head) + file->range_count * sizeof *file->ranges + checksum_bytes(file);
  return (bytes + block - 1) / block * block;
}

uint64_t near_bytes(const struct near_file* file) {
  return near_header_bytes(file) + file->records * near_record_bytes(file);
}

uint64_t near_offset(const struct near_file* file, uint32_t variable, uint64_t place) {
  return near_header_bytes(file) + file->records * bytes_before(file, variable) + place * file->value_bytes[variable];
}

uint64_t near_canonical_offset(const struct near_file* file, uint32_t variable, uint64_t number) {
  return file->total * bytes_before(file, variable) + number * file->value_bytes[variable];
}

/* --- the header --- */

void near_write_header(const struct near_file* file, int fd, const char* path) {
  uint64_t bytes = near_header_bytes(file);
  struct head head = {.header_bytes = bytes,
                      .set = file->set,
                      .total = file->total,
                      .records = file->records,
                      .chunk = file->chunk,
                      .range_count = file->range_count,
                      .complete = file->complete,
                      .variables = file->variables};
  memcpy(head.magic, magic, sizeof magic);
  memcpy(head.value_bytes, file->value_bytes, sizeof head.value_bytes);
  char* header = app_allocate_zero(bytes);
  size_t ranges = file->range_count * sizeof *file->ranges;
  memcpy(header, &head, sizeof head);
  memcpy(header + sizeof head, file->ranges, ranges);
  memcpy(header + sizeof head + ranges, file->checksums, checksum_bytes(file));
  head.checksum = checksum(header, bytes);
  memcpy(header, &head, sizeof head);
  near_write(fd, path, header, bytes, 0);
  free(header);
  if (fsync(fd) != 0) app_fail("%s: %s", path, strerror(errno));
}

/* Whether the numbers can be those of a file of `length` bytes; then nothing that follows from them overflows. */
static bool plausible(const struct head* head, uint64_t length) {
  bool values = head->variables > 0 && head->variables <= near_variables;
  for (uint32_t i = 0; values && i < head->variables; i++)
    values = head->value_bytes[i] > 0 && head->value_bytes[i] <= 1 << 16;
  return values && head->chunk > 0 && head->range_count <= most_ranges && head->header_bytes >= sizeof *head &&
         head->header_bytes <= length && head->records <= length && head->total >= head->records &&
         head->total <= UINT64_C(1) << 50;
}

/* Ranges and checksums behind the head; false if they don't fit it. */
static bool take_rest(struct near_file* file, const struct head* head, const char* rest) {
  file->ranges = app_allocate(head->range_count * sizeof *file->ranges);
  memcpy(file->ranges, rest, head->range_count * sizeof *file->ranges);
  uint64_t records = 0;
  for (uint64_t i = 0; i < head->range_count; i++) {
    const struct near_range* range = &file->ranges[i];
    if (range->first > head->total || range->count > head->total - range->first) return false;
    records += range->count;
    if (records > head->records) return false;
  }
  if (records != head->records || near_header_bytes(file) != head->header_bytes) return false;
  near_lay_out(file);
  memcpy(file->checksums, rest + head->range_count * sizeof *file->ranges, checksum_bytes(file));
  return true;
}

void near_read_header(struct near_file* file, int fd, const char* path) {
  struct head head;
  struct stat status;
  if (fstat(fd, &status) != 0) app_fail("%s: %s", path, strerror(errno));
  uint64_t length = (uint64_t)status.st_size;
  if (length < sizeof head) app_fail("%s: not a neighborhood's file", path);
  near_read(fd, path, &head, sizeof head, 0);
  if (memcmp(head.magic, magic, sizeof magic) != 0) app_fail("%s: not a neighborhood's file", path);
  if (!plausible(&head, length) || head.header_bytes < sizeof head + head.range_count * sizeof *file->ranges)
    app_fail("%s: its header is damaged", path);
  char* header = app_allocate(head.header_bytes);
  near_read(fd, path, header, head.header_bytes, 0);
  memset(header + offsetof(struct head, checksum), 0, sizeof head.checksum);
  bool right = checksum(header, head.header_bytes) == head.checksum;
  *file = (struct near_file){.set = head.set,
                             .total = head.total,
                             .records = head.records,
                             .chunk = head.chunk,
                             .complete = head.complete != 0,
                             .variables = head.variables,
                             .range_count = head.range_count};
  memcpy(file->value_bytes, head.value_bytes, sizeof file->value_bytes);
  if (!right || !take_rest(file, &head, header + sizeof head)) app_fail("%s: its header is damaged", path);
  free(header);
  if (length < near_bytes(file))
    app_fail("%s: has %" PRIu64 " bytes, its header says %" PRIu64, path, length, near_bytes(file));
  if (!file->complete) app_fail("%s: a checkpoint that wasn't completed", path);
}

void near_check_set(const struct near_file* file, bool leads, const char* path) {
  uint64_t set = file->set, mine = leads ? file->records : 0, all = 0;
  APP_TRY(MPI_Bcast(&set, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
  APP_TRY(MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
  if (set != file->set) app_fail("%s: of another checkpoint than rank 0's file", path);
  if (all != file->total)
    app_fail("%s: all files here hold %" PRIu64 " of %" PRIu64 " records; start a rank on every node that has one",
             path, all, file->total);
}

/* --- bytes --- */

void near_write(int fd, const char* path, const void* bytes, uint64_t count, uint64_t offset) {
  for (uint64_t done = 0; done < count;) {
    ssize_t part = pwrite(fd, (const char*)bytes + done, count - done, (off_t)(offset + done));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) app_fail("%s: %s", path, strerror(errno));
    done += (uint64_t)part;
  }
}

void near_read(int fd, const char* path, void* bytes, uint64_t count, uint64_t offset) {
  for (uint64_t done = 0; done < count;) {
    ssize_t part = pread(fd, (char*)bytes + done, count - done, (off_t)(offset + done));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) app_fail("%s: %s", path, strerror(errno));
    if (part == 0) app_fail("%s: ends too early", path);
    done += (uint64_t)part;
  }
}
