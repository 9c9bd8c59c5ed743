/* The text: which files there are, how they are cut into tasks, who is to do which, and the text of one task. */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All files in the order of their names (as bytes), seen as one long text. Task t is the bytes from t * task_bytes on,
 * task_bytes long. A word belongs to the task in which its first letter lies, and ends with its file. */
struct input {
  char** paths;
  uint64_t* begins; /* where each file begins in the long text; begins[files] = bytes */
  uint64_t files;
  uint64_t bytes;
  uint64_t task_bytes;
  uint64_t tasks;
  uint64_t identity; /* hash of all names, sizes and times of last change */
  char* names;       /* the memory of the paths */
};

/* Find all regular files below the folders (symbolic links aren't followed) on rank 0 and tell all ranks.
 * Collective over MPI_COMM_WORLD. */
void input_list(char** folders, int count, uint64_t task_bytes, struct input* input);
void input_free(struct input* input);

/* Bytes of one task, of one file. Local. */
uint64_t input_task_bytes(const struct input* input, uint64_t task);
uint64_t input_file_bytes(const struct input* input, uint64_t file);

/* --- who is to do what --- */

/* The tasks that are left, in the order in which they are dealt: the first `heavy` ones to rank 0, the others to the
 * ranks from `first` on in turn. */
struct deal {
  uint64_t* tasks;
  uint64_t count, heavy;
  int ranks, first;
};

/* Deal out the tasks that aren't `done`. skew 0: in turn. Otherwise rank 0 gets this share of all that are left, those
 * of the longest files, and the others the rest in turn. The same on all ranks; the caller frees its tasks. Local. */
struct deal input_deal(const struct input* input, const bool* done, int ranks, double skew);

/* The rank's task of this number, from 0; false if it has fewer. Local. */
bool deal_task(const struct deal* deal, int rank, uint64_t number, uint64_t* task);

/* --- the text of a task --- */

/* What a task has of a file: bytes `from` up to before `to` of it, more than none. */
struct part {
  uint64_t task, file, from, to;
};

/* False if the task has nothing of the file. Local. */
bool input_part(const struct input* input, uint64_t task, uint64_t file, struct part* part);

/* A task's first part; the one behind a part, false if that was the task's last. Local. */
struct part input_first_part(const struct input* input, uint64_t task);
bool input_next_part(const struct input* input, struct part* part);

/* The words that begin in a part. */
struct text {
  char* words; /* when it is read: `count` bytes */
  size_t count;
  char* bytes; /* of the file from `at` on, `wanted` of `room`: the part and a little around it */
  size_t wanted, room;
  uint64_t at;
  MPI_File file;
  MPI_Request request;
};

/* Begin to read a part, alone and without waiting for it; exactly one text_wait() belongs to it. Local. */
void text_start(struct text* text, const struct input* input, const struct part* part);

/* Wait until the words are there. Local. */
void text_wait(struct text* text, const struct input* input, const struct part* part);

/* Read a part of a file that all ranks have opened, with all of them; part NULL: nothing, for the sake of the others.
 * Collective over the file's ranks. */
void text_read_all(struct text* text, MPI_File file, const struct input* input, const struct part* part);
