/* What a run tells while it goes on: a line for people, or with --events one JSON object a line for programs. And how
 * it comes to a sudden end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "input.h"

/* How far a rank is, or all are; bytes of input, unless said otherwise. */
struct progress {
  uint64_t bytes, tasks, words, checkpoints;
  uint64_t dirty, synced; /* bytes of the windows; synced is SILL_UNKNOWN where nobody can tell, as for memory */
};

/* Local. */
void progress_add(struct progress* sum, const struct progress* more);

/* Whether to tell events. Local. */
void show_prepare(bool events);

/* The begin of the work, `restored`: what is there from before. On rank 0. Local. */
void show_start(const struct input* input, const struct progress* restored);

/* Whether it is time to tell again. On rank 0. Local. */
bool show_due(void);
void show_progress(const struct progress* progress);

/* --- --kill-rank: a rank that ends itself with SIGKILL at a chosen moment, for demonstrations and tests --- */

enum kill_stage {
  KILL_TASK,       /* half of a task's counts are in the log, the other half is not */
  KILL_CHECKPOINT, /* all are, but not on storage */
  KILL_REDUCE      /* all tasks are done, what they gave is half reduced */
};

/* Whether this rank is to die at all, and in what stage: "task", "checkpoint", "reduce". Local. */
void kill_prepare(bool armed, const char* stage);
bool kill_armed(void);

/* From now on the next kill_in() of the stage strikes; one that comes too late for tasks strikes in the reduce. Local.
 */
void kill_now_due(void);

/* Die, if it is due. Local. */
void kill_in(enum kill_stage stage);
