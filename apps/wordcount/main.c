/* sill-wordcount: counts the words of folders of text into a hash table that is spread over the ranks of an MPI window,
 * one-sided throughout, and goes on after a kill if the window is on storage. `--help` tells how to use it, table.h how
 * the counts stay exact. */
#include <mpi.h>
#include <sill/sill.h>
#include <stdio.h>

#include "control.h"
#include "dictionary.h"
#include "input.h"
#include "kill.h"
#include "options.h"
#include "result.h"
#include "show.h"
#include "table.h"
#include "util.h"

/* Without Sill there is no such function, and no storage to tell about. */
#pragma weak sill_win_get_stats

/* More private words than this are forgotten after a task; each takes about 60 bytes. */
#define DICTIONARY_WORDS (4u << 20)

struct work {
  const struct options* options;
  struct input input;
  struct table table;
  struct control control;
  struct dictionary dictionary;
  struct run run;
  bool storage_known; /* how much of the table is dirty and synced */
  uint64_t done;      /* tasks in the committed table */
  uint64_t restored_words;
  double begin;         /* MPI_Wtime() */
  double shown, synced; /* times of the last progress, the last sync */
};

static int report_storage(struct work* work) {
  if (!work->table.on_storage) return 0;
  sill_win_stats stats;
  TRY_MPI(sill_win_get_stats(work->table.window, &stats));
  work->storage_known = stats.dirty_bytes != SILL_UNKNOWN && stats.synced_bytes != SILL_UNKNOWN;
  if (!work->storage_known) return 0; /* a kernel before 6.5 */
  struct report report = {stats.dirty_bytes, stats.synced_bytes};
  return control_report(&work->control, &report);
}

/* On rank 0: what there is to show now. */
static int measure(struct work* work, struct progress* progress) {
  struct state state;
  struct report storage;
  if (table_state(&work->table, LIVE, &state) != 0) return -1;
  if (control_reports(&work->control, &storage) != 0) return -1;
  *progress = (struct progress){.bytes = state.bytes,
                                .bytes_total = work->input.bytes,
                                .words = state.words,
                                .syncs = work->table.commits,
                                .dirty = storage.dirty,
                                .synced = storage.synced,
                                .storage_known = work->storage_known,
                                .seconds = MPI_Wtime() - work->begin,
                                .left_s = -1};
  double bytes_here = (double)(state.bytes - work->run.restored_bytes);
  if (progress->seconds > 0) progress->words_per_s = (double)(state.words - work->restored_words) / progress->seconds;
  if (bytes_here > 0) progress->left_s = progress->seconds * (double)(work->input.bytes - state.bytes) / bytes_here;
  return 0;
}

/* Tell rank 0, and on rank 0 the user, how it is; `now` or if it is time to. */
static int tell(struct work* work, bool now) {
  if (!now && MPI_Wtime() - work->shown < show_interval_s()) return 0;
  if (report_storage(work) != 0) return -1;
  work->shown = MPI_Wtime();
  if (work->table.rank != 0) return 0;
  if (measure(work, &work->run.last) != 0) return -1;
  show_progress(&work->run.last);
  return 0;
}

static int do_task(struct work* work, uint64_t task) {
  uint64_t words = 0;
  kill_set_share((double)task / (double)work->input.tasks);
  if (input_read_task(&work->input, task, &work->dictionary, &words) != 0) return -1;
  uint64_t bytes = input_bytes_of(&work->input, task + 1) - input_bytes_of(&work->input, task);
  if (table_add(&work->table, &work->dictionary, words, bytes) != 0) return -1;
  if (work->dictionary.count > DICTIONARY_WORDS) dictionary_free(&work->dictionary);
  return tell(work, false);
}

/* Tasks until it is time for a sync; the first task that is left then. */
static int do_round(struct work* work, uint64_t* first_left) {
  const struct options* options = work->options;
  uint64_t end = work->input.tasks;
  if (options->sync_tasks > 0 && work->done + options->sync_tasks < end) end = work->done + options->sync_tasks;
  if (control_begin(&work->control, work->done, end) != 0) return -1;
  int result = 0;
  for (;;) {
    uint64_t task = 0;
    bool taken = false;
    result = control_take(&work->control, &task, &taken);
    if (result != 0 || !taken) break;
    result = do_task(work, task);
    bool is_time = work->table.rank == 0 && MPI_Wtime() - work->synced >= options->sync_interval_s;
    if (result == 0 && is_time) result = control_stop(&work->control);
    if (result != 0) break;
  }
  /* Whoever failed ends the round for all, so that they learn of it. */
  if (result != 0 && control_stop(&work->control) != 0) give_up();
  if (agree(result) != 0) return -1;
  return control_end(&work->control, first_left);
}

static int count_words(struct work* work) {
  work->begin = work->synced = MPI_Wtime();
  while (work->done < work->input.tasks || work->table.commits == 0) {
    uint64_t first_left = 0;
    if (do_round(work, &first_left) != 0) return -1;
    kill_set_share((double)first_left / (double)work->input.tasks);
    if (table_commit(&work->table, first_left) != 0) return -1;
    work->done = first_left;
    work->synced = MPI_Wtime();
    /* Others first: rank 0 shows what they have told. */
    if (agree(work->table.rank > 0 ? tell(work, true) : 0) != 0) return -1;
    if (agree(work->table.rank == 0 ? tell(work, true) : 0) != 0) return -1;
  }
  return 0;
}

static int show_begin(struct work* work) {
  struct state state = {0};
  if (table_state(&work->table, LIVE, &state) != 0) return -1;
  show_start(work->table.ranks, work->input.files, work->input.bytes, table_bytes(&work->table),
             work->table.on_storage);
  if (work->done > 0) show_restored(work->table.commits, state.bytes, work->input.bytes, state.words);
  work->run.restored_bytes = state.bytes;
  work->run.restored_syncs = work->table.commits;
  work->restored_words = state.words;
  return 0;
}

static int run(struct work* work) {
  const struct options* options = work->options;
  if (input_list(options->inputs, options->input_count, options->task_bytes, &work->input) != 0) return -1;
  if (agree(control_open(&work->control)) != 0) return -1;
  if (table_open(&work->table, options, &work->input, &work->done) != 0) return -1;
  kill_prepare(options, work->table.rank);
  if (agree(work->table.rank == 0 ? show_begin(work) : 0) != 0) return -1;
  if (count_words(work) != 0) return -1;
  show_end_line();
  int result = 0;
  if (work->table.rank == 0) {
    result = measure(work, &work->run.last);
    if (result == 0) result = result_report(&work->table, &work->input, options, &work->run);
  }
  return agree(result);
}

/* Also after a failure: it is the same on all ranks by then. */
static int close_work(struct work* work) {
  int result = table_close(&work->table);
  if (control_close(&work->control) != 0) result = -1;
  dictionary_free(&work->dictionary);
  input_free(&work->input);
  return agree(result);
}

int main(int argc, char** argv) {
  struct options options;
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int parsed = options_parse(argc, argv, rank == 0, &options);
  int result = parsed;
  if (parsed == 0) {
    struct work work = {.options = &options, .table.window = MPI_WIN_NULL, .control.window = MPI_WIN_NULL};
    show_prepare(options.progress, rank == 0);
    result = run(&work);
    if (result != 0) show_end_line();
    if (close_work(&work) != 0) result = -1;
  }
  if (result < 0) print_failure();
  if (MPI_Finalize() != MPI_SUCCESS) result = -1;
  return parsed < 0 ? 2 : result < 0 ? 1 : 0;
}
