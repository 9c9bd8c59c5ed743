/* A distributed hash table of 64-bit keys, by one-sided operations only, after Gerstenberger, Besta and Hoefler
 * ("Enabling highly-scalable remote memory access programming with MPI-3 one sided"). No rank takes part in what others
 * do with its share.
 *
 * Each rank has a volume of buckets and an overflow heap, in a window each. A key's hash names its rank and bucket.
 * Whoever swaps the empty bucket's key for its own by compare-and-swap has it; who comes second takes a cell of the
 * same rank's heap and hangs it at the end of the bucket's chain, by compare-and-swap again. A chain only ever grows at
 * its end, so what a sync has made durable stays reachable, whatever of later inserts reaches the device before a
 * crash.
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* What makes one table different from another. */
struct table_shape {
  uint64_t seed;   /* of its keys */
  uint64_t volume; /* buckets of each rank */
  uint64_t cells;  /* heap cells of each rank */
  uint64_t keys;   /* of each rank, when all are in */
};

struct table_header;

struct table {
  struct table_shape shape;
  int ranks;
  MPI_Win buckets, heap;
  struct table_header* header; /* at the begin of this rank's buckets */
  uint64_t* own_buckets;       /* this rank's, as words */
  uint64_t* own_cells;
};

/* Allocate both windows, or open what is there; the infos say where. Collective. */
void table_open(struct table* table, const struct table_shape* shape, MPI_Info buckets, MPI_Info heap);

/* The smallest and this rank's number of keys that a finished sync covers: 0 if there is no table. app_fail() if
 * there is one of another shape. Collective. */
uint64_t table_synced(struct table* table, uint64_t* mine);

/* Make this rank's share one of an empty table; make it fit for further inserts after a crash. Local, before
 * table_begin(). */
void table_clear(struct table* table);
void table_recover(struct table* table);

/* From here on ranks may insert and look up. Collective. */
void table_begin(struct table* table);

/* Insert a key other than 0; nothing happens if it is there. No rank may look up meanwhile. Local. */
void table_insert(struct table* table, uint64_t key);

/* Whether the key is there. No rank may insert meanwhile. Local. */
bool table_contains(const struct table* table, uint64_t key);

/* Make durable what all ranks have inserted, then that it is the first `keys` keys of each rank. Collective. */
void table_sync(struct table* table, uint64_t keys);

/* Flip a bit of this rank's first key, so that a test sees that a check finds it. Local. */
void table_corrupt(struct table* table);

/* Free the windows. Collective. */
void table_close(struct table* table);
