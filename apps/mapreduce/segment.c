#include "segment.h"

#include <errno.h>
#include <inttypes.h>
#include <mpi.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app.h"

static const char magic[8] = "sillmr02";

/* --- heads --- */

struct head head_of(const struct job* job, uint64_t run, int rank) {
  struct head head = {.run = run,
                      .rank = (uint64_t)rank,
                      .ranks = (uint64_t)job->ranks,
                      .task_bytes = job->input.task_bytes,
                      .identity = job->input.identity,
                      .used = sizeof head};
  memcpy(head.magic, magic, sizeof magic);
  head.sum = hash_bytes(0, &head, offsetof(struct head, sum));
  return head;
}

bool head_valid(const struct head* head) {
  return memcmp(head->magic, magic, sizeof magic) == 0 && head->sum == hash_bytes(0, head, offsetof(struct head, sum));
}

void head_compare(const struct head* head, const struct job* job, uint64_t run, int rank) {
  static const char advice[] = "begin anew without --resume, or use another --store";
  if (!head_valid(head) || head->run != run)
    app_fail("the checkpoint's file of rank %d is missing or damaged; %s", rank, advice);
  if (head->ranks != (uint64_t)job->ranks)
    app_fail("the checkpoint is that of %" PRIu64 " ranks, not %d; %s", head->ranks, job->ranks, advice);
  if (head->rank != (uint64_t)rank) app_fail("the checkpoint's file of rank %d is another rank's; %s", rank, advice);
  if (head->task_bytes != job->input.task_bytes)
    app_fail("the checkpoint is of a run with --task-size %" PRIu64 "; %s", head->task_bytes, advice);
  if (head->identity != job->input.identity)
    app_fail("the checkpoint is about another input, or files have changed since; %s", advice);
}

bool head_may_be(const struct head* head) {
  static const struct head empty;
  return memcmp(head, &empty, sizeof empty) == 0 || memcmp(head->magic, magic, sizeof magic) == 0;
}

uint64_t new_run(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) app_fail("no clock: %s", strerror(errno));
  uint64_t parts[] = {(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, (uint64_t)getpid()};
  uint64_t run = hash_bytes(0, parts, sizeof parts) | 1;
  APP_TRY(MPI_Bcast(&run, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
  return run;
}

/* --- segments --- */

size_t segment_head(int ranks) { return sizeof(struct segment) + (size_t)ranks * sizeof(uint64_t); }

size_t segment_measure(const struct words* words, int ranks) {
  size_t bytes = segment_head(ranks);
  for (size_t i = 0; i < words->count; i++) bytes += record_bytes(words->list[i].count, words->list[i].length);
  return (bytes + 7) / 8 * 8;
}

static uint64_t sum_of(const struct segment* segment, uint64_t run, uint64_t place) {
  return hash_bytes(run ^ place, &segment->bytes, segment->bytes - sizeof segment->sum);
}

void segment_write(struct segment* segment, size_t bytes, const struct words* words, int ranks, uint64_t task,
                   uint64_t run, uint64_t place) {
  char* to = (char*)segment;
  uint64_t* at = segment->ends; /* where the next record of each rank goes; in the end, its end */
  memset(to, 0, segment_head(ranks));
  for (size_t i = 0; i < words->count; i++) {
    const struct word* word = &words->list[i];
    at[word_owner(word->hash, ranks)] += record_bytes(word->count, word->length);
    segment->words += word->count;
  }
  uint64_t begin = segment_head(ranks);
  for (int rank = 0; rank < ranks; rank++) {
    uint64_t size = at[rank];
    at[rank] = begin;
    begin += size;
  }
  memset(to + begin, 0, bytes - begin);
  for (size_t i = 0; i < words->count; i++) {
    const struct word* word = &words->list[i];
    uint64_t* end = &at[word_owner(word->hash, ranks)];
    struct record record = {word->count, word->length, words->letters + word->text};
    *end = (uint64_t)(record_write(to + *end, &record) - to);
    if (i == words->count / 2) kill_in(KILL_TASK);
  }
  segment->task = task;
  segment->bytes = bytes;
  segment->sum = sum_of(segment, run, place);
}

bool segment_valid(const struct segment* segment, size_t room, int ranks, uint64_t run, uint64_t place) {
  return room >= segment_head(ranks) && segment->bytes >= segment_head(ranks) && segment->bytes <= room &&
         segment->bytes % 8 == 0 && segment->sum == sum_of(segment, run, place);
}

void segment_account(const struct segment* segment, const struct input* input, struct progress* progress) {
  progress->tasks++;
  progress->words += segment->words;
  progress->bytes += input_task_bytes(input, segment->task);
}

void segment_part(const struct segment* segment, int ranks, int rank, size_t* from, size_t* to) {
  *from = rank > 0 ? segment->ends[rank - 1] : segment_head(ranks);
  *to = segment->ends[rank];
}

void segment_reduce(const char* records, size_t bytes, struct words* words) {
  for (const char *at = records, *end = records + bytes; at < end;) {
    struct record record;
    at = record_read(at, &record);
    words_add(words, record.letters, record.length, record.count);
  }
}
