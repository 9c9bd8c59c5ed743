/* What a run tells while it goes on: a line for people, or with --events one JSON object a line for programs. */
#ifndef MAPREDUCE_SHOW_H
#define MAPREDUCE_SHOW_H

#include <stdbool.h>
#include <stdint.h>

/* How far all ranks are; bytes of input, unless said otherwise. */
struct progress {
  uint64_t bytes, bytes_total;
  uint64_t tasks, words;
  uint64_t checkpoints;
  uint64_t dirty, synced; /* bytes of the windows; only if storage_known */
  bool storage_known;
};

/* Whether to tell events. Local. */
void show_prepare(bool events);

/* The begin of the work, `restored`: what is there from before. On rank 0. Local. */
void show_start(uint64_t files, uint64_t window_bytes, const struct progress* restored);

/* Whether it is time to tell again. On rank 0. Local. */
bool show_due(void);
void show_progress(const struct progress* progress);

/* Last words of a rank that kills itself; from any rank. Local. */
void show_kill(const char* stage);

/* `1234567` as `1,234,567`; `room` is at least 28 bytes. Returns it. Local. */
char* grouped(uint64_t number, char* room);

#endif
