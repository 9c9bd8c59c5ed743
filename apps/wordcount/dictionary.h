/* A rank's private words: counts of the tasks in work, and where in the shared table each word is. */
#ifndef WORDCOUNT_DICTIONARY_H
#define WORDCOUNT_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#define PLACE_UNKNOWN UINT64_MAX

struct word {
  uint64_t hash;
  uint64_t count; /* not yet in the table */
  uint64_t place; /* slot in the segment of the rank that the hash chooses, or PLACE_UNKNOWN */
  size_t text;    /* where the letters begin in dictionary.letters */
  uint32_t length;
};

struct dictionary {
  struct word* words;
  size_t count, room;
  uint32_t* index; /* open addressing: position in words + 1, 0 = free */
  size_t index_size;
  char* letters;
  size_t letters_used, letters_room;
  uint32_t* counted; /* positions of the words with count > 0 */
  size_t counted_count, counted_room;
};

/* Count `times` more of a word (lower case, at least one letter) whose hash is that of word_hash(). Local. */
void dictionary_add(struct dictionary* dictionary, const char* text, uint32_t length, uint64_t hash, uint64_t times);

/* The word, NULL if it isn't there. Local. */
const struct word* dictionary_find(const struct dictionary* dictionary, const char* text, uint32_t length);

/* After the counts have gone to the table: forget them, keep the places. Local. */
void dictionary_clear_counts(struct dictionary* dictionary);

/* Give all memory back and be empty. Local. */
void dictionary_free(struct dictionary* dictionary);

/* Hash of a word, never 0; the table keeps it as mark of a used slot. Local. */
uint64_t word_hash(const char* text, uint32_t length);

#endif
