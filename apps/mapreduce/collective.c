/* MapReduce-2S, the reference: all ranks go through the job together. In each round every rank maps one of its tasks,
 * which all read collectively and, with --checkpoint, write collectively into one file; when all tasks are mapped, an
 * MPI_Alltoallv brings each word to the rank that reduces it, and a binary tree brings the sorted words to rank 0. What
 * is mapped, how it is written down and reduced is the same as in 1S. */
#include <limits.h>
#include <mpi.h>
#include <sill/sill.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "segment.h"

/* What the tasks gave: in memory, and in one file that all ranks write together: a head, then the segments of all
 * ranks, round by round. */
struct checkpoint {
  char* log; /* this rank's segments */
  size_t log_bytes, log_room;
  char path[4096];
  MPI_File file; /* MPI_FILE_NULL if there is none */
  uint64_t run;
  uint64_t end; /* of the segments in the file */
};

struct engine {
  struct job* job;
  struct deal deal;
  struct text text;
  struct checkpoint kept;
  MPI_File* inputs; /* MPI_FILE_NULL where not open */
};

/* --- checkpoint --- */

/* Room for one more segment. */
static struct segment* room_for(struct checkpoint* checkpoint, size_t bytes) {
  if (checkpoint->log_bytes + bytes > checkpoint->log_room)
    checkpoint->log = app_grow(checkpoint->log, checkpoint->log_room = 2 * checkpoint->log_room + bytes);
  return (struct segment*)(checkpoint->log + checkpoint->log_bytes);
}

/* Open the file, if it is wanted, and begin with nothing. */
static void open_checkpoint(struct checkpoint* checkpoint, const struct job* job) {
  if (!job->options->checkpoint) return;
  checkpoint->run = new_run();
  if (snprintf(checkpoint->path, sizeof checkpoint->path, "%s/mapreduce-2s", app_store()) >=
      (int)sizeof checkpoint->path)
    app_fail("--store: the name is too long");
  int mode = MPI_MODE_RDWR | MPI_MODE_CREATE;
  app_check(MPI_File_open(MPI_COMM_WORLD, checkpoint->path, mode, MPI_INFO_NULL, &checkpoint->file), checkpoint->path);
  MPI_Offset size = 0;
  struct head head = {.run = 0};
  APP_TRY(MPI_File_get_size(checkpoint->file, &size));
  int bytes = size < (MPI_Offset)sizeof head ? (int)size : (int)sizeof head;
  APP_TRY(MPI_File_read_at(checkpoint->file, 0, &head, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  if (!head_may_be(&head)) app_fail("%s holds something else; use another --store", checkpoint->path);
  APP_TRY(MPI_File_set_size(checkpoint->file, 0));
  head = head_of(job, checkpoint->run, 0);
  if (job->rank == 0) APP_TRY(MPI_File_write_at(checkpoint->file, 0, &head, sizeof head, MPI_BYTE, MPI_STATUS_IGNORE));
  APP_TRY(MPI_File_sync(checkpoint->file));
}

/* Write the segments of a round one behind the other, this rank's at `place`, and make them durable; all ranks' have
 * `all` bytes. */
static void write_checkpoint(struct checkpoint* checkpoint, struct job* job, const struct segment* segment,
                             uint64_t place, size_t bytes, uint64_t all) {
  double start = app_seconds();
  APP_TRY(MPI_File_write_at_all(checkpoint->file, (MPI_Offset)place, segment, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  APP_TRY(MPI_File_sync(checkpoint->file));
  checkpoint->end += all;
  job->checkpoints += bytes > 0;
  job->times.checkpoint += app_seconds() - start;
}

/* Close the file, and delete it unless --keep. */
static void close_checkpoint(struct checkpoint* checkpoint) {
  free(checkpoint->log);
  if (checkpoint->file == MPI_FILE_NULL) return;
  APP_TRY(MPI_File_close(&checkpoint->file));
  if (app_rank() == 0 && !app_keep()) APP_TRY(MPI_File_delete(checkpoint->path, MPI_INFO_NULL));
}

/* --- map --- */

/* Whether any rank reads of the file in this round; *mine: what this one does, none if it has no `task`. */
static bool is_read(const struct engine* engine, uint64_t round, uint64_t file, struct part* mine, bool* here) {
  uint64_t task = 0;
  struct part part;
  bool any = false;
  *here = false;
  for (int rank = 0; rank < engine->job->ranks; rank++) {
    if (!deal_task(&engine->deal, rank, round, &task)) continue;
    if (!input_part(&engine->job->input, task, file, &part)) continue;
    any = true;
    if (rank != engine->job->rank) continue;
    *mine = part;
    *here = true;
  }
  return any;
}

static void map(struct job* job, struct text* text) {
  double start = app_seconds();
  words_map(&job->mapped, text->words, text->count, NULL, NULL);
  job->times.map += app_seconds() - start;
}

/* Map this rank's task. All ranks open and read each file of the round together, but for small ones, which cost more
 * to open than to read. */
static void map_round(struct engine* engine, uint64_t round) {
  struct job* job = engine->job;
  struct text* text = &engine->text;
  struct part part;
  bool here = false;
  for (uint64_t i = 0; i < job->input.files; i++) {
    if (!is_read(engine, round, i, &part, &here)) continue;
    if (input_file_bytes(&job->input, i) >= job->input.task_bytes) {
      MPI_File* file = &engine->inputs[i];
      if (*file == MPI_FILE_NULL)
        app_check(MPI_File_open(MPI_COMM_WORLD, job->input.paths[i], MPI_MODE_RDONLY, MPI_INFO_NULL, file),
                  job->input.paths[i]);
      text_read_all(text, *file, &job->input, here ? &part : NULL);
      if (job->input.files > 100) APP_TRY(MPI_File_close(file)); /* so many can't stay open */
    } else if (here) {
      text_start(text, &job->input, &part);
      text_wait(text, &job->input, &part);
    }
    if (here) map(job, text);
  }
}

static void do_round(struct engine* engine, uint64_t round, struct progress* progress) {
  struct job* job = engine->job;
  uint64_t task = 0;
  map_round(engine, round);
  size_t bytes = 0;
  bool mapped = deal_task(&engine->deal, job->rank, round, &task);
  if (mapped) bytes = segment_measure(&job->mapped, job->ranks);
  if (bytes > INT_MAX) app_fail("the words of a task take %zu bytes: choose a smaller --task-size", bytes);
  uint64_t mine = bytes, before = 0, all = 0;
  struct segment* segment = room_for(&engine->kept, bytes);
  if (job->options->checkpoint) {
    APP_TRY(MPI_Exscan(&mine, &before, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
    APP_TRY(MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
    if (job->rank == 0) before = 0;
  }
  uint64_t place = engine->kept.end + before;
  if (mapped) segment_write(segment, bytes, &job->mapped, job->ranks, task, engine->kept.run, place);
  words_clear(&job->mapped);
  if (job->options->checkpoint) write_checkpoint(&engine->kept, job, segment, place, bytes, all);
  engine->kept.log_bytes += bytes;
  for (int rank = 0; rank < job->ranks; rank++) {
    if (!deal_task(&engine->deal, rank, round, &task)) continue;
    progress->bytes += input_task_bytes(&job->input, task);
    progress->tasks++;
    progress->checkpoints += job->options->checkpoint;
  }
}

/* Whether a rank has a task in this round. */
static bool is_round(const struct engine* engine, uint64_t round) {
  uint64_t task = 0;
  bool any = false;
  for (int rank = 0; rank < engine->job->ranks && !any; rank++) any = deal_task(&engine->deal, rank, round, &task);
  return any;
}

static void map_all(struct engine* engine) {
  struct job* job = engine->job;
  struct progress progress = job->found;
  for (uint64_t round = 0; is_round(engine, round); round++) {
    do_round(engine, round, &progress);
    if (job->rank == 0 && show_due()) show_progress(&progress);
  }
}

/* --- reduce --- */

/* All records that a rank reduces, of all segments of the log. Returns their bytes; copies unless `to` is NULL. */
static int gather(const struct engine* engine, int rank, char* to) {
  size_t bytes = 0, from = 0, end = 0;
  for (size_t at = 0; at < engine->kept.log_bytes;) {
    const struct segment* segment = (const struct segment*)(engine->kept.log + at);
    segment_part(segment, engine->job->ranks, rank, &from, &end);
    if (to != NULL) memcpy(to + bytes, engine->kept.log + at + from, end - from);
    bytes += end - from;
    at += segment->bytes;
  }
  if (bytes > INT_MAX) app_fail("2s can't exchange %zu bytes between two ranks: use more ranks", bytes);
  return (int)bytes;
}

/* Where each rank's part begins in a buffer; returns the bytes of all. */
static size_t place_parts(const int* counts, int* begins, int ranks) {
  size_t bytes = 0;
  for (int rank = 0; rank < ranks; rank++) {
    if (bytes > INT_MAX) app_fail("2s can't exchange more than 2 GiB a rank: use more ranks");
    begins[rank] = (int)bytes;
    bytes += (size_t)counts[rank];
  }
  return bytes;
}

static void exchange_and_reduce(struct engine* engine) {
  struct job* job = engine->job;
  size_t n = (size_t)job->ranks;
  int* counts = app_allocate(4 * n * sizeof *counts);
  int *begins = counts + n, *their_counts = counts + 2 * n, *their_begins = counts + 3 * n;
  for (int rank = 0; rank < job->ranks; rank++) counts[rank] = gather(engine, rank, NULL);
  APP_TRY(MPI_Alltoall(counts, 1, MPI_INT, their_counts, 1, MPI_INT, MPI_COMM_WORLD));
  char* mine = app_allocate(place_parts(counts, begins, job->ranks));
  size_t bytes = place_parts(their_counts, their_begins, job->ranks);
  char* theirs = app_allocate(bytes);
  for (int rank = 0; rank < job->ranks; rank++) gather(engine, rank, mine + begins[rank]);
  APP_TRY(MPI_Alltoallv(mine, counts, begins, MPI_BYTE, theirs, their_counts, their_begins, MPI_BYTE, MPI_COMM_WORLD));
  segment_reduce(theirs, bytes, &job->reduced);
  free(counts);
  free(mine);
  free(theirs);
}

static void combine(struct job* job) {
  struct list list = words_sorted(&job->reduced);
  int bit = 1;
  for (; bit < job->ranks && (job->rank & bit) == 0; bit <<= 1) {
    if (job->rank + bit >= job->ranks) continue;
    MPI_Status status;
    int bytes = 0;
    APP_TRY(MPI_Probe(job->rank + bit, 0, MPI_COMM_WORLD, &status));
    APP_TRY(MPI_Get_count(&status, MPI_BYTE, &bytes));
    struct list theirs = {app_allocate((size_t)bytes), (size_t)bytes};
    APP_TRY(MPI_Recv(theirs.data, bytes, MPI_BYTE, job->rank + bit, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    struct list merged = list_merge(&list, &theirs);
    free(list.data);
    free(theirs.data);
    list = merged;
  }
  if (list.bytes > INT_MAX) app_fail("2s can't send %zu bytes of words", list.bytes);
  if (job->rank > 0) APP_TRY(MPI_Send(list.data, (int)list.bytes, MPI_BYTE, job->rank - bit, 0, MPI_COMM_WORLD));
  job->result = list;
}

void run_collective(struct job* job) {
  struct engine engine = {.job = job, .kept = {.file = MPI_FILE_NULL, .end = sizeof(struct head)}};
  double start = app_seconds();
  engine.inputs = app_allocate(job->input.files * sizeof *engine.inputs);
  for (uint64_t i = 0; i < job->input.files; i++) engine.inputs[i] = MPI_FILE_NULL;
  job->found.synced = SILL_UNKNOWN; /* there is no window */
  open_checkpoint(&engine.kept, job);
  engine.deal = input_deal(&job->input, job->done, job->ranks, job->skew);
  job->times.open = app_seconds() - start;
  if (job->rank == 0) show_start(&job->input, &job->found);
  map_all(&engine);
  start = app_seconds();
  exchange_and_reduce(&engine);
  job->times.reduce = app_seconds() - start;
  start = app_seconds();
  combine(job);
  job->times.combine = app_seconds() - start;
  for (uint64_t i = 0; i < job->input.files; i++)
    if (engine.inputs[i] != MPI_FILE_NULL) APP_TRY(MPI_File_close(&engine.inputs[i]));
  job_report(job);
  close_checkpoint(&engine.kept);
  free(engine.deal.tasks);
  free(engine.inputs);
  free(engine.text.bytes);
}
