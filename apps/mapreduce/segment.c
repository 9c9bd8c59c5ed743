#include "segment.h"

#include <stdlib.h>
#include <string.h>

#include "show.h"

size_t segment_head(int ranks) { return sizeof(struct segment) + (size_t)ranks * sizeof(uint64_t); }

static const struct word* counted(const struct words* words, size_t i) { return &words->list[words->counted[i]]; }

size_t segment_measure(const struct words* words, int ranks) {
  size_t bytes = segment_head(ranks);
  for (size_t i = 0; i < words->counted_count; i++)
    bytes += record_bytes(counted(words, i)->count, counted(words, i)->length);
  return (bytes + 7) / 8 * 8;
}

static uint64_t sum_of(const struct segment* segment, uint64_t run, uint64_t place) {
  return hash_bytes(run ^ place, &segment->bytes, segment->bytes - sizeof segment->sum);
}

void segment_write(char* to, size_t bytes, const struct words* words, int ranks, uint64_t task, uint64_t run,
                   uint64_t place) {
  struct segment* segment = (struct segment*)to;
  uint64_t* at = segment->ends; /* where the next record of each rank goes; in the end, its end */
  memset(to, 0, segment_head(ranks));
  for (size_t i = 0; i < words->counted_count; i++) {
    const struct word* word = counted(words, i);
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
  for (size_t i = 0; i < words->counted_count; i++) {
    const struct word* word = counted(words, i);
    uint64_t* end = &at[word_owner(word->hash, ranks)];
    struct record record = {word->count, word->length, words->letters + word->text};
    *end = (uint64_t)(record_write(to + *end, &record) - to);
    if (i == words->counted_count / 2) kill_in(KILL_TASK);
  }
  segment->task = task;
  segment->bytes = bytes;
  segment->sum = sum_of(segment, run, place);
}

bool segment_valid(const char* from, size_t room, int ranks, uint64_t run, uint64_t place) {
  const struct segment* segment = (const struct segment*)from;
  return room >= segment_head(ranks) && segment->bytes >= segment_head(ranks) && segment->bytes <= room &&
         segment->bytes % 8 == 0 && segment->sum == sum_of(segment, run, place);
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
