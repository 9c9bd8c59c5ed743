/* sill-rma: latency and bandwidth of one-sided operations.
 *
 * What is measured is a point: an operation, a size, and whether each operation is completed by itself or many by one
 * flush. A measurement is the median of its batches; those of a point are spread over rounds over all points, so that a
 * disturbance of a moment can't sit on one point.
 */
#pragma once

#include "app.h"

/* What the operations of this rank work on. */
struct access {
  MPI_Win win;
  MPI_Aint slice;       /* where this rank's bytes begin in every target */
  uint64_t slice_bytes; /* others leave them alone, for it is an error to put to one place from two */
  const int* targets;
  int target_count; /* 0: this rank only waits */
  int64_t* local;   /* of the size of the largest operation */
  int64_t* result;  /* of fetching operations, same size */
};

/* Returns an MPI error code. */
typedef int operation(const struct access* access, int target, MPI_Aint at, int bytes);

struct operation_kind {
  const char* name;
  operation* call;
  bool any_size; /* otherwise 8 bytes only */
};

enum { PUT, GET, ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP, operation_count };
extern const struct operation_kind operations[operation_count];

struct point {
  int op; /* index in operations */
  int bytes;
  bool aggregate; /* many operations and one flush, instead of a flush after each */
  uint64_t iterations;
  size_t count; /* of batches so far */
  double*
      batches; /* seconds of an operation on each target and its flush; aggregate: of a stream to each and a flush */
};

enum { max_points = 512, max_batches = 4096 };

/* How many operations of that size go into a stream. Local. */
uint64_t stream_length(int bytes);

/* Batches of a point for so many seconds, at least three. Local. */
void run_point(struct point* point, const struct access* access, double budget);

/* Whether what the chosen operations transfer arrives, at each target; `spoil`: a byte is changed on the way. One rank
 * at a time. Local. */
bool check_transfers(const struct access* access, const bool* chosen, int largest, bool spoil);
