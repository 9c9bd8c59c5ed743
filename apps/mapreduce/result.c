/* What came out: the top words, all counts in a file, the comparison with a serial count, the times. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "job.h"

static int by_count(const void* left, const void* right) {
  const struct record *a = left, *b = right;
  if (a->count != b->count) return a->count < b->count ? 1 : -1;
  return (a->letters > b->letters) - (a->letters < b->letters); /* of the same list, which is sorted by word */
}

static void write_counts(const struct record* records, size_t count, const char* path) {
  FILE* file = fopen(path, "we");
  if (file == NULL) app_fail("%s: %s", path, strerror(errno));
  for (size_t i = 0; i < count; i++)
    fprintf(file, "%7" PRIu64 " %.*s\n", records[i].count, (int)records[i].length, records[i].letters);
  int bad = ferror(file);
  if (fclose(file) != 0 || bad) app_fail("%s: %s", path, strerror(errno));
}

/* Count the words of a file in the plainest way, a byte at a time. */
static void count_plainly(const char* path, struct words* words) {
  FILE* file = fopen(path, "re");
  if (file == NULL) app_fail("%s: %s", path, strerror(errno));
  size_t length = 0, room = 0;
  char* word = NULL;
  for (int byte = 0; byte != EOF;) {
    byte = getc_unlocked(file);
    bool upper = byte >= 'A' && byte <= 'Z';
    if (upper || (byte >= 'a' && byte <= 'z')) {
      if (length == room) word = app_grow(word, room = 2 * room + 64);
      word[length++] = (char)(upper ? byte - 'A' + 'a' : byte);
    } else if (length > 0) {
      words_add(words, word, length, 1);
      length = 0;
    }
  }
  if (ferror(file)) app_fail("%s: can't be read", path);
  free(word);
  if (fclose(file) != 0) app_fail("%s: %s", path, strerror(errno));
}

/* Against a count that knows neither tasks nor windows. */
static bool verify(const struct record* records, size_t count, const struct input* input) {
  struct words serial = {0};
  for (uint64_t i = 0; i < input->files; i++) {
    app_progress("check", input->begins[i], input->bytes, "B");
    count_plainly(input->paths[i], &serial);
  }
  bool right = serial.count == count;
  if (!right) fprintf(stderr, "%zu different words, a serial count finds %zu\n", count, serial.count);
  for (size_t i = 0; i < count && right; i++) {
    uint64_t wanted = words_count(&serial, records[i].letters, records[i].length);
    right = wanted == records[i].count;
    if (!right)
      fprintf(stderr, "%" PRIu64 " times %.*s, a serial count finds %" PRIu64 "\n", records[i].count,
              records[i].length < 64 ? (int)records[i].length : 64, records[i].letters, wanted);
  }
  words_free(&serial);
  return right;
}

static void tell_top(const struct record* records, size_t top) {
  for (size_t i = 0; i < top; i++) {
    int length = records[i].length < 100 ? (int)records[i].length : 100;
    char key[32];
    snprintf(key, sizeof key, "top %zu", i + 1);
    app_note(key, "%" PRIu64 " %.*s", records[i].count, length, records[i].letters);
  }
}

static void tell_done(const struct record* records, size_t top, size_t count, uint64_t words, double seconds) {
  printf("{\"event\": \"done\", \"words\": %" PRIu64 ", \"different_words\": %zu, \"seconds\": %.3f, \"top\": [", words,
         count, seconds);
  for (size_t i = 0; i < top; i++)
    printf("%s{\"word\": \"%.*s\", \"count\": %" PRIu64 "}", i > 0 ? ", " : "", (int)records[i].length,
           records[i].letters, records[i].count);
  puts("]}");
  fflush(stdout);
}

/* Rank 0's part. */
static bool report_words(struct job* job, double seconds) {
  const struct options* options = job->options;
  struct record* records = NULL;
  size_t count = 0, room = 0;
  uint64_t words = 0;
  for (const char *at = job->result.data, *end = at + job->result.bytes; at < end;) {
    if (count == room) records = app_grow(records, (room = 2 * room + 1024) * sizeof *records);
    at = record_read(at, &records[count]);
    words += records[count++].count;
  }
  if (options->counts != NULL) write_counts(records, count, options->counts);
  bool right = !app_verify() || verify(records, count, &job->input);
  if (count > 0) qsort(records, count, sizeof *records, by_count);
  size_t top = options->top < count ? (size_t)options->top : count;
  app_result("words", "", (double)words, "1");
  app_result("different words", "", (double)count, "1");
  app_result("words rate", "", (double)(words - job->found.words) / seconds, "1/s");
  tell_top(records, top);
  if (options->events) tell_done(records, top, count, words, seconds);
  free(records);
  return right;
}

void job_report(struct job* job) {
  double seconds = app_seconds() - job->start;
  const struct times* times = &job->times;
  double slowest[] = {app_slowest(times->open), app_slowest(times->map), app_slowest(times->reduce),
                      app_slowest(times->combine), app_slowest(times->checkpoint)};
  static const char* const names[] = {"phase=open", "phase=map", "phase=reduce", "phase=combine", "phase=checkpoint"};
  uint64_t mine[] = {job->checkpoints, job->taken}, all[2] = {0, 0};
  APP_TRY(MPI_Reduce(mine, all, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD));
  app_result("time", "phase=all", seconds, "s");
  for (size_t i = 0; i < 5; i++) app_result("time", names[i], slowest[i], "s"); /* of the rank that took longest */
  app_result("checkpoint_share", "", slowest[4] / seconds, "1");
  app_result("bytes", "", (double)job->input.bytes, "B");
  app_result("restored bytes", "", (double)job->found.bytes, "B");
  app_result("tasks", "", (double)job->input.tasks, "1");
  app_result("tasks of other ranks", "", (double)all[1], "1");
  app_result("checkpoints", "", (double)all[0], "1");
  job->right = job->rank != 0 || report_words(job, seconds);
}
