/* sill-mstream: how fast a window's memory is, under four orders of large accesses and three kernels for windows that
 * don't fit in memory.
 *
 * Every byte of the window is known at all times: a segment holds the shared pattern, begun at a place that depends on
 * the segment and on the number of the pass that wrote it. So a put needs no preparation that would be measured, and
 * wrong, old or misplaced bytes show.
 */
#pragma once

#include "app.h"

enum { PATTERN_SHIFTS = 4096, PATTERN_STEP = 8 }; /* places where a segment's pattern may begin, and words between */

struct stream {
  MPI_Win win;
  char* base;        /* of this rank's part of the window */
  uint64_t bytes;    /* of it */
  uint64_t segment;  /* bytes of a segment */
  size_t count;      /* of segments */
  uint64_t* pattern; /* the words of a segment, and of all shifts */
  uint64_t* sums;    /* sums[i]: of the first i of them */
  char* buffer;      /* of a segment, for gets */
  uint32_t* writer;  /* the pass that wrote each segment */
  uint32_t pass;     /* number of the latest */
  bool known;        /* the segments hold what `writer` says */
  bool split;        /* time reads and writes apart */
  uint64_t iterations, passes, updates;
  double seconds; /* of updates, if `updates` is 0 */
};

/* What one kernel took, on this rank. */
struct timing {
  double total, flush;  /* seconds; the first with the second */
  double reads, writes; /* seconds of gets and puts, if split */
  uint64_t read_bytes, written_bytes;
  uint64_t updates;
};

/* Where the content begins that pass `pass` gives to segment `s`. Local. */
const uint64_t* stream_content(const struct stream* stream, size_t s, uint32_t pass);

/* Give all segments the next pass's contents. Local. */
void stream_fill(struct stream* stream);

struct kernel {
  const char* name;
  /* Run and time it; *timing is this rank's. *right becomes false if wrong data were read. Collective. */
  void (*run)(struct stream* stream, const struct kernel* kernel, struct timing* timing, bool* right);
  void (*order)(size_t* order, size_t count); /* of the segments, for those that have one */
};

/* The kernel of that name, NULL if there is none. Local. */
const struct kernel* stream_kernel(const char* name);

/* Whether the window holds what was written: with updates, whether as many as there were have come to stay. Local. */
bool stream_check(const struct stream* stream, uint64_t updates);
