/* One word count: what it is about, how far it is, what came out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "input.h"
#include "show.h"
#include "words.h"

struct options {
  const char* engine;       /* "1s", "2s" */
  const char* distribution; /* "round-robin", "skewed" */
  double skew;              /* share of the text that rank 0 gets, if skewed */
  bool fixed;               /* 1s: nobody takes tasks of others */
  bool checkpoint, resume;
  uint64_t task_bytes;
  uint64_t log_bytes, result_bytes; /* of the windows of 1s; 0 to choose */
  uint64_t top;
  const char* counts; /* file for the whole list, NULL if not wanted */
  bool events;
  uint64_t kill_rank; /* UINT64_MAX for none */
  double kill_at;     /* share of the tasks, 0.0 to 1.0 */
  const char* kill_in;
};

/* What the map of one task, and the job as a whole, took. Seconds of this rank. */
struct times {
  double open, map, reduce, combine, checkpoint;
};

struct job {
  const struct options* options;
  struct input input;
  int rank, ranks;
  double skew;           /* 0 if the tasks are dealt in turn */
  bool* done;            /* tasks whose counts were there when the run began */
  struct words mapped;   /* of one task */
  struct words reduced;  /* of all tasks, the words of this rank */
  struct list result;    /* of all ranks, sorted; on rank 0 in the end */
  struct progress found; /* how far the job was when this run began; on rank 0 */
  double start;          /* app_seconds() when the work began */
  struct times times;
  uint64_t checkpoints; /* of this rank in this run */
  uint64_t taken;       /* tasks that this rank did for another */
  bool right;           /* what job_report() found */
};

/* MapReduce-1S: one-sided, nobody waits for a phase of the others. Collective over MPI_COMM_WORLD. */
void run_one_sided(struct job* job);

/* MapReduce-2S: collective, all go through the phases together. Collective over MPI_COMM_WORLD. */
void run_collective(struct job* job);

/* On rank 0: write the counts, compare them with a serial count, tell the top words and the times. Before a checkpoint
 * is given up, for who is killed until here can still go on from it. Collective over MPI_COMM_WORLD. */
void job_report(struct job* job);
