#include "words.h"

#include <stdlib.h>
#include <string.h>

#include "app.h"

/* One multiplication and two shifts mix every bit of the value into the upper and lower half. */
static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29) ^ (hash >> 47);
}

uint64_t hash_bytes(uint64_t hash, const void* data, size_t bytes) {
  const char* from = data;
  size_t at = 0;
  uint64_t value = 0;
  for (; at + 8 <= bytes; at += 8) {
    memcpy(&value, from + at, 8);
    hash = mix(hash, value);
  }
  value = 0;
  memcpy(&value, from + at, bytes - at);
  return mix(hash, value ^ (uint64_t)bytes << 56);
}

int word_owner(uint64_t hash, int ranks) { return (int)(hash % (uint64_t)ranks); }

/* The place in the index where the word is or would go. */
static size_t find(const struct words* words, const char* text, size_t length, uint64_t hash) {
  size_t mask = words->index_size - 1;
  for (size_t at = (hash >> 32) & mask;; at = (at + 1) & mask) {
    if (words->index[at] == 0) return at;
    const struct word* word = &words->list[words->index[at] - 1];
    if (word->hash == hash && word->length == length && memcmp(words->letters + word->text, text, length) == 0)
      return at;
  }
}

static void grow_index(struct words* words) {
  size_t size = words->index_size > 0 ? 2 * words->index_size : 1 << 14;
  words->index = app_grow(words->index, size * sizeof *words->index);
  memset(words->index, 0, size * sizeof *words->index);
  words->index_size = size;
  for (size_t i = 0; i < words->count; i++) {
    size_t at = (words->list[i].hash >> 32) & (size - 1);
    while (words->index[at] != 0) at = (at + 1) & (size - 1);
    words->index[at] = (uint32_t)(i + 1);
  }
}

static void append(struct words* words, const char* text, size_t length, uint64_t hash) {
  if (words->count == words->room) {
    words->room = 2 * words->room + 1024;
    words->list = app_grow(words->list, words->room * sizeof *words->list);
  }
  if (words->letters_used + length > words->letters_room) {
    words->letters_room = 2 * words->letters_room + length + 4096;
    words->letters = app_grow(words->letters, words->letters_room);
  }
  memcpy(words->letters + words->letters_used, text, length);
  words->list[words->count++] = (struct word){.hash = hash, .text = words->letters_used, .length = length};
  words->letters_used += length;
}

void words_add(struct words* words, const char* text, size_t length, uint64_t times) {
  if (2 * (words->count + 1) > words->index_size) grow_index(words);
  uint64_t hash = hash_bytes(0, text, length);
  size_t at = find(words, text, length, hash);
  if (words->index[at] == 0) {
    append(words, text, length, hash);
    words->index[at] = (uint32_t)words->count;
  }
  words->list[words->index[at] - 1].count += times;
}

uint64_t words_count(const struct words* words, const char* text, size_t length) {
  if (words->count == 0) return 0;
  uint32_t position = words->index[find(words, text, length, hash_bytes(0, text, length))];
  return position > 0 ? words->list[position - 1].count : 0;
}

void words_clear(struct words* words) {
  if (words->index_size > 0) memset(words->index, 0, words->index_size * sizeof *words->index);
  words->count = words->letters_used = 0;
}

void words_map(struct words* words, char* text, size_t bytes, void (*between)(void* argument), void* argument) {
  const size_t pause = 256 << 10;
  for (size_t at = 0, next = pause; at < bytes; at++) {
    if (between != NULL && at >= next) {
      between(argument);
      next = at + pause;
    }
    size_t begin = at;
    for (char lower; at < bytes && (lower = lower_letter(text[at])) != 0; at++) text[at] = lower;
    if (at > begin) words_add(words, text + begin, at - begin, 1);
  }
}

void words_free(struct words* words) {
  free(words->list);
  free(words->index);
  free(words->letters);
  *words = (struct words){0};
}

/* --- as bytes --- */

static size_t number_bytes(uint64_t value) {
  size_t bytes = 1;
  for (; value >= 128; value >>= 7) bytes++;
  return bytes;
}

static char* number_write(char* to, uint64_t value) {
  for (; value >= 128; value >>= 7) *to++ = (char)(value | 128);
  *to++ = (char)value;
  return to;
}

static const char* number_read(const char* from, uint64_t* value) {
  *value = 0;
  for (unsigned shift = 0;; shift += 7) {
    unsigned char byte = (unsigned char)*from++;
    *value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return from;
  }
}

size_t record_bytes(uint64_t count, size_t length) { return number_bytes(count) + number_bytes(length) + length; }

char* record_write(char* to, const struct record* record) {
  to = number_write(number_write(to, record->count), record->length);
  memcpy(to, record->letters, record->length);
  return to + record->length;
}

const char* record_read(const char* from, struct record* record) {
  uint64_t length = 0;
  from = number_read(number_read(from, &record->count), &length);
  *record = (struct record){record->count, length, from};
  return from + length;
}

/* As strcmp would have it, with the letters as bytes. */
static int compare(const struct record* a, const struct record* b) {
  int order = memcmp(a->letters, b->letters, a->length < b->length ? a->length : b->length);
  return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare_records(const void* left, const void* right) { return compare(left, right); }

struct list words_sorted(const struct words* words) {
  struct record* records = app_allocate(words->count * sizeof *records);
  struct list list = {NULL, 0};
  for (size_t i = 0; i < words->count; i++) {
    const struct word* word = &words->list[i];
    records[i] = (struct record){word->count, word->length, words->letters + word->text};
    list.bytes += record_bytes(word->count, word->length);
  }
  if (words->count > 0) qsort(records, words->count, sizeof *records, compare_records);
  char* to = list.data = app_allocate(list.bytes);
  for (size_t i = 0; i < words->count; i++) to = record_write(to, &records[i]);
  free(records);
  return list;
}

struct list list_merge(const struct list* left, const struct list* right) {
  struct list merged = {app_allocate(left->bytes + right->bytes), left->bytes + right->bytes};
  const char *a = left->data, *b = right->data;
  char* to = merged.data;
  while (a < left->data + left->bytes && b < right->data + right->bytes) {
    struct record first, second;
    const char* after_a = record_read(a, &first);
    const char* after_b = record_read(b, &second);
    bool take_a = compare(&first, &second) < 0;
    to = record_write(to, take_a ? &first : &second);
    if (take_a) {
      a = after_a;
    } else {
      b = after_b;
    }
  }
  size_t rest = (size_t)(left->data + left->bytes - a);
  memcpy(to, a, rest);
  memcpy(to + rest, b, (size_t)(right->data + right->bytes - b));
  return merged;
}
