#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    walk.files = grow(walk.files, walk.room * sizeof *walk.files);
  }
  char* copy = strcpy(grow(NULL, strlen(path) + 1), path);
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
  input->begins = grow(NULL, (walk.count + 1) * sizeof *input->begins);
  input->begins[0] = 0;
  uint64_t used = 0;
  for (size_t i = 0; i < walk.count; i++) {
    const struct found* file = &walk.files[i];
    size_t bytes = strlen(file->path) + 1;
    uint64_t facts[3] = {file->bytes, (uint64_t)file->changed.tv_sec, (uint64_t)file->changed.tv_nsec};
    input->identity = hash_bytes(hash_bytes(input->identity, file->path, bytes), facts, sizeof facts);
    input->begins[i + 1] = input->begins[i] + file->bytes;
    input->names = grow(input->names, used + bytes);
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
    input->begins = grow(NULL, (facts[0] + 1) * sizeof *input->begins);
    input->names = grow(NULL, facts[1]);
  }
  broadcast(input->begins, (facts[0] + 1) * sizeof *input->begins);
  broadcast(input->names, facts[1]);
  input->files = facts[0];
  input->identity = facts[2];
  input->bytes = input->begins[input->files];
  input->tasks = (input->bytes + task_bytes - 1) / task_bytes;
  input->paths = grow(NULL, input->files * sizeof *input->paths);
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

void input_files_of(const struct input* input, uint64_t task, uint64_t* first, uint64_t* last) {
  *first = file_at(input, task_begin(input, task));
  *last = file_at(input, task_begin(input, task + 1) - 1);
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
  struct sized* left = grow(NULL, input->tasks * sizeof *left);
  uint64_t count = 0;
  for (uint64_t task = 0; task < input->tasks; task++) {
    uint64_t file = file_at(input, task_begin(input, task));
    if (!done[task]) left[count++] = (struct sized){task, input_file_bytes(input, file)};
  }
  uint64_t n = (uint64_t)ranks, heavy = 0, first = skew > 0 && ranks > 1; /* rank that the dealing in turn begins at */
  if (first > 0) {
    qsort(left, count, sizeof *left, longest_first);
    heavy = (uint64_t)(skew * (double)count);
  }
  struct deal deal = {grow(NULL, count * sizeof *deal.tasks), grow(NULL, (n + 1) * sizeof *deal.begins)};
  uint64_t used = 0;
  for (uint64_t rank = 0; rank < n; rank++) {
    deal.begins[rank] = used;
    if (rank < first)
      for (uint64_t i = 0; i < heavy; i++) deal.tasks[used++] = left[i].task;
    else
      for (uint64_t i = heavy + rank - first; i < count; i += n - first) deal.tasks[used++] = left[i].task;
  }
  deal.begins[n] = used;
  free(left);
  return deal;
}

void deal_free(struct deal* deal) {
  free(deal->tasks);
  free(deal->begins);
  *deal = (struct deal){0};
}

/* --- the text of a task --- */

/* Read up to `bytes` at `offset` behind what the text has. */
static bool append(struct text* text, read_bytes* read, void* argument, uint64_t offset, size_t bytes, size_t* got) {
  size_t needed = text->count + bytes + 1;
  if (needed > text->room) {
    text->room = needed + needed / 2;
    char* grown = realloc(text->bytes, text->room); /* not grow(): this thread may not end the job */
    if (grown == NULL) {
      snprintf(text->error, sizeof text->error, "no memory for %zu bytes of text", text->room);
      return false;
    }
    text->bytes = grown;
  }
  if (!read(argument, offset, bytes, text->bytes + text->count, got, text)) return false;
  text->count += *got;
  return true;
}

bool input_read_part(const struct input* input, uint64_t task, uint64_t file, read_bytes* read, void* argument,
                     struct text* text) {
  uint64_t begin = input->begins[file], size = input_file_bytes(input, file);
  uint64_t from = task_begin(input, task) > begin ? task_begin(input, task) - begin : 0;
  uint64_t to = task_begin(input, task + 1) - begin < size ? task_begin(input, task + 1) - begin : size;
  uint64_t at = from > 0 ? from - 1 : 0; /* one byte more tells whether a word goes on across `from` */
  size_t start = text->count, got = 0;
  if (!append(text, read, argument, at, to - at, &got)) return false;
  if (got < to - at) {
    snprintf(text->error, sizeof text->error, "%s: became shorter while its words were counted", input->paths[file]);
    return false;
  }
  size_t skip = start; /* letters of a word that begins before the task */
  if (from > 0)
    while (skip < text->count && lower_letter(text->bytes[skip]) != 0) skip++;
  size_t end = text->count;
  while (skip < end && to < size && lower_letter(text->bytes[end - 1]) != 0) {
    if (!append(text, read, argument, to + (text->count - end), 4096, &got) || got == 0) break;
    size_t known = text->count - got;
    while (known < text->count && lower_letter(text->bytes[known]) != 0) known++;
    bool ended = known < text->count;
    text->count = known;
    if (ended) break;
  }
  memset(text->bytes + start, ' ', skip - start);
  text->bytes[text->count++] = '\n';
  return text->error[0] == '\0';
}

struct posix_file {
  const char* path;
  int descriptor;
};

static bool read_posix(void* argument, uint64_t offset, size_t bytes, char* to, size_t* got, struct text* text) {
  const struct posix_file* file = argument;
  for (*got = 0; *got < bytes;) {
    ssize_t part = pread(file->descriptor, to + *got, bytes - *got, (off_t)(offset + *got));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) {
      snprintf(text->error, sizeof text->error, "%s: %s", file->path, strerror(errno));
      return false;
    }
    if (part == 0) break;
    *got += (size_t)part;
  }
  return true;
}

void input_read_file(const struct input* input, uint64_t task, uint64_t file, struct text* text) {
  struct posix_file argument = {input->paths[file], open(input->paths[file], O_RDONLY | O_CLOEXEC)};
  bool open = argument.descriptor >= 0;
  bool read = open && input_read_part(input, task, file, read_posix, &argument, text);
  if ((!open || close(argument.descriptor) != 0 || !read) && text->error[0] == '\0')
    snprintf(text->error, sizeof text->error, "%s: %s", argument.path, strerror(errno));
}

static void* read_task(void* argument) {
  struct reader* reader = argument;
  struct text* text = &reader->texts[reader->next];
  uint64_t first = 0, last = 0;
  input_files_of(reader->input, reader->task, &first, &last);
  for (uint64_t i = first; i <= last && text->error[0] == '\0'; i++)
    if (input_file_bytes(reader->input, i) > 0) input_read_file(reader->input, reader->task, i, text);
  return NULL;
}

void reader_start(struct reader* reader, uint64_t task) {
  reader->task = task;
  reader->texts[reader->next].count = 0;
  reader->texts[reader->next].error[0] = '\0';
  int code = pthread_create(&reader->thread, NULL, read_task, reader);
  if (code != 0) app_fail("no thread to read the input: %s", strerror(code));
}

struct text* reader_wait(struct reader* reader) {
  int code = pthread_join(reader->thread, NULL);
  if (code != 0) app_fail("the thread that reads the input: %s", strerror(code));
  struct text* text = &reader->texts[reader->next];
  if (text->error[0] != '\0') app_fail("%s", text->error);
  reader->next = 1 - reader->next;
  return text;
}

void reader_free(struct reader* reader) {
  free(reader->texts[0].bytes);
  free(reader->texts[1].bytes);
}
