#include "checkpoint.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "segment.h"

/* The checkpoint's file: this, then the segments of all ranks, round by round. */
struct head {
  char magic[8];
  uint64_t run, ranks, task_bytes, identity;
  uint64_t sum; /* over the above */
};
static const char magic[8] = "sillmr2s";

static struct head head_of(const struct checkpoint* checkpoint, const struct job* job) {
  const struct input* input = &job->input;
  struct head head = {.run = checkpoint->run,
                      .ranks = (uint64_t)job->ranks,
                      .task_bytes = input->task_bytes,
                      .identity = input->identity};
  memcpy(head.magic, magic, sizeof magic);
  head.sum = hash_bytes(0, &head, offsetof(struct head, sum));
  return head;
}

char* checkpoint_room(struct checkpoint* checkpoint, size_t bytes) {
  if (checkpoint->log_bytes + bytes > checkpoint->log_room)
    checkpoint->log = grow(checkpoint->log, checkpoint->log_room = 2 * checkpoint->log_room + bytes);
  return checkpoint->log + checkpoint->log_bytes;
}

static void read_at(struct checkpoint* checkpoint, uint64_t at, void* to, size_t bytes) {
  MPI_Status status;
  int count = 0;
  APP_TRY(MPI_File_read_at(checkpoint->file, (MPI_Offset)at, to, (int)bytes, MPI_BYTE, &status));
  APP_TRY(MPI_Get_count(&status, MPI_BYTE, &count));
  if ((size_t)count != bytes) app_fail("the checkpoint ends at byte %llu", (unsigned long long)at + (uint64_t)count);
}

/* Find the whole segments; this rank keeps every so many-th. All ranks look at all, and so find the same. */
static void scan(struct checkpoint* checkpoint, struct job* job) {
  MPI_Offset size = 0;
  APP_TRY(MPI_File_get_size(checkpoint->file, &size));
  struct head head;
  if ((uint64_t)size < sizeof head) return;
  read_at(checkpoint, 0, &head, sizeof head);
  checkpoint->run = head.run;
  struct head wanted = head_of(checkpoint, job);
  if (memcmp(&head, &wanted, sizeof head) != 0)
    app_fail(
        "the checkpoint is damaged, or of another input, --task-size or number of ranks: begin anew without "
        "--resume");
  size_t head_bytes = segment_head(job->ranks);
  for (uint64_t number = 0;; number++) {
    struct segment* segment = (struct segment*)checkpoint_room(checkpoint, head_bytes);
    uint64_t room = (uint64_t)size - checkpoint->end;
    if (room < head_bytes) return;
    read_at(checkpoint, checkpoint->end, segment, head_bytes);
    if (segment->bytes < head_bytes || segment->bytes > room || segment->bytes > INT_MAX) return;
    size_t bytes = segment->bytes;
    segment = (struct segment*)checkpoint_room(checkpoint, bytes);
    read_at(checkpoint, checkpoint->end, segment, bytes);
    if (!segment_valid((char*)segment, bytes, job->ranks, checkpoint->run, checkpoint->end)) return;
    if (segment->task >= job->input.tasks) return;
    checkpoint->end += bytes;
    job->done[segment->task] = true;
    job->found.tasks++;
    job->found.checkpoints++;
    job->found.words += segment->words;
    job->found.bytes += input_task_bytes(&job->input, segment->task);
    if (number % (uint64_t)job->ranks == (uint64_t)job->rank) checkpoint->log_bytes += bytes;
  }
}

static void path_of(char* path, size_t room) {
  if (snprintf(path, room, "%s/mapreduce-2s", app_store()) >= (int)room) app_fail("--store: the name is too long");
}

void checkpoint_open(struct checkpoint* checkpoint, struct job* job) {
  const struct options* options = job->options;
  char path[4096];
  path_of(path, sizeof path);
  checkpoint->end = sizeof(struct head);
  if (!options->checkpoint && !options->resume) return;
  int mode = MPI_MODE_RDWR | MPI_MODE_CREATE;
  APP_TRY(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &checkpoint->file));
  if (options->resume) scan(checkpoint, job);
  if (checkpoint->run != 0) return;
  checkpoint->run = job_run_number();
  APP_TRY(MPI_File_set_size(checkpoint->file, 0));
  struct head head = head_of(checkpoint, job);
  if (job->rank == 0) APP_TRY(MPI_File_write_at(checkpoint->file, 0, &head, sizeof head, MPI_BYTE, MPI_STATUS_IGNORE));
  APP_TRY(MPI_File_sync(checkpoint->file));
}

void checkpoint_write(struct checkpoint* checkpoint, struct job* job, const char* segment, uint64_t place, size_t bytes,
                      uint64_t all) {
  double start = app_seconds();
  kill_in(KILL_CHECKPOINT);
  APP_TRY(MPI_File_write_at_all(checkpoint->file, (MPI_Offset)place, segment, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  APP_TRY(MPI_File_sync(checkpoint->file));
  checkpoint->end += all;
  job->checkpoints += bytes > 0;
  job->times.checkpoint += app_seconds() - start;
}

void checkpoint_close(struct checkpoint* checkpoint) {
  free(checkpoint->log);
  if (checkpoint->file == MPI_FILE_NULL) return;
  char path[4096];
  path_of(path, sizeof path);
  APP_TRY(MPI_File_close(&checkpoint->file));
  if (app_rank() == 0 && !app_keep()) APP_TRY(MPI_File_delete(path, MPI_INFO_NULL));
}
