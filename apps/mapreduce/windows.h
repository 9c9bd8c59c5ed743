/* The windows of MapReduce-1S, and what a killed run left in them.
 *
 *   - status: who took which tasks, and how far each rank is; by atomic operations only. In memory: a restart needs
 *     none.
 *   - log: the key-value buckets: segments, one behind the other, that only the rank itself writes.
 *   - result: the combine tree: the sorted words of a rank and, in the end, of the ranks below it in the tree.
 *
 * Why every word counts exactly once: a task's segment is whole or doesn't count (segment.h), and each task is taken
 * once. A restart finds the tasks that have a segment, and deals out the others. All ranks read a segment only when the
 * status says that it's there, which is after the sync that made it durable, so nobody waits for anybody's checkpoint.
 */
#pragma once

#include <mpi.h>

#include "segment.h"

enum level { NOTHING, REDUCED, COMBINED }; /* what the result holds */

/* What a rank tells the others: `live`, by MPI_Accumulate. */
struct live {
  uint64_t used;  /* bytes of the log that are segments, with its head */
  uint64_t level; /* of the result */
  struct progress progress;
};
enum { live_fields = sizeof(struct live) / sizeof(uint64_t) };

struct status {
  uint64_t next; /* how many of this rank's tasks are taken */
  struct live live;
};

struct result {
  struct head head;
  uint64_t level;
  uint64_t bytes;
  uint64_t sum; /* over the bytes */
  uint64_t unused;
  char data[];
};

struct window {
  MPI_Win win;
  char* base;
  uint64_t bytes;
};

struct windows {
  struct window status, log, result;
  struct live live; /* this rank's */
  uint64_t run;
  double looked; /* when the storage was looked at */
};

/* Allocate the windows and take up what they hold, or begin with nothing; tells job->done and, on rank 0, job->found.
 * Collective over MPI_COMM_WORLD. */
void windows_open(struct windows* windows, struct job* job);
void windows_close(struct windows* windows);

/* Tell the others how far this rank is. One-sided. */
void windows_tell(struct windows* windows);

/* How far a rank is. One-sided. */
struct live windows_ask(struct windows* windows, int rank);

/* The number of the next task that nobody took of this rank's. One-sided. */
uint64_t windows_take(struct windows* windows, int rank);

/* The begins of this rank's own windows. The head of rank 0's log is written last: if it is there, all are. Local. */
struct head* log_of(const struct windows* windows);
struct result* result_of(const struct windows* windows);
