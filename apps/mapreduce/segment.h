/* A log, in a window or a file: a head that tells whose it is, then segments, each what the map of one task gave,
 * written once and never changed.
 *
 * Each segment is summed up with the number of the run and its place, so that what a killed job or a power cut left
 * behind the last whole one is never taken for one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job.h"

struct head {
  char magic[8];
  uint64_t run, rank, ranks, task_bytes, identity;
  uint64_t sum;  /* over the above */
  uint64_t used; /* of a window's log: bytes of which all others may know, with this head */
};

/* The head of a rank's log. Local. */
struct head head_of(const struct job* job, uint64_t run, int rank);
bool head_valid(const struct head* head);

/* app_fail() unless the head is of this run, rank and input. Local. */
void head_compare(const struct head* head, const struct job* job, uint64_t run, int rank);

/* Whether there is the magic number of a head, or 0 bytes in its place. Local. */
bool head_may_be(const struct head* head);

/* A number for a run that no other run has, never 0. Rank 0's on all ranks. Collective over MPI_COMM_WORLD. */
uint64_t new_run(void);

struct segment {
  uint64_t sum;   /* over the rest */
  uint64_t bytes; /* of the whole, a multiple of 8 */
  uint64_t task;
  uint64_t words;  /* counted, with repetitions */
  uint64_t ends[]; /* for each rank: where the records that it reduces end; the first one's begin behind this */
};

/* Bytes up to the first record. Local. */
size_t segment_head(int ranks);

/* Bytes that the words with a count will take. Local. */
size_t segment_measure(const struct words* words, int ranks);

/* Write the segment of a task with segment_measure() `bytes` to `to`, which is aligned to 8. `place`: its offset in the
 * log. Local. */
void segment_write(struct segment* to, size_t bytes, const struct words* words, int ranks, uint64_t task, uint64_t run,
                   uint64_t place);

/* Whether a whole segment of this run is there, within `room` bytes. Local. */
bool segment_valid(const struct segment* segment, size_t room, int ranks, uint64_t run, uint64_t place);

/* Count the segment's task as done. Local. */
void segment_account(const struct segment* segment, const struct input* input, struct progress* progress);

/* Where the records that `rank` reduces lie, from the begin of the segment. Local. */
void segment_part(const struct segment* segment, int ranks, int rank, size_t* from, size_t* to);

/* Add records to the words. Local. */
void segment_reduce(const char* records, size_t bytes, struct words* words);
