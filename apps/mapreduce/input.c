#include "input.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app.h"
#include "words.h"

/* A file as rank 0 finds it. */
struct found {
  char* path;
  uint64_t bytes;
  struct timespec changed;
};

/* nftw() gives its callback no argument of the caller's. */
static struct {
  struct found* files;
  size_t count, room;
} walk;

static int visit(const char* path, const struct stat* status, int type, struct FTW* where) {
  if (type == FTW_SL && where->level == 0) app_fail("%s: is a symbolic link; name the folder it points to", path);
  if (type == FTW_DNR) app_fail("%s: can't read this folder", path);
  if (type == FTW_NS) app_fail("%s: can't look at this file", path);
  if (type != FTW_F || !S_ISREG(status->st_mode)) return 0;
  if (walk.count == walk.room) {
    walk.room = 2 * walk.room + 256;
    walk.files = app_grow(walk.files, walk.room * sizeof *walk.files);
  }
  char* copy = strcpy(app_allocate(strlen(path) + 1), path);
  walk.files[walk.count++] = (struct found){copy, (uint64_t)status->st_size, status->st_mtim};
  return 0;
}

static int by_path(const void* left, const void* right) {
  return strcmp(((const struct found*)left)->path, ((const struct found*)right)->path);
}

/* Rank 0: fill `input` with what lies below the folders. Returns the bytes of all names. */
static uint64_t find_files(char** folders, int count, struct input* input) {
  for (int i = 0; i < count; i++)
    if (nftw(folders[i], visit, 64, FTW_PHYS) != 0) app_fail("%s: %s", folders[i], strerror(errno));
  if (walk.count > 0) qsort(walk.files, walk.count, sizeof *walk.files, by_path);
  input->files = walk.count;
  input->begins = app_allocate((walk.count + 1) * sizeof *input->begins);
  input->begins[0] = 0;
  uint64_t used = 0;
  for (size_t i = 0; i < walk.count; i++) {
    const struct found* file = &walk.files[i];
    size_t bytes = strlen(file->path) + 1;
    uint64_t facts[3] = {file->bytes, (uint64_t)file->changed.tv_sec, (uint64_t)file->changed.tv_nsec};
    input->identity = hash_bytes(hash_bytes(input->identity, file->path, bytes), facts, sizeof facts);
    input->begins[i + 1] = input->begins[i] + file->bytes;
    input->names = app_grow(input->names, used + bytes);
    memcpy(input->names + used, file->path, bytes);
    used += bytes;
    free(file->path);
  }
  free(walk.files);
  memset(&walk, 0, sizeof walk);
  return used;
}

/* MPI_Bcast of any number of bytes from rank 0. */
static void broadcast(void* data, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += 1 << 28) {
    uint64_t part = bytes - at < 1 << 28 ? bytes - at : 1 << 28;
    APP_TRY(MPI_Bcast((char*)data + at, (int)part, MPI_BYTE, 0, MPI_COMM_WORLD));
  }
}

void input_list(char** folders, int count, uint64_t task_bytes, struct input* input) {
  *input = (struct input){.task_bytes = task_bytes};
  uint64_t facts[3] = {0, 0, 0}; /* files, bytes of names, identity */
  if (app_rank() == 0) {
    facts[1] = find_files(folders, count, input);
    facts[0] = input->files;
    facts[2] = input->identity;
  }
  broadcast(facts, sizeof facts);
  if (app_rank() != 0) {
    input->begins = app_allocate((facts[0] + 1) * sizeof *input->begins);
    input->names = app_allocate(facts[1]);
  }
  broadcast(input->begins, (facts[0] + 1) * sizeof *input->begins);
  broadcast(input->names, facts[1]);
  input->files = facts[0];
  input->identity = facts[2];
  input->bytes = input->begins[input->files];
  input->tasks = (input->bytes + task_bytes - 1) / task_bytes;
  input->paths = app_allocate(input->files * sizeof *input->paths);
  char* name = input->names;
  for (uint64_t i = 0; i < input->files; i++, name += strlen(name) + 1) input->paths[i] = name;
}

void input_free(struct input* input) {
  free(input->paths);
  free(input->begins);
  free(input->names);
  *input = (struct input){0};
}

static uint64_t task_begin(const struct input* input, uint64_t task) {
  return task < input->tasks ? task * input->task_bytes : input->bytes;
}

uint64_t input_task_bytes(const struct input* input, uint64_t task) {
  return task_begin(input, task + 1) - task_begin(input, task);
}

uint64_t input_file_bytes(const struct input* input, uint64_t file) {
  return input->begins[file + 1] - input->begins[file];
}

/* The last file that begins at or before `offset`: that in which this byte lies. */
static uint64_t file_at(const struct input* input, uint64_t offset) {
  uint64_t low = 0, high = input->files;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (input->begins[middle] <= offset) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/* --- who is to do what --- */

struct sized {
  uint64_t task, file_bytes;
};

static int longest_first(const void* left, const void* right) {
  const struct sized *a = left, *b = right;
  if (a->file_bytes != b->file_bytes) return a->file_bytes < b->file_bytes ? 1 : -1;
  return (a->task > b->task) - (a->task < b->task);
}

struct deal input_deal(const struct input* input, const bool* done, int ranks, double skew) {
  struct deal deal = {.tasks = app_allocate(input->tasks * sizeof *deal.tasks), .ranks = ranks};
  struct sized* left = app_allocate(input->tasks * sizeof *left);
  for (uint64_t task = 0; task < input->tasks; task++) {
    uint64_t file = file_at(input, task_begin(input, task));
    if (!done[task]) left[deal.count++] = (struct sized){task, input_file_bytes(input, file)};
  }
  if (skew > 0 && ranks > 1) {
    qsort(left, deal.count, sizeof *left, longest_first);
    deal.heavy = (uint64_t)(skew * (double)deal.count);
    deal.first = 1;
  }
  for (uint64_t i = 0; i < deal.count; i++) deal.tasks[i] = left[i].task;
  free(left);
  return deal;
}

bool deal_task(const struct deal* deal, int rank, uint64_t number, uint64_t* task) {
  uint64_t end = rank < deal->first ? deal->heavy : deal->count, at = number;
  if (rank >= deal->first)
    at = deal->heavy + (uint64_t)(rank - deal->first) + number * (uint64_t)(deal->ranks - deal->first);
  if (at < end) *task = deal->tasks[at];
  return at < end;
}

/* --- the text of a task --- */

bool input_part(const struct input* input, uint64_t task, uint64_t file, struct part* part) {
  uint64_t begin = input->begins[file], end = input->begins[file + 1];
  uint64_t from = task_begin(input, task), to = task_begin(input, task + 1);
  if (from < begin) from = begin;
  if (to > end) to = end;
  if (from >= to) return false;
  *part = (struct part){task, file, from - begin, to - begin};
  return true;
}

struct part input_first_part(const struct input* input, uint64_t task) {
  struct part part = {0};
  input_part(input, task, file_at(input, task_begin(input, task)), &part);
  return part;
}

bool input_next_part(const struct input* input, struct part* part) {
  uint64_t end = task_begin(input, part->task + 1);
  for (uint64_t file = part->file + 1; file < input->files && input->begins[file] < end; file++)
    if (input_part(input, part->task, file, part)) return true;
  return false;
}

/* What to read for a part: one byte before tells whether a word goes on across its begin, some behind hold the end of
 * its last word. */
static void prepare(struct text* text, const struct input* input, const struct part* part) {
  enum { behind = 4096 };
  uint64_t left = input_file_bytes(input, part->file) - part->to;
  text->at = part->from > 0 ? part->from - 1 : 0;
  text->wanted = part->to - text->at + (left < behind ? left : behind);
  if (text->wanted > text->room) text->bytes = app_grow(text->bytes, text->room = text->wanted);
}

static void check_read(const MPI_Status* status, size_t wanted, const char* path) {
  int count = 0;
  APP_TRY(MPI_Get_count(status, MPI_BYTE, &count));
  if ((size_t)count != wanted) app_fail("%s: became shorter while its words were counted", path);
}

/* Read more of a word that is longer than expected; false at the end of the file. */
static bool read_more(struct text* text, const struct input* input, uint64_t file) {
  uint64_t from = text->at + text->wanted, left = input_file_bytes(input, file) - from;
  int more = left < 1 << 16 ? (int)left : 1 << 16;
  MPI_Status status;
  if (more == 0) return false;
  text->bytes = app_grow(text->bytes, text->room = text->wanted + (size_t)more);
  APP_TRY(MPI_File_read_at(text->file, (MPI_Offset)from, text->bytes + text->wanted, more, MPI_BYTE, &status));
  check_read(&status, (size_t)more, input->paths[file]);
  text->wanted += (size_t)more;
  return true;
}

/* Leave out the end of a word that begins before the part, take in that of the part's last word. */
static void trim(struct text* text, const struct input* input, const struct part* part) {
  size_t begin = 0, end = part->to - text->at;
  if (part->from > 0)
    while (begin < end && lower_letter(text->bytes[begin]) != 0) begin++;
  if (begin < end && lower_letter(text->bytes[end - 1]) != 0)
    while ((end < text->wanted || read_more(text, input, part->file)) && lower_letter(text->bytes[end]) != 0) end++;
  text->words = text->bytes + begin;
  text->count = end - begin;
}

void text_start(struct text* text, const struct input* input, const struct part* part) {
  const char* path = input->paths[part->file];
  prepare(text, input, part);
  app_check(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &text->file), path);
  APP_TRY(
      MPI_File_iread_at(text->file, (MPI_Offset)text->at, text->bytes, (int)text->wanted, MPI_BYTE, &text->request));
}

void text_wait(struct text* text, const struct input* input, const struct part* part) {
  const char* path = input->paths[part->file];
  MPI_Status status;
  app_check(MPI_Wait(&text->request, &status), path);
  check_read(&status, text->wanted, path);
  trim(text, input, part);
  APP_TRY(MPI_File_close(&text->file));
}

void text_read_all(struct text* text, MPI_File file, const struct input* input, const struct part* part) {
  MPI_Status status;
  text->file = file;
  text->at = text->wanted = 0;
  if (part != NULL) prepare(text, input, part);
  APP_TRY(MPI_File_read_at_all(file, (MPI_Offset)text->at, text->bytes, (int)text->wanted, MPI_BYTE, &status));
  if (part == NULL) return;
  check_read(&status, text->wanted, input->paths[part->file]);
  trim(text, input, part);
}
