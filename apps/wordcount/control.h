/* Who does which task, and what everybody is up to: a small window in memory on rank 0. Nothing in it is needed after a
 * restart, for the table says which tasks are done. */
#ifndef WORDCOUNT_CONTROL_H
#define WORDCOUNT_CONTROL_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* One rank's storage, for the line that shows the progress. Bytes. */
struct report {
  uint64_t dirty;
  uint64_t synced;
};

struct control {
  MPI_Win window;
  int rank, ranks;
  uint64_t end;        /* first task that isn't to be done before the next sync */
  uint64_t stopped_at; /* on rank 0: task at which it ended the round, UINT64_MAX if it didn't */
};

/* Collective over MPI_COMM_WORLD. */
int control_open(struct control* control);

/* Begin a round: tasks from `begin` up to `end` are free to be taken. Collective over MPI_COMM_WORLD. */
int control_begin(struct control* control, uint64_t begin, uint64_t end);

/* Take the next task: *task, or *taken = false if the round is over. One-sided. */
int control_take(struct control* control, uint64_t* task, bool* taken);

/* End the round: nobody takes a task any more. For a sync on rank 0, for a failure on any rank. One-sided. */
int control_stop(struct control* control);

/* When all ranks have done what they took: the first task that nobody took. Collective over MPI_COMM_WORLD. */
int control_end(struct control* control, uint64_t* first_left);

/* Tasks taken so far, for showing the progress. One-sided. */
int control_taken(struct control* control, uint64_t* tasks);

/* Tell rank 0 how this rank's storage is. One-sided. */
int control_report(struct control* control, const struct report* report);

/* On rank 0: what all ranks told, added up. One-sided. */
int control_reports(struct control* control, struct report* sum);

/* Collective over MPI_COMM_WORLD. */
int control_close(struct control* control);

#endif
