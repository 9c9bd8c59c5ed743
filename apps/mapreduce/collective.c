/* MapReduce-2S, the reference: all ranks go through the job together. In each round every rank maps one of its tasks,
 * which all read collectively and, with --checkpoint, write collectively into one file; when all tasks are mapped, an
 * MPI_Alltoallv brings each word to the rank that reduces it, and a binary tree brings the sorted words to rank 0. What
 * is mapped, how it is written down and reduced is the same as in 1S. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "checkpoint.h"
#include "segment.h"

struct engine {
  struct job* job;
  struct deal deal;
  struct text text;
  struct checkpoint kept; /* what this rank's tasks gave */
  MPI_File* inputs;       /* MPI_FILE_NULL where not open */
};

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
    job_map(job, &engine->text, between, NULL);
    bytes = segment_measure(&job->mapped, job->ranks);
    if (bytes > INT_MAX) app_fail("the words of a task take %zu bytes: choose a smaller --task-size", bytes);
  }
  uint64_t mine = bytes, before = 0, all = 0;
  char* segment = checkpoint_room(&engine->kept, bytes);
  if (job->options->checkpoint) {
    APP_TRY(MPI_Exscan(&mine, &before, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
    APP_TRY(MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
    if (job->rank == 0) before = 0;
  }
  uint64_t place = engine->kept.end + before;
  if (bytes > 0) segment_write(segment, bytes, &job->mapped, job->ranks, task, engine->kept.run, place);
  if (job->options->checkpoint) checkpoint_write(&engine->kept, job, segment, place, bytes, all);
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
  checkpoint_open(&engine.kept, job);
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
  checkpoint_close(&engine.kept);
  deal_free(&engine.deal);
  free(engine.inputs);
  free(engine.text.bytes);
}
