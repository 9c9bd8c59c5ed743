#include "dictionary.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

uint64_t word_hash(const char* text, uint32_t length) {
  uint64_t hash = hash_bytes(0, text, length);
  return hash != 0 ? hash : 1;
}

/* The place in the index where the word is or would go. */
static size_t find_index(const struct dictionary* dictionary, const char* text, uint32_t length, uint64_t hash) {
  size_t mask = dictionary->index_size - 1;
  for (size_t at = (hash >> 32) & mask;; at = (at + 1) & mask) {
    if (dictionary->index[at] == 0) return at;
    const struct word* word = &dictionary->words[dictionary->index[at] - 1];
    if (word->hash == hash && word->length == length && memcmp(dictionary->letters + word->text, text, length) == 0)
      return at;
  }
}

static void grow_index(struct dictionary* dictionary) {
  size_t size = dictionary->index_size > 0 ? 2 * dictionary->index_size : 1 << 14;
  free(dictionary->index);
  dictionary->index = must_realloc(NULL, size * sizeof *dictionary->index);
  memset(dictionary->index, 0, size * sizeof *dictionary->index);
  dictionary->index_size = size;
  for (size_t i = 0; i < dictionary->count; i++) {
    size_t at = (dictionary->words[i].hash >> 32) & (size - 1);
    while (dictionary->index[at] != 0) at = (at + 1) & (size - 1);
    dictionary->index[at] = (uint32_t)(i + 1);
  }
}

static size_t append_word(struct dictionary* dictionary, const char* text, uint32_t length, uint64_t hash) {
  if (dictionary->count == dictionary->room) {
    dictionary->room = 2 * dictionary->room + 1024;
    dictionary->words = must_realloc(dictionary->words, dictionary->room * sizeof *dictionary->words);
  }
  if (dictionary->letters_used + length > dictionary->letters_room) {
    dictionary->letters_room = 2 * dictionary->letters_room + length + 4096;
    dictionary->letters = must_realloc(dictionary->letters, dictionary->letters_room);
  }
  memcpy(dictionary->letters + dictionary->letters_used, text, length);
  dictionary->words[dictionary->count] =
      (struct word){.hash = hash, .place = PLACE_UNKNOWN, .text = dictionary->letters_used, .length = length};
  dictionary->letters_used += length;
  return dictionary->count++;
}

static void note_counted(struct dictionary* dictionary, size_t position) {
  if (dictionary->counted_count == dictionary->counted_room) {
    dictionary->counted_room = 2 * dictionary->counted_room + 1024;
    dictionary->counted = must_realloc(dictionary->counted, dictionary->counted_room * sizeof *dictionary->counted);
  }
  dictionary->counted[dictionary->counted_count++] = (uint32_t)position;
}

void dictionary_add(struct dictionary* dictionary, const char* text, uint32_t length, uint64_t hash, uint64_t times) {
  if (2 * (dictionary->count + 1) > dictionary->index_size) grow_index(dictionary);
  size_t at = find_index(dictionary, text, length, hash);
  if (dictionary->index[at] == 0) dictionary->index[at] = (uint32_t)(append_word(dictionary, text, length, hash) + 1);
  size_t position = dictionary->index[at] - 1;
  if (dictionary->words[position].count == 0) note_counted(dictionary, position);
  dictionary->words[position].count += times;
}

const struct word* dictionary_find(const struct dictionary* dictionary, const char* text, uint32_t length) {
  if (dictionary->count == 0) return NULL;
  uint32_t position = dictionary->index[find_index(dictionary, text, length, word_hash(text, length))];
  return position > 0 ? &dictionary->words[position - 1] : NULL;
}

void dictionary_clear_counts(struct dictionary* dictionary) {
  for (size_t i = 0; i < dictionary->counted_count; i++) dictionary->words[dictionary->counted[i]].count = 0;
  dictionary->counted_count = 0;
}

void dictionary_free(struct dictionary* dictionary) {
  free(dictionary->words);
  free(dictionary->index);
  free(dictionary->letters);
  free(dictionary->counted);
  *dictionary = (struct dictionary){0};
}
