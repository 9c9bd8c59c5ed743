/* What the command line asks for. */
#ifndef WORDCOUNT_OPTIONS_H
#define WORDCOUNT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum progress_mode { PROGRESS_AUTO, PROGRESS_LINE, PROGRESS_PLAIN, PROGRESS_JSON, PROGRESS_NONE };

/* The moment at which --kill-rank strikes. */
enum kill_stage {
  KILL_TASK,   /* half of a task's counts are in the table, the other half is not */
  KILL_SYNC,   /* the table is about to be synced */
  KILL_COMMIT, /* the table is on storage, the commit is not */
  KILL_COPY    /* committed; half of the next generation is copied */
};

enum window_kind { WINDOW_DEFAULT, WINDOW_MEMORY, WINDOW_STORAGE };

struct options {
  char** inputs; /* folders or files, input_count of them */
  int input_count;
  enum window_kind window;
  const char* store;      /* folder of the window's files, NULL if not given */
  uint64_t capacity;      /* words in the whole table, 0 = choose */
  uint64_t heap_bytes;    /* for long words, per rank, 0 = choose */
  uint64_t task_bytes;    /* input per task */
  double sync_interval_s; /* between two syncs */
  uint64_t sync_tasks;    /* tasks between two syncs, 0 = only by time */
  bool fresh;
  bool verify;
  int top;
  const char* counts; /* file for the whole list, NULL if not wanted */
  const char* json;   /* file for the result, NULL if not wanted */
  enum progress_mode progress;
  int kill_rank;  /* -1 for none */
  double kill_at; /* share of the tasks, 0.0 to 1.0 */
  enum kill_stage kill_stage;
};

/* Read the command line. 0 = go on; 1 = help or version was asked for and printed (by the rank with `speak`); -1 =
 * wrong, with the reason in failure(). All ranks get the same arguments, so all get the same answer. Local. */
int options_parse(int argc, char** argv, bool speak, struct options* options);

#endif
