/* Words and how often they came: private to a rank, and as bytes that travel between ranks and lie in windows. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct word {
  uint64_t hash;
  uint64_t count; /* 1 or more */
  size_t text;    /* where the letters begin in words.letters */
  size_t length;
};

struct words {
  struct word* list;
  size_t count, room;
  uint32_t* index; /* open addressing: position in list + 1, 0 = free */
  size_t index_size;
  char* letters;
  size_t letters_used, letters_room;
};

/* Count `times` more of a word (lower case, at least one letter). Local. */
void words_add(struct words* words, const char* text, size_t length, uint64_t times);

/* The word's count, 0 if it isn't there. Local. */
uint64_t words_count(const struct words* words, const char* text, size_t length);

/* Forget all words, but keep the memory. Local. */
void words_clear(struct words* words);

/* Count the words (runs of A-Z and a-z) of a text; calls between(argument), unless NULL, every millisecond or so. The
 * text becomes lower case. Local. */
void words_map(struct words* words, char* text, size_t bytes, void (*between)(void* argument), void* argument);

/* Lower case of a letter of ASCII, 0 for every other byte. Local. */
static inline char lower_letter(char byte) {
  char lower = (char)(byte | 32);
  return lower >= 'a' && lower <= 'z' ? lower : 0;
}

/* Give all memory back and be empty. Local. */
void words_free(struct words* words);

/* Which of so many ranks reduces a word. Local. */
int word_owner(uint64_t hash, int ranks);

/* The next hash of a byte string, 8 bytes at a time. Local. */
uint64_t hash_bytes(uint64_t hash, const void* data, size_t bytes);

/* --- as bytes: count and length in 7 bits a byte, the lowest first, then the letters --- */

struct record {
  uint64_t count;
  size_t length;
  const char* letters;
};

/* Bytes that a record takes. Local. */
size_t record_bytes(uint64_t count, size_t length);

/* Write a record; returns its end. Local. */
char* record_write(char* to, const struct record* record);

/* Read a record; returns its end. Local. */
const char* record_read(const char* from, struct record* record);

/* Bytes of records, one behind the other. */
struct list {
  char* data;
  size_t bytes;
};

/* All words, sorted by their letters as bytes. The caller frees its data. Local. */
struct list words_sorted(const struct words* words);

/* One sorted list of two sorted lists without a word in common. The caller frees its data. Local. */
struct list list_merge(const struct list* left, const struct list* right);
