#include "show.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static struct {
  enum progress_mode mode;
  bool speak;
  bool line_open;
} show = {.mode = PROGRESS_NONE};

void show_prepare(enum progress_mode mode, bool speak) {
  show.mode = mode != PROGRESS_AUTO ? mode : isatty(STDOUT_FILENO) ? PROGRESS_LINE : PROGRESS_PLAIN;
  show.speak = speak;
}

bool show_is_json(void) { return show.mode == PROGRESS_JSON; }

FILE* show_text(void) { return show.speak && show.mode != PROGRESS_JSON ? stdout : NULL; }

char* grouped(uint64_t number, char* room) {
  char digits[24];
  int count = snprintf(digits, sizeof digits, "%" PRIu64, number);
  char* to = room;
  for (int i = 0; i < count; i++) {
    if (i > 0 && (count - i) % 3 == 0) *to++ = ',';
    *to++ = digits[i];
  }
  *to = '\0';
  return room;
}

static double megabytes(uint64_t bytes) { return (double)bytes / 1e6; }

static double percent(uint64_t part, uint64_t whole) {
  return whole > 0 ? 100.0 * (double)part / (double)whole : 100.0;
}

void show_start(int ranks, uint64_t files, uint64_t bytes, uint64_t table_bytes, bool on_storage) {
  if (!show.speak) return;
  if (show.mode == PROGRESS_JSON)
    printf("{\"event\": \"start\", \"ranks\": %d, \"files\": %" PRIu64 ", \"bytes\": %" PRIu64
           ", \"table_bytes\": %" PRIu64 ", \"on_storage\": %s}\n",
           ranks, files, bytes, table_bytes, on_storage ? "true" : "false");
  else if (show.mode != PROGRESS_NONE)
    printf("sill-wordcount: %d rank%s, %" PRIu64 " files, %.1f MB of text; the table is %s, %.1f MB\n", ranks,
           ranks == 1 ? "" : "s", files, megabytes(bytes), on_storage ? "on storage" : "in memory",
           megabytes(table_bytes));
  fflush(stdout);
}

void show_restored(uint64_t syncs, uint64_t bytes, uint64_t bytes_total, uint64_t words) {
  if (!show.speak) return;
  char room[28];
  if (show.mode == PROGRESS_JSON)
    printf("{\"event\": \"restored\", \"syncs\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"bytes_total\": %" PRIu64
           ", \"words\": %" PRIu64 "}\n",
           syncs, bytes, bytes_total, words);
  else if (show.mode != PROGRESS_NONE)
    printf("  goes on from sync %" PRIu64 ": %.1f of %.1f MB (%.0f %%), %s words\n", syncs, megabytes(bytes),
           megabytes(bytes_total), percent(bytes, bytes_total), grouped(words, room));
  fflush(stdout);
}

double show_interval_s(void) { return show.mode == PROGRESS_PLAIN ? 1.0 : 0.1; }

static void show_event(const struct progress* progress) {
  printf("{\"event\": \"progress\", \"bytes\": %" PRIu64 ", \"bytes_total\": %" PRIu64 ", \"words\": %" PRIu64
         ", \"words_per_s\": %.0f, \"seconds\": %.3f, \"left_s\": %.1f, \"syncs\": %" PRIu64,
         progress->bytes, progress->bytes_total, progress->words, progress->words_per_s, progress->seconds,
         progress->left_s, progress->syncs);
  if (progress->storage_known)
    printf(", \"dirty\": %" PRIu64 ", \"synced\": %" PRIu64, progress->dirty, progress->synced);
  puts("}");
}

void show_progress(const struct progress* progress) {
  if (!show.speak || show.mode == PROGRESS_NONE) return;
  if (show.mode == PROGRESS_JSON) {
    show_event(progress);
  } else {
    printf("%s  %.1f of %.1f MB  %3.0f %%  %5.2f M words/s", show.mode == PROGRESS_LINE ? "\r\033[K" : "",
           megabytes(progress->bytes), megabytes(progress->bytes_total),
           percent(progress->bytes, progress->bytes_total), progress->words_per_s / 1e6);
    if (progress->storage_known)
      printf("  dirty %.1f MB  synced %.1f MB  sync %" PRIu64, megabytes(progress->dirty), megabytes(progress->synced),
             progress->syncs);
    if (progress->left_s >= 0) printf("  %.0f s left", progress->left_s);
    if (show.mode == PROGRESS_PLAIN) putchar('\n');
    show.line_open = show.mode == PROGRESS_LINE;
  }
  fflush(stdout);
}

void show_end_line(void) {
  if (show.line_open) putchar('\n');
  show.line_open = false;
}

void show_kill(int rank, const char* stage) {
  if (show.mode == PROGRESS_JSON)
    printf("{\"event\": \"kill\", \"rank\": %d, \"pid\": %ld, \"stage\": \"%s\"}\n", rank, (long)getpid(), stage);
  else if (show.mode != PROGRESS_NONE)
    printf("%s  rank %d (process %ld) kills itself: SIGKILL %s\n", show.mode == PROGRESS_LINE ? "\n" : "", rank,
           (long)getpid(), stage);
  fflush(stdout);
}
