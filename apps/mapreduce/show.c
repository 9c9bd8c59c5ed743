#include "show.h"

#include <inttypes.h>
#include <signal.h>
#include <sill/sill.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app.h"

static const double interval_s = 0.1; /* between two signs of progress */

static struct {
  bool events;
  double begin, shown;
  uint64_t bytes; /* of input */
  struct progress restored;
} show;

void progress_add(struct progress* sum, const struct progress* more) {
  bool known = sum->synced != SILL_UNKNOWN && more->synced != SILL_UNKNOWN;
  sum->bytes += more->bytes;
  sum->tasks += more->tasks;
  sum->words += more->words;
  sum->checkpoints += more->checkpoints;
  sum->dirty += more->dirty;
  sum->synced = known ? sum->synced + more->synced : SILL_UNKNOWN;
}

void show_prepare(bool events) { show.events = events; }

void show_start(const struct input* input, const struct progress* restored) {
  show.begin = app_seconds();
  show.bytes = input->bytes;
  show.restored = *restored;
  if (!show.events) return;
  printf("{\"event\": \"start\", \"ranks\": %d, \"files\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n", app_ranks(),
         input->files, input->bytes);
  if (restored->checkpoints > 0)
    printf("{\"event\": \"restored\", \"checkpoints\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"bytes_total\": %" PRIu64
           ", \"words\": %" PRIu64 "}\n",
           restored->checkpoints, restored->bytes, input->bytes, restored->words);
  fflush(stdout);
}

bool show_due(void) { return app_seconds() - show.shown >= interval_s; }

void show_progress(const struct progress* progress) {
  show.shown = app_seconds();
  if (!show.events) {
    app_progress("map", progress->bytes, show.bytes, "B");
    return;
  }
  double seconds = show.shown - show.begin;
  double words_per_s = seconds > 0 ? (double)(progress->words - show.restored.words) / seconds : 0;
  double here = (double)(progress->bytes - show.restored.bytes);
  double left_s = here > 0 ? seconds * (double)(show.bytes - progress->bytes) / here : -1;
  printf("{\"event\": \"progress\", \"bytes\": %" PRIu64 ", \"bytes_total\": %" PRIu64 ", \"words\": %" PRIu64
         ", \"words_per_s\": %.0f, \"seconds\": %.3f, \"left_s\": %.1f, \"checkpoints\": %" PRIu64,
         progress->bytes, show.bytes, progress->words, words_per_s, seconds, left_s, progress->checkpoints);
  if (progress->synced != SILL_UNKNOWN)
    printf(", \"dirty\": %" PRIu64 ", \"synced\": %" PRIu64, progress->dirty, progress->synced);
  puts("}");
  fflush(stdout);
}

static void show_kill(const char* stage) {
  if (show.events)
    printf("{\"event\": \"kill\", \"rank\": %d, \"pid\": %ld, \"stage\": \"%s\"}\n", app_rank(), (long)getpid(), stage);
  else
    printf("rank %d (process %ld) kills itself with SIGKILL, %s\n", app_rank(), (long)getpid(), stage);
  fflush(stdout);
}

static struct {
  bool armed, due;
  enum kill_stage stage;
} plan;

void kill_prepare(bool armed, const char* stage) {
  plan.armed = armed;
  plan.stage = stage[0] == 't' ? KILL_TASK : stage[0] == 'c' ? KILL_CHECKPOINT : KILL_REDUCE;
}

bool kill_armed(void) { return plan.armed; }

void kill_now_due(void) { plan.due = plan.armed; }

void kill_in(enum kill_stage stage) {
  static const char* const names[] = {"in the middle of a task", "before a checkpoint", "during the reduce"};
  if (!plan.due || (stage != plan.stage && stage != KILL_REDUCE)) return;
  show_kill(names[stage]);
  raise(SIGKILL);
  abort();
}
