#include "result.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

struct entry {
  char* word;
  uint32_t length;
  uint64_t count;
};

struct entries {
  struct entry* list;
  size_t count, room;
  uint64_t words; /* sum of all counts */
};

static int collect(void* argument, const char* word, uint32_t length, uint64_t count) {
  struct entries* entries = argument;
  if (entries->count == entries->room) {
    entries->room = 2 * entries->room + 4096;
    entries->list = must_realloc(entries->list, entries->room * sizeof *entries->list);
  }
  char* copy = must_realloc(NULL, (size_t)length + 1);
  memcpy(copy, word, length);
  copy[length] = '\0';
  entries->list[entries->count++] = (struct entry){copy, length, count};
  entries->words += count;
  return 0;
}

static void forget(struct entries* entries) {
  for (size_t i = 0; i < entries->count; i++) free(entries->list[i].word);
  free(entries->list);
  *entries = (struct entries){0};
}

static int by_word(const void* left, const void* right) {
  return strcmp(((const struct entry*)left)->word, ((const struct entry*)right)->word);
}

static int by_count(const void* left, const void* right) {
  const struct entry* a = left;
  const struct entry* b = right;
  return a->count != b->count ? (a->count < b->count ? 1 : -1) : by_word(left, right);
}

static void sort(struct entries* entries, int (*order)(const void*, const void*)) {
  if (entries->count > 0) qsort(entries->list, entries->count, sizeof *entries->list, order);
}

/* Close a file that was written; every byte must have arrived. */
static int finish_file(FILE* file, const char* path) {
  int bad = ferror(file);
  if (fclose(file) != 0 || bad) return fail("%s: %s", path, strerror(errno));
  return 0;
}

static int write_counts(const struct entries* entries, const char* path) {
  FILE* file = fopen(path, "we");
  if (file == NULL) return fail("%s: %s", path, strerror(errno));
  for (size_t i = 0; i < entries->count; i++)
    fprintf(file, "%7" PRIu64 " %s\n", entries->list[i].count, entries->list[i].word);
  return finish_file(file, path);
}

/* Against a count that uses neither the tasks nor the table. */
static int verify(const struct entries* entries, const struct input* input) {
  struct dictionary serial = {0};
  int result = input_read_serially(input, &serial);
  if (result == 0 && serial.count != entries->count)
    result = fail("wrong: %zu different words, a serial count finds %zu", entries->count, serial.count);
  for (size_t i = 0; result == 0 && i < entries->count; i++) {
    const struct entry* entry = &entries->list[i];
    const struct word* word = dictionary_find(&serial, entry->word, entry->length);
    uint64_t count = word != NULL ? word->count : 0;
    if (count != entry->count)
      result = fail("wrong: %" PRIu64 " times %.64s, a serial count finds %" PRIu64, entry->count, entry->word, count);
  }
  dictionary_free(&serial);
  return result;
}

static void print_json(FILE* file, const struct entries* entries, size_t top, const struct table* table,
                       const struct run* run, bool verified) {
  const struct progress* last = &run->last;
  fprintf(file,
          "\"ranks\": %d, \"on_storage\": %s, \"bytes\": %" PRIu64 ", \"words\": %" PRIu64
          ", \"different_words\": %zu, \"seconds\": %.3f, \"words_per_s\": %.0f, ",
          table->ranks, table->on_storage ? "true" : "false", last->bytes, entries->words, entries->count,
          last->seconds, last->words_per_s);
  fprintf(file,
          "\"syncs\": %" PRIu64 ", \"sync_seconds\": %.3f, \"synced_bytes\": %" PRIu64 ", \"restored_bytes\": %" PRIu64
          ", \"restored_syncs\": %" PRIu64 ", \"verified\": %s, \"top\": [",
          table->commits, table->sync_s, last->synced, run->restored_bytes, run->restored_syncs,
          verified ? "true" : "false");
  for (size_t i = 0; i < top; i++)
    fprintf(file, "%s{\"word\": \"%s\", \"count\": %" PRIu64 "}", i > 0 ? ", " : "", entries->list[i].word,
            entries->list[i].count);
  fputs("]}\n", file);
}

static int write_json(const char* path, const struct entries* entries, size_t top, const struct table* table,
                      const struct run* run, bool verified) {
  FILE* file = fopen(path, "we");
  if (file == NULL) return fail("%s: %s", path, strerror(errno));
  fputc('{', file);
  print_json(file, entries, top, table, run, verified);
  return finish_file(file, path);
}

static void print_table(FILE* file, const struct entries* entries, size_t top, const struct table* table,
                        const struct run* run, bool verified) {
  char room[3][28];
  if (top > 0) fprintf(file, "\n%14s  word\n", "count");
  for (size_t i = 0; i < top; i++)
    fprintf(file, "%14s  %s\n", grouped(entries->list[i].count, room[0]), entries->list[i].word);
  fprintf(file, "\n  %s words, %s different, in %.1f s (%.1f M words/s)", grouped(entries->words, room[0]),
          grouped(entries->count, room[1]), run->last.seconds, run->last.words_per_s / 1e6);
  if (table->on_storage) fprintf(file, "; %.1f s of it in syncs", table->sync_s);
  fputc('\n', file);
  if (verified) fputs("  equal to a serial count: yes\n", file);
}

int result_report(struct table* table, const struct input* input, const struct options* options,
                  const struct run* run) {
  struct entries entries = {0};
  int result = table_visit(table, collect, &entries);
  if (result == 0 && options->counts != NULL) {
    sort(&entries, by_word);
    result = write_counts(&entries, options->counts);
  }
  if (result == 0 && options->verify) result = verify(&entries, input);
  sort(&entries, by_count);
  size_t top = (size_t)options->top < entries.count ? (size_t)options->top : entries.count;
  if (result == 0 && options->json != NULL)
    result = write_json(options->json, &entries, top, table, run, options->verify);
  if (result == 0 && show_is_json()) {
    fputs("{\"event\": \"done\", ", stdout);
    print_json(stdout, &entries, top, table, run, options->verify);
  } else if (result == 0) {
    print_table(stdout, &entries, top, table, run, options->verify);
  }
  fflush(stdout);
  forget(&entries);
  return result;
}
