/* --kill-rank: a rank that ends itself with SIGKILL at a chosen moment, for demonstrations and tests. */
#ifndef MAPREDUCE_KILL_H
#define MAPREDUCE_KILL_H

#include <stdbool.h>

enum kill_stage {
  KILL_TASK,       /* half of a task's counts are in the log, the other half is not */
  KILL_CHECKPOINT, /* all are, but not on storage */
  KILL_REDUCE      /* all tasks are done, what they gave is half reduced */
};

/* Whether this rank is to die at all, and in what stage. Local. */
void kill_prepare(bool armed, enum kill_stage stage);
bool kill_armed(void);

/* From now on the next kill_in() of the stage strikes; one that comes too late for tasks strikes in the reduce. Local.
 */
void kill_now_due(void);

/* Die, if it is due. Local. */
void kill_in(enum kill_stage stage);

#endif
