/* The text: which files there are, how they are cut into tasks, and the words of one task. */
#ifndef WORDCOUNT_INPUT_H
#define WORDCOUNT_INPUT_H

#include <stdint.h>

#include "dictionary.h"

/* All files in the order of their names (as bytes), seen as one long text. Task t is the bytes from t * task_bytes on,
 * task_bytes long. A word belongs to the task in which its first letter lies. */
struct input {
  char** paths;
  uint64_t* begins; /* where each file begins in the long text; begins[files] = total bytes */
  uint64_t files;
  uint64_t bytes;
  uint64_t task_bytes;
  uint64_t tasks;
  uint64_t identity; /* hash of all names, sizes and times of last change */
  char* names;       /* the memory of the paths */
};

/* Find all regular files below the folders (symbolic links aren't followed) on rank 0 and tell all ranks.
 * Collective over MPI_COMM_WORLD; returns the same on every rank. */
int input_list(char** folders, int count, uint64_t task_bytes, struct input* input);

/* Bytes that the first `tasks` tasks cover. Local. */
uint64_t input_bytes_of(const struct input* input, uint64_t tasks);

/* Add the words of one task to the dictionary, their number to *words. Local. */
int input_read_task(const struct input* input, uint64_t task, struct dictionary* dictionary, uint64_t* words);

/* Add the words of the whole text, in the plainest way: what the result is compared with. Local. */
int input_read_serially(const struct input* input, struct dictionary* dictionary);

void input_free(struct input* input);

#endif
