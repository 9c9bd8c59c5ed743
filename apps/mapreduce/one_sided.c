/* MapReduce-1S. A rank takes a task, maps it, appends what it gave to its own log, syncs that, and tells; it reduces
 * the words that are its own from everybody's logs as they come; when all tasks are reduced it sorts its words, and a
 * parent in a binary tree fetches those of its children. No rank waits for a phase of the others, and none waits at a
 * checkpoint but for its own storage.
 *
 * Skewed input. The method as published assigns tasks for good, and gains by phases that don't wait for each other.
 * Then the rank with the long files still maps for as long as in 2S, which is most of the time of a word count.
 * One-sided operations can do more at no cost: a rank that has no task left takes those of the next rank, by a
 * fetch-and-add on that rank's status. That is what makes 1S faster than 2S on skewed input; --fixed leaves it out, for
 * comparison. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app.h"
#include "windows.h"

struct engine {
  struct job* job;
  struct windows windows;
  struct deal deal;
  int victim;         /* whose tasks are taken now, counted from this rank on */
  uint64_t* consumed; /* of each rank's log, bytes that are reduced */
  uint64_t reduced;   /* tasks that are reduced */
  char* buffer;       /* what is fetched of a log */
  size_t buffer_bytes;
};

/* --- what all ranks are up to --- */

static struct progress ask_all(struct engine* engine) {
  struct progress sum = {0};
  for (int rank = 0; rank < engine->job->ranks; rank++) {
    struct live live = windows_ask(&engine->windows, rank);
    progress_add(&sum, &live.progress);
  }
  return sum;
}

/* In the middle of long work: progress for MPI libraries whose targets have to take part, and for the user. */
static void between(void* argument) {
  struct engine* engine = argument;
  int flag = 0;
  APP_TRY(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  if (engine->job->rank != 0 || !show_due()) return;
  struct progress progress = ask_all(engine);
  show_progress(&progress);
}

/* Nothing to do but to wait for another rank: leave the processor to it. */
static void wait_a_little(struct engine* engine) {
  static const struct timespec pause = {0, 200000};
  between(engine);
  nanosleep(&pause, NULL); /* too short a pause does no harm */
}

/* --- map --- */

/* The begin of the next task of this rank's, or of the next rank's that has some left. */
static bool take(struct engine* engine, struct part* part) {
  const struct job* job = engine->job;
  int victims = job->options->fixed ? 1 : job->ranks;
  for (uint64_t task = 0; engine->victim < victims; engine->victim++) {
    int owner = (job->rank + engine->victim) % job->ranks;
    if (!deal_task(&engine->deal, owner, windows_take(&engine->windows, owner), &task)) continue;
    *part = input_first_part(&job->input, task);
    engine->job->taken += engine->victim > 0;
    return true;
  }
  return false;
}

static void prepare_kill(struct engine* engine) {
  if (!kill_armed()) return;
  struct progress progress = ask_all(engine);
  if ((double)progress.tasks >= engine->job->options->kill_at * (double)engine->job->input.tasks) kill_now_due();
}

/* Make durable what was put into the own window. */
static void checkpoint(struct engine* engine, const struct window* window) {
  double start = app_seconds();
  APP_TRY(MPI_Win_sync(window->win));
  engine->job->times.checkpoint += app_seconds() - start;
  engine->job->checkpoints++;
}

/* Append the words of a task to the log, make it durable, tell. */
static void publish(struct engine* engine, uint64_t task) {
  struct job* job = engine->job;
  struct live* live = &engine->windows.live;
  struct window* log = &engine->windows.log;
  struct segment* segment = (struct segment*)(log->base + live->used);
  size_t bytes = segment_measure(&job->mapped, job->ranks);
  if (bytes > log->bytes - live->used)
    app_fail(
        "rank %d has no room for more words in its log: choose a larger --log than %llu; --resume keeps what is "
        "there",
        job->rank, (unsigned long long)log->bytes);
  prepare_kill(engine);
  double start = app_seconds();
  APP_TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, job->rank, 0, log->win));
  segment_write(segment, bytes, &job->mapped, job->ranks, task, engine->windows.run, live->used);
  job->times.map += app_seconds() - start;
  if (job->options->checkpoint) {
    kill_in(KILL_CHECKPOINT);
    checkpoint(engine, log);
    live->progress.checkpoints++;
  }
  live->used += bytes;
  log_of(&engine->windows)->used = live->used;
  APP_TRY(MPI_Win_unlock(job->rank, log->win));
  segment_account(segment, &job->input, &live->progress);
  windows_tell(&engine->windows);
}

/* --- reduce --- */

static void* buffer(struct engine* engine, size_t bytes) {
  if (bytes > engine->buffer_bytes) engine->buffer = app_grow(engine->buffer, engine->buffer_bytes = bytes + bytes / 2);
  return engine->buffer;
}

static void get(void* to, size_t bytes, int rank, uint64_t at, MPI_Win win) {
  for (size_t done = 0; done < bytes;) {
    size_t part = bytes - done < 1 << 30 ? bytes - done : 1 << 30;
    APP_TRY(MPI_Get((char*)to + done, (int)part, MPI_BYTE, rank, (MPI_Aint)(at + done), (int)part, MPI_BYTE, win));
    done += part;
  }
  APP_TRY(MPI_Win_flush(rank, win));
}

/* Reduce the segments that a rank has told of since. */
static bool reduce_from(struct engine* engine, int rank) {
  struct job* job = engine->job;
  MPI_Win win = engine->windows.log.win;
  uint64_t used = windows_ask(&engine->windows, rank).used;
  bool any = engine->consumed[rank] < used;
  size_t head_bytes = segment_head(job->ranks), from, to;
  if (any) APP_TRY(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
  while (engine->consumed[rank] < used) {
    struct segment* head = buffer(engine, head_bytes);
    get(head, head_bytes, rank, engine->consumed[rank], win);
    uint64_t bytes = head->bytes;
    segment_part(head, job->ranks, job->rank, &from, &to);
    char* records = buffer(engine, to - from);
    get(records, to - from, rank, engine->consumed[rank] + from, win);
    segment_reduce(records, to - from, &job->reduced);
    engine->consumed[rank] += bytes;
    engine->reduced++;
  }
  if (any) APP_TRY(MPI_Win_unlock(rank, win));
  return any;
}

/* From all ranks, what there is. False if there was nothing. */
static bool reduce(struct engine* engine) {
  if (engine->windows.live.level != NOTHING) return false; /* done in a run before */
  double start = app_seconds();
  bool any = false;
  for (int i = 0; i < engine->job->ranks; i++) any |= reduce_from(engine, (engine->job->rank + i) % engine->job->ranks);
  engine->job->times.reduce += app_seconds() - start;
  return any;
}

/* A rank reduces as soon as it finds no task, what the others have told by then and go on to tell: the phases overlap,
 * and nobody who still maps is asked for a lock more often than needed. */
static void map_and_reduce(struct engine* engine) {
  struct job* job = engine->job;
  struct text texts[2] = {0};
  struct part part, next = {0};
  bool more = take(engine, &next);
  if (more) text_start(&texts[0], &job->input, &next);
  for (int now = 0; more; now = 1 - now) {
    part = next;
    bool last = !input_next_part(&job->input, &next);
    more = !last || take(engine, &next);
    if (more) text_start(&texts[1 - now], &job->input, &next); /* read while this one is mapped */
    text_wait(&texts[now], &job->input, &part);
    double start = app_seconds();
    words_map(&job->mapped, texts[now].words, texts[now].count, between, engine);
    job->times.map += app_seconds() - start;
    if (last) {
      publish(engine, part.task);
      words_clear(&job->mapped);
    }
    between(engine);
  }
  free(texts[0].bytes);
  free(texts[1].bytes);
  while (engine->windows.live.level == NOTHING && engine->reduced < job->input.tasks)
    if (!reduce(engine)) wait_a_little(engine);
}

/* --- combine --- */

/* Put the list into the own result, make it durable, tell. */
static void write_result(struct engine* engine, const struct list* list, enum level level) {
  struct job* job = engine->job;
  struct window* window = &engine->windows.result;
  struct result* result = result_of(&engine->windows);
  if (list->bytes > window->bytes - sizeof *result)
    app_fail("rank %d has no room for %zu bytes of words in its result: choose a larger --result", job->rank,
             list->bytes);
  prepare_kill(engine);
  APP_TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, job->rank, 0, window->win));
  *(volatile uint64_t*)&result->level = NOTHING; /* until it is whole again */
  memcpy(result->data, list->data, list->bytes / 2);
  kill_in(KILL_REDUCE);
  memcpy(result->data + list->bytes / 2, list->data + list->bytes / 2, list->bytes - list->bytes / 2);
  result->bytes = list->bytes;
  result->sum = hash_bytes(engine->windows.run, result->data, result->bytes);
  *(volatile uint64_t*)&result->level = level;
  if (job->options->checkpoint) checkpoint(engine, window);
  APP_TRY(MPI_Win_unlock(job->rank, window->win));
  engine->windows.live.level = level;
  windows_tell(&engine->windows);
}

/* Fetch what a child has, once it is there, and merge it. */
static void merge_from(struct engine* engine, int child, struct list* list) {
  MPI_Win win = engine->windows.result.win;
  while (windows_ask(&engine->windows, child).level != COMBINED) wait_a_little(engine);
  struct result head;
  APP_TRY(MPI_Win_lock(MPI_LOCK_SHARED, child, 0, win));
  get(&head, sizeof head, child, 0, win);
  struct list theirs = {buffer(engine, head.bytes), head.bytes};
  get(theirs.data, theirs.bytes, child, offsetof(struct result, data), win);
  APP_TRY(MPI_Win_unlock(child, win));
  struct list merged = list_merge(list, &theirs);
  free(list->data);
  *list = merged;
}

static void combine(struct engine* engine) {
  const struct job* job = engine->job;
  const struct result* result = result_of(&engine->windows);
  bool parent = job->rank % 2 == 0 && job->rank + 1 < job->ranks;
  struct list list = {NULL, 0};
  if (engine->windows.live.level == NOTHING) {
    list = words_sorted(&job->reduced);
    write_result(engine, &list, parent ? REDUCED : COMBINED);
  } else {
    list = (struct list){app_allocate(result->bytes), result->bytes};
    memcpy(list.data, result->data, result->bytes);
  }
  if (engine->windows.live.level == REDUCED) {
    for (int bit = 1; bit < job->ranks && (job->rank & bit) == 0; bit <<= 1)
      if (job->rank + bit < job->ranks) merge_from(engine, job->rank + bit, &list);
    write_result(engine, &list, COMBINED);
  }
  engine->job->result = list;
}

void run_one_sided(struct job* job) {
  struct engine engine = {.job = job};
  double start = app_seconds();
  windows_open(&engine.windows, job);
  engine.deal = input_deal(&job->input, job->done, job->ranks, job->skew);
  engine.consumed = app_allocate((size_t)job->ranks * sizeof *engine.consumed);
  for (int rank = 0; rank < job->ranks; rank++) engine.consumed[rank] = sizeof(struct head);
  job->times.open = app_seconds() - start;
  if (job->rank == 0) show_start(&job->input, &job->found);
  map_and_reduce(&engine);
  start = app_seconds();
  combine(&engine);
  job->times.combine = app_seconds() - start;
  if (job->rank == 0) {
    struct progress progress = ask_all(&engine);
    show_progress(&progress);
  }
  free(engine.consumed);
  free(engine.buffer);
  free(engine.deal.tasks);
  job_report(job);
  windows_close(&engine.windows);
}
