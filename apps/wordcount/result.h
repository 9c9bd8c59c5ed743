/* The end of the work: the words in order, the files with the result, the comparison with a serial count. */
#ifndef WORDCOUNT_RESULT_H
#define WORDCOUNT_RESULT_H

#include "input.h"
#include "options.h"
#include "show.h"
#include "table.h"

/* Numbers of a run that the result tells beside the words. */
struct run {
  uint64_t restored_bytes; /* of input that an earlier run had counted */
  uint64_t restored_syncs;
  struct progress last;
};

/* On rank 0, with the other ranks waiting: read the committed table one-sided, show it, write --counts and --json, and
 * compare if --verify asks for it. Not 0 if something can't be written or a count is wrong. */
int result_report(struct table* table, const struct input* input, const struct options* options, const struct run* run);

#endif
