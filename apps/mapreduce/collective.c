/* MapReduce-2S, the reference: all ranks go through the job together. In each round every rank maps one of its tasks,
 * which all read collectively and, with --checkpoint, write collectively into one file; when all tasks are mapped, an
 * MPI_Alltoallv brings each word to the rank that reduces it, and a binary tree brings the sorted words to rank 0. What
 * is mapped, how it is written down and reduced is the same as in 1S. */
#include <limits.h>
#include <mpi.h>
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
static char* room_for(struct checkpoint* checkpoint, size_t bytes) {
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
  head_compare(&head, job, head.run, 0);
  checkpoint->run = head.run;
  size_t head_bytes = segment_head(job->ranks);
  for (uint64_t number = 0;; number++) {
    struct segment* segment = (struct segment*)room_for(checkpoint, head_bytes);
    uint64_t room = (uint64_t)size - checkpoint->end;
    if (room < head_bytes) return;
    read_at(checkpoint, checkpoint->end, segment, head_bytes);
    if (segment->bytes < head_bytes || segment->bytes > room || segment->bytes > INT_MAX) return;
    size_t bytes = segment->bytes;
    segment = (struct segment*)room_for(checkpoint, bytes);
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

/* Open the file, if it is wanted, and take up what it holds or begin with nothing. */
static void open_checkpoint(struct checkpoint* checkpoint, struct job* job) {
  const struct options* options = job->options;
  char path[4096];
  path_of(path, sizeof path);
  checkpoint->end = sizeof(struct head);
  if (!options->checkpoint && !options->resume) return;
  int mode = MPI_MODE_RDWR | MPI_MODE_CREATE;
  APP_TRY(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &checkpoint->file));
  if (options->resume) scan(checkpoint, job);
  if (checkpoint->run != 0) return;
  checkpoint->run = new_run();
  APP_TRY(MPI_File_set_size(checkpoint->file, 0));
  struct head head = head_of(job, checkpoint->run, 0);
  if (job->rank == 0) APP_TRY(MPI_File_write_at(checkpoint->file, 0, &head, sizeof head, MPI_BYTE, MPI_STATUS_IGNORE));
  APP_TRY(MPI_File_sync(checkpoint->file));
}

/* Write the segments of a round one behind the other, this rank's at `place`, and make them durable; all ranks' have
 * `all` bytes. */
static void write_checkpoint(struct checkpoint* checkpoint, struct job* job, const char* segment, uint64_t place,
                             size_t bytes, uint64_t all) {
  double start = app_seconds();
  kill_in(KILL_CHECKPOINT);
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
  char path[4096];
  path_of(path, sizeof path);
  APP_TRY(MPI_File_close(&checkpoint->file));
  if (app_rank() == 0 && !app_keep()) APP_TRY(MPI_File_delete(path, MPI_INFO_NULL));
}

/* --- read --- */

struct collective_file {
  MPI_File file;
  bool together; /* the next read is that of all ranks */
};

static bool read_collective(void* argument, uint64_t offset, size_t bytes, char* to, size_t* got, struct text* text) {
  struct collective_file* file = argument;
  MPI_Status status;
  int count = 0;
  if (file->together)
    APP_TRY(MPI_File_read_at_all(file->file, (MPI_Offset)offset, to, (int)bytes, MPI_BYTE, &status));
  else
    APP_TRY(MPI_File_read_at(file->file, (MPI_Offset)offset, to, (int)bytes, MPI_BYTE, &status));
  file->together = false;
  APP_TRY(MPI_Get_count(&status, MPI_BYTE, &count));
  *got = (size_t)count;
  (void)text; /* errors end the job here */
  return true;
}

/* The round's task of a rank. */
static bool task_of(const struct engine* engine, int rank, uint64_t round, uint64_t* task) {
  uint64_t at = engine->deal.begins[rank] + round;
  if (at >= engine->deal.begins[rank + 1]) return false;
  *task = engine->deal.tasks[at];
  return true;
}

/* Whether any rank reads of the file in this round, and whether this one does. */
static bool is_read(const struct engine* engine, uint64_t round, uint64_t file, bool* here) {
  const struct input* input = &engine->job->input;
  uint64_t task = 0, first = 0, last = 0;
  bool any = false;
  *here = false;
  if (input_file_bytes(input, file) == 0) return false;
  for (int rank = 0; rank < engine->job->ranks; rank++) {
    if (!task_of(engine, rank, round, &task)) continue;
    input_files_of(input, task, &first, &last);
    bool reads = file >= first && file <= last;
    any |= reads;
    if (rank == engine->job->rank) *here = reads;
  }
  return any;
}

/* The text of this rank's task. All ranks open and read each file of the round together, but for small ones, which cost
 * more to open than to read. */
static void read_round(struct engine* engine, uint64_t round) {
  struct job* job = engine->job;
  uint64_t task = 0;
  bool here = false;
  task_of(engine, job->rank, round, &task);
  engine->text.count = 0;
  for (uint64_t i = 0; i < job->input.files; i++) {
    if (!is_read(engine, round, i, &here)) continue;
    if (input_file_bytes(&job->input, i) < job->input.task_bytes) {
      if (here) input_read_file(&job->input, task, i, &engine->text);
      if (engine->text.error[0] != '\0') app_fail("%s", engine->text.error);
      continue;
    }
    MPI_File* file = &engine->inputs[i];
    if (*file == MPI_FILE_NULL)
      APP_TRY(MPI_File_open(MPI_COMM_WORLD, job->input.paths[i], MPI_MODE_RDONLY, MPI_INFO_NULL, file));
    struct collective_file argument = {*file, true};
    size_t got = 0;
    if (!here) {
      read_collective(&argument, 0, 0, NULL, &got, &engine->text);
    } else if (!input_read_part(&job->input, task, i, read_collective, &argument, &engine->text)) {
      app_fail("%s", engine->text.error);
    }
    if (job->input.files > 100) APP_TRY(MPI_File_close(file)); /* so many can't stay open */
  }
}

/* --- map --- */

static void between(void* argument) { (void)argument; }

static void do_round(struct engine* engine, uint64_t round, struct progress* progress) {
  struct job* job = engine->job;
  uint64_t task = 0;
  read_round(engine, round);
  size_t bytes = 0;
  if (task_of(engine, job->rank, round, &task)) {
    double start = app_seconds();
    words_map(&job->mapped, engine->text.bytes, engine->text.count, between, NULL);
    job->times.map += app_seconds() - start;
    bytes = segment_measure(&job->mapped, job->ranks);
    if (bytes > INT_MAX) app_fail("the words of a task take %zu bytes: choose a smaller --task-size", bytes);
  }
  uint64_t mine = bytes, before = 0, all = 0;
  char* segment = room_for(&engine->kept, bytes);
  if (job->options->checkpoint) {
    APP_TRY(MPI_Exscan(&mine, &before, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
    APP_TRY(MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
    if (job->rank == 0) before = 0;
  }
  uint64_t place = engine->kept.end + before;
  if (bytes > 0) segment_write(segment, bytes, &job->mapped, job->ranks, task, engine->kept.run, place);
  if (job->options->checkpoint) write_checkpoint(&engine->kept, job, segment, place, bytes, all);
  engine->kept.log_bytes += bytes;
  for (int rank = 0; rank < job->ranks; rank++) {
    if (!task_of(engine, rank, round, &task)) continue;
    progress->bytes += input_task_bytes(&job->input, task);
    progress->tasks++;
    progress->checkpoints += job->options->checkpoint;
  }
}

static void map_all(struct engine* engine) {
  struct job* job = engine->job;
  struct progress progress = job->found;
  uint64_t rounds = 0;
  for (int rank = 0; rank < job->ranks; rank++) {
    uint64_t tasks = engine->deal.begins[rank + 1] - engine->deal.begins[rank];
    if (tasks > rounds) rounds = tasks;
  }
  for (uint64_t round = 0; round < rounds; round++) {
    if ((double)progress.tasks >= job->options->kill_at * (double)job->input.tasks) kill_now_due();
    do_round(engine, round, &progress);
    if (job->rank == 0 && show_due()) show_progress(&progress);
  }
  kill_now_due();
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
  int* counts = grow(NULL, 4 * n * sizeof *counts);
  int *begins = counts + n, *their_counts = counts + 2 * n, *their_begins = counts + 3 * n;
  for (int rank = 0; rank < job->ranks; rank++) counts[rank] = gather(engine, rank, NULL);
  APP_TRY(MPI_Alltoall(counts, 1, MPI_INT, their_counts, 1, MPI_INT, MPI_COMM_WORLD));
  char* mine = grow(NULL, place_parts(counts, begins, job->ranks));
  size_t bytes = place_parts(their_counts, their_begins, job->ranks);
  char* theirs = grow(NULL, bytes);
  for (int rank = 0; rank < job->ranks; rank++) gather(engine, rank, mine + begins[rank]);
  APP_TRY(MPI_Alltoallv(mine, counts, begins, MPI_BYTE, theirs, their_counts, their_begins, MPI_BYTE, MPI_COMM_WORLD));
  kill_in(KILL_REDUCE);
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
    struct list theirs = {grow(NULL, (size_t)bytes), (size_t)bytes};
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
  struct engine engine = {.job = job, .kept.file = MPI_FILE_NULL};
  double start = app_seconds();
  engine.inputs = grow(NULL, job->input.files * sizeof *engine.inputs);
  for (uint64_t i = 0; i < job->input.files; i++) engine.inputs[i] = MPI_FILE_NULL;
  open_checkpoint(&engine.kept, job);
  engine.deal = input_deal(&job->input, job->done, job->ranks, job->skew);
  job->times.open = app_seconds() - start;
  job->found.bytes_total = job->input.bytes;
  if (job->rank == 0) show_start(job->input.files, 0, &job->found);
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
  deal_free(&engine.deal);
  free(engine.inputs);
  free(engine.text.bytes);
}
