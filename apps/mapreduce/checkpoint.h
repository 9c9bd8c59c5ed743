/* What the tasks of MapReduce-2S gave: in memory, and in one file that all ranks write together. */
#ifndef MAPREDUCE_CHECKPOINT_H
#define MAPREDUCE_CHECKPOINT_H

#include <mpi.h>

#include "job.h"

struct checkpoint {
  char* log; /* this rank's segments */
  size_t log_bytes, log_room;
  MPI_File file; /* MPI_FILE_NULL if there is none */
  uint64_t run;
  uint64_t end; /* of the segments in the file */
};

/* Open the file, if it's wanted, and take up what it holds or begin with nothing; tells job->done and job->found.
 * Collective over MPI_COMM_WORLD. */
void checkpoint_open(struct checkpoint* checkpoint, struct job* job);

/* Room for one more segment. Local. */
char* checkpoint_room(struct checkpoint* checkpoint, size_t bytes);

/* Write the segments of a round one behind the other, this rank's at `place`, and make them durable; all ranks' have
 * `all` bytes. Collective over MPI_COMM_WORLD. */
void checkpoint_write(struct checkpoint* checkpoint, struct job* job, const char* segment, uint64_t place, size_t bytes,
                      uint64_t all);

/* Close the file, and delete it unless --keep. Collective over MPI_COMM_WORLD. */
void checkpoint_close(struct checkpoint* checkpoint);

#endif
