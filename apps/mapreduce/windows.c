#include "windows.h"

#include <inttypes.h>
#include <sill/sill.h>
#include <stdio.h>
#include <string.h>

#include "app.h"

/* Without Sill there are no such functions, and no window is on storage. */
#pragma weak sill_win_get_restored
#pragma weak sill_win_get_stats

struct head* log_of(const struct windows* windows) {
  return (struct head*)windows->log.base;
}
struct result* result_of(const struct windows* windows) {
  return (struct result*)windows->result.base;
}

/* --- open and close --- */

static void allocate(struct window* window, uint64_t bytes, MPI_Info info) {
  window->bytes = (bytes + 63) / 64 * 64; /* MPICH 4.0 puts segments end to end, and misplaces what isn't aligned */
  APP_TRY(MPI_Win_allocate((MPI_Aint)window->bytes, 1, info, MPI_COMM_WORLD, &window->base, &window->win));
  APP_TRY(MPI_Info_free(&info));
  APP_TRY(MPI_Win_set_errhandler(window->win, MPI_ERRORS_RETURN));
}

static void open_status(struct window* window) {
  MPI_Info info = MPI_INFO_NULL;
  APP_TRY(MPI_Info_create(&info));
  APP_TRY(MPI_Info_set(info, SILL_ALLOC_TYPE, "memory"));
  allocate(window, sizeof(struct status), info);
  memset(window->base, 0, sizeof(struct status));
}

/* Room for what tasks give, or for sorted words. On storage it is what they take at most, for what isn't used is a hole
 * in the file; memory may be taken at once. */
static uint64_t choose_room(const struct job* job, MPI_Info info) {
  static const uint64_t in_memory = 64 << 20;
  int length = 0, given = 0;
  uint64_t most = 3 * job->input.bytes; /* a word of one letter, with two numbers */
  most += job->input.tasks * (segment_head(job->ranks) + 8);
  if (!app_window_lasts()) return most < in_memory ? most : in_memory;
  APP_TRY(MPI_Info_get_valuelen(info, SILL_ALLOC_RESERVE, &length, &given));
  if (!given) APP_TRY(MPI_Info_set(info, SILL_ALLOC_RESERVE, "sparse"));
  return most;
}

/* `bytes`: 0 to choose. */
static void open_window(struct window* window, const char* name, uint64_t bytes, const struct job* job) {
  MPI_Info info = app_window_info(name);
  /* A checkpoint adds some 100 KiB, and would write out a large page again with each. */
  APP_TRY(MPI_Info_set(info, SILL_ALLOC_LARGE_PAGES, "false"));
  if (bytes == 0) bytes = choose_room(job, info);
  allocate(window, bytes + sizeof(struct result), info); /* a log has a smaller head */
  int restored = 0;
  if (sill_win_get_restored != NULL) APP_TRY(sill_win_get_restored(window->win, &restored));
  if (!restored) memset(window->base, 0, sizeof(struct head)); /* memory may hold anything */
  if (!head_may_be((struct head*)window->base))
    app_fail("the file of window %s of rank %d holds something else; use another --store", name, app_rank());
}

static void look_at_storage(struct windows* windows, const struct job* job) {
  sill_win_stats stats = {.size = sizeof stats};
  if (sill_win_get_stats != NULL) APP_TRY(sill_win_get_stats(windows->log.win, &stats));
  if (stats.storage_bytes == 0) windows->live.progress.synced = SILL_UNKNOWN;
  if (job->options->checkpoint && (stats.storage_bytes == 0 || stats.memory_bytes > 0))
    app_fail("--checkpoint needs windows wholly on storage: say --window storage");
}

/* --- begin with nothing --- */

static void sync_window(const struct window* window) {
  APP_TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, app_rank(), 0, window->win));
  APP_TRY(MPI_Win_sync(window->win));
  APP_TRY(MPI_Win_unlock(app_rank(), window->win));
}

static void write_heads(struct windows* windows, const struct job* job) {
  *log_of(windows) = head_of(job, windows->run, job->rank);
  memset(result_of(windows), 0, sizeof(struct result));
  result_of(windows)->head = *log_of(windows);
  sync_window(&windows->log); /* the result's becomes durable with what comes behind it */
}

/* The head of rank 0 goes first and comes last: as long as it isn't there, nothing of a run is. */
static void begin_anew(struct windows* windows, const struct job* job) {
  windows->run = new_run();
  windows->live.used = sizeof(struct head);
  if (job->rank == 0 && log_of(windows)->run != 0) {
    log_of(windows)->run = 0;
    sync_window(&windows->log);
  }
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  if (job->rank != 0) write_heads(windows, job);
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  if (job->rank == 0) write_heads(windows, job);
}

/* Files that are to go do so one by one: nobody shall find some of them and take them for damaged. */
void windows_close(struct windows* windows) {
  APP_TRY(MPI_Win_unlock_all(windows->status.win));
  if (app_rank() == 0 && !app_keep()) {
    log_of(windows)->run = 0;
    sync_window(&windows->log);
  }
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  APP_TRY(MPI_Win_free(&windows->result.win));
  APP_TRY(MPI_Win_free(&windows->log.win));
  APP_TRY(MPI_Win_free(&windows->status.win));
}

/* --- go on --- */

/* Find the whole segments of the log. There are at least as many as its head says, which is told of them later. */
static void scan_log(struct windows* windows, struct job* job) {
  struct live* live = &windows->live;
  for (live->used = sizeof(struct head);;) {
    const struct segment* segment = (const struct segment*)(windows->log.base + live->used);
    if (!segment_valid(segment, windows->log.bytes - live->used, job->ranks, windows->run, live->used)) break;
    if (segment->task >= job->input.tasks) break;
    job->done[segment->task] = true;
    live->used += segment->bytes;
    live->progress.checkpoints++;
    segment_account(segment, &job->input, &live->progress);
  }
  if (live->used < log_of(windows)->used)
    app_fail("the log of rank %d is damaged: begin anew without --resume", job->rank);
  log_of(windows)->used = live->used;
}

static bool result_valid(const struct windows* windows, uint64_t run) {
  const struct result* result = result_of(windows);
  return head_valid(&result->head) && result->head.run == run && result->level <= COMBINED &&
         result->bytes <= windows->result.bytes - sizeof *result &&
         result->sum == hash_bytes(run, result->data, result->bytes);
}

static void go_on(struct windows* windows, struct job* job) {
  head_compare(log_of(windows), job, windows->run, job->rank);
  scan_log(windows, job);
  struct result* result = result_of(windows);
  if (!result_valid(windows, windows->run)) { /* killed while it was written: the reduce is done again */
    memset(result, 0, sizeof *result);
    result->head = head_of(job, windows->run, job->rank);
  }
  windows->live.level = result->level;
  sync_window(&windows->log); /* what was found may so far be in the page cache alone */
  sync_window(&windows->result);
}

void windows_open(struct windows* windows, struct job* job) {
  *windows = (struct windows){0};
  open_status(&windows->status);
  open_window(&windows->log, "mapreduce-log", job->options->log_bytes, job);
  open_window(&windows->result, "mapreduce-result", job->options->result_bytes, job);
  app_backing(windows->log.base);
  look_at_storage(windows, job);
  if (job->options->resume && head_valid(log_of(windows))) windows->run = log_of(windows)->run;
  APP_TRY(MPI_Bcast(&windows->run, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
  if (windows->run != 0) {
    go_on(windows, job);
  } else {
    begin_anew(windows, job);
  }
  ((struct status*)windows->status.base)->live = windows->live;
  APP_TRY(MPI_Allreduce(MPI_IN_PLACE, job->done, (int)job->input.tasks, MPI_C_BOOL, MPI_LOR, MPI_COMM_WORLD));
  APP_TRY(MPI_Allreduce(&windows->live.progress, &job->found, sizeof job->found / sizeof(uint64_t), MPI_UINT64_T,
                        MPI_SUM, MPI_COMM_WORLD));
  APP_TRY(MPI_Win_lock_all(MPI_MODE_NOCHECK, windows->status.win));
}

/* --- status --- */

/* What this rank's storage is like, if the system can tell and it wasn't looked at a moment ago. */
static void look_again(struct windows* windows) {
  struct progress* progress = &windows->live.progress;
  if (progress->synced == SILL_UNKNOWN || app_seconds() - windows->looked < 0.1) return;
  windows->looked = app_seconds();
  struct progress now = {0};
  MPI_Win all[] = {windows->log.win, windows->result.win};
  for (size_t i = 0; i < 2; i++) {
    sill_win_stats stats = {.size = sizeof stats};
    APP_TRY(sill_win_get_stats(all[i], &stats));
    progress_add(&now, &(struct progress){.dirty = stats.dirty_bytes, .synced = stats.synced_bytes});
  }
  progress->dirty = now.dirty;
  progress->synced = now.synced;
}

void windows_tell(struct windows* windows) {
  MPI_Win win = windows->status.win;
  look_again(windows);
  APP_TRY(MPI_Accumulate(&windows->live, live_fields, MPI_UINT64_T, app_rank(), offsetof(struct status, live),
                         live_fields, MPI_UINT64_T, MPI_REPLACE, win));
  APP_TRY(MPI_Win_flush(app_rank(), win));
}

struct live windows_ask(struct windows* windows, int rank) {
  MPI_Win win = windows->status.win;
  struct live live;
  APP_TRY(MPI_Get_accumulate(NULL, 0, MPI_UINT64_T, &live, live_fields, MPI_UINT64_T, rank,
                             offsetof(struct status, live), live_fields, MPI_UINT64_T, MPI_NO_OP, win));
  APP_TRY(MPI_Win_flush(rank, win));
  return live;
}

uint64_t windows_take(struct windows* windows, int rank) {
  static const uint64_t one = 1;
  uint64_t before = 0;
  APP_TRY(
      MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, rank, offsetof(struct status, next), MPI_SUM, windows->status.win));
  APP_TRY(MPI_Win_flush(rank, windows->status.win));
  return before;
}
