/* The distributed hash table: word -> count, in one MPI window, updated by one-sided operations only, and exact after a
 * kill -9 or a power cut at any moment.
 *
 * A rank's segment holds a header and two generations of its part of the table:
 *
 *     | header | generation 0: state, slots, heap | generation 1: state, slots, heap |
 *
 * One generation is committed, the other live. All updates go to the live one. A commit does, on all ranks together,
 *
 *   1. end all tasks in work, complete all their updates, wait for all ranks;
 *   2. make the live generation durable on every rank (MPI_Win_sync on a storage window), wait for all ranks;
 *   3. on rank 0: store the number of the commit, one aligned word of 8 bytes, and make it durable, wait for all ranks;
 *   4. copy the generation just committed over the other one, which is now the live one, wait for all ranks.
 *
 * Why every word counts exactly once: commit n says that generation n % 2 holds the counts of exactly the tasks before
 * its `tasks`. Nobody writes to that generation before commit n + 1 is durable (step 4 comes after step 3), so whatever
 * a killed job or a lost page did to the live generation is of no matter: the restart copies the committed one over it
 * and takes up the tasks that are not in it. The word of step 3 is either the old or the new number, and both are true:
 * the old generation is still whole, the new one is already durable. A restart may find a new number that only the page
 * cache holds; it makes it durable before it touches the other generation. Each rank's generation carries a sum over
 * its bytes, so damage or a window that is only partly on storage is an error instead of a wrong count.
 *
 * Slots never move, so a rank may remember where a word is. A slot is taken by a fetch-and-add on `claims` (the first
 * one owns it), filled by a put, and published by an atomic store to `tag`; nobody reads the word of a slot before its
 * tag. (Fetch-and-add rather than MPI_Compare_and_swap, which crashes by itself in Open MPI 4.1 on memory windows.)
 */
#ifndef WORDCOUNT_TABLE_H
#define WORDCOUNT_TABLE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "dictionary.h"
#include "input.h"
#include "options.h"

#define INLINE_LETTERS 24

struct slot {
  uint64_t tag; /* hash of the word, 0 = free */
  uint64_t count;
  uint32_t claims; /* how many wanted to fill it */
  uint32_t length;
  char letters[INLINE_LETTERS]; /* of a longer word: where it is in the heap, 8 bytes */
};

/* How far a generation is. `words`, `bytes` and `tasks` are kept on rank 0 only. */
struct state {
  uint64_t sum;       /* over the rest of the generation, set by commit */
  uint64_t heap_used; /* bytes */
  uint64_t words;     /* counted, with repetitions */
  uint64_t bytes;     /* of input */
  uint64_t tasks;     /* done, all before this one; set by commit */
  uint64_t unused[3];
};

struct table {
  MPI_Win window;
  char* segment; /* this rank's */
  int rank, ranks;
  uint64_t slots;      /* of each rank */
  uint64_t heap_bytes; /* of each rank */
  uint64_t commits;    /* number of the last commit, 0 = none */
  bool on_storage;
  double sync_s; /* time in commits so far */
};

/* Which of the two generations an operation means. */
enum generation { COMMITTED, LIVE };

/* Allocate the window and take up what it holds from an earlier run, if that was about the same input; *tasks_done
 * tells how many tasks need no more counting. Collective over MPI_COMM_WORLD; the same result on every rank. */
int table_open(struct table* table, const struct options* options, const struct input* input, uint64_t* tasks_done);

/* Add the counts of the dictionary to the live generation, complete at their targets when it returns, and remember the
 * places of new words in the dictionary. `words` and `bytes` are the totals behind those counts. One-sided. */
int table_add(struct table* table, struct dictionary* dictionary, uint64_t words, uint64_t bytes);

/* Commit the live generation as the one that holds all tasks before `tasks`. Collective over MPI_COMM_WORLD; an error
 * (no space, I/O) is the same on every rank, and the commit before this one still holds. */
int table_commit(struct table* table, uint64_t tasks);

/* How far the generation is, whatever is in flight. One-sided, from any rank. */
int table_state(struct table* table, enum generation which, struct state* state);

/* Call visit(argument, word, length, count) for every word of the committed generation, in no particular order; an
 * answer other than 0 ends it. One-sided, from any rank, while nobody commits. */
int table_visit(struct table* table, int (*visit)(void* argument, const char* word, uint32_t length, uint64_t count),
                void* argument);

/* Bytes of the whole table, both generations, all ranks. Local. */
uint64_t table_bytes(const struct table* table);

/* Free the window. Collective over MPI_COMM_WORLD. */
int table_close(struct table* table);

/* Where things are in a segment, bytes from its begin; for the parts of the table only. */
MPI_Aint table_generation_at(const struct table* table, enum generation which);
MPI_Aint table_slot_at(const struct table* table, enum generation which, uint64_t slot);
MPI_Aint table_heap_at(const struct table* table, enum generation which);

/* Rank and first slot to look at for a hash. */
int table_owner(const struct table* table, uint64_t hash);
uint64_t table_home(const struct table* table, uint64_t hash);

#endif
