/* What rank 0 tells while the work goes on: lines for people, or one JSON object a line for programs. */
#ifndef WORDCOUNT_SHOW_H
#define WORDCOUNT_SHOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "options.h"

struct progress {
  uint64_t bytes, bytes_total;
  uint64_t words;
  uint64_t syncs;         /* since the table was new */
  uint64_t dirty, synced; /* bytes of all ranks; only if storage_known */
  bool storage_known;
  double seconds;     /* since this run began to count */
  double words_per_s; /* of this run */
  double left_s;      /* negative while nobody can tell */
};

/* Choose how to show things; `speak` is false on all ranks but 0. Local. */
void show_prepare(enum progress_mode mode, bool speak);

/* Whether progress goes out as JSON. Local. */
bool show_is_json(void);

/* Where the lines for people go; NULL if there are none. Local. */
FILE* show_text(void);

void show_start(int ranks, uint64_t files, uint64_t bytes, uint64_t table_bytes, bool on_storage);
void show_restored(uint64_t syncs, uint64_t bytes, uint64_t bytes_total, uint64_t words);

/* Seconds between two calls of show_progress() that make sense. Local. */
double show_interval_s(void);
void show_progress(const struct progress* progress);

/* End a line that is rewritten in place, before other text. Local. */
void show_end_line(void);

/* Last words of a rank that kills itself; from any rank. Local. */
void show_kill(int rank, const char* stage);

/* `1234567` as `1,234,567`; `room` is at least 28 bytes. Returns it. Local. */
char* grouped(uint64_t number, char* room);

#endif
