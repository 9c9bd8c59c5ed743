/* The text: which files there are, how they are cut into tasks, who is to do which, and the text of one task. */
#ifndef MAPREDUCE_INPUT_H
#define MAPREDUCE_INPUT_H

#include <pthread.h>
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

/* Tasks of rank r: tasks[begins[r]] up to before tasks[begins[r + 1]]. */
struct deal {
  uint64_t* tasks;
  uint64_t* begins;
};

/* Deal out the tasks that aren't `done`. skew 0: in turn. Otherwise rank 0 gets this share of all that are left, those
 * of the longest files, and the others the rest in turn. The same on all ranks. Local. */
struct deal input_deal(const struct input* input, const bool* done, int ranks, double skew);
void deal_free(struct deal* deal);

/* --- the text of a task --- */

/* Words of one task, and what parts them. */
struct text {
  char* bytes;
  size_t count, room;
  char error[4352]; /* why it couldn't be read; "" if it could */
};

/* Read bytes from `offset` on into `to`; *got is less than `bytes` only at the end of the file. False: text->error. */
typedef bool read_bytes(void* file, uint64_t offset, size_t bytes, char* to, size_t* got, struct text* text);

/* Append the words that begin in the task's part of a file, if it has one. `read` is called once with that part, and
 * again while it ends within a word. False: text->error. Local. */
bool input_read_part(const struct input* input, uint64_t task, uint64_t file, read_bytes* read, void* argument,
                     struct text* text);

/* The same by this rank alone; calls no MPI. A failure is in text->error. Local. */
void input_read_file(const struct input* input, uint64_t task, uint64_t file, struct text* text);

/* First and last file of a task; a last one before the first for a task without bytes. Local. */
void input_files_of(const struct input* input, uint64_t task, uint64_t* first, uint64_t* last);

/* Reads a task while its user works on the one before: a thread for each task, which calls no MPI. */
struct reader {
  const struct input* input;
  struct text texts[2]; /* one in use, one being read */
  int next;
  uint64_t task;
  pthread_t thread;
};

/* Begin to read a task; exactly one reader_wait() belongs to it. Local. */
void reader_start(struct reader* reader, uint64_t task);

/* The text of the task, valid until the next but one reader_start(). Local. */
struct text* reader_wait(struct reader* reader);
void reader_free(struct reader* reader);

#endif
