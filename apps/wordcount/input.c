#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util.h"

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
  if (type == FTW_SL && where->level == 0) return fail("%s: is a symbolic link; name the folder it points to", path);
  if (type == FTW_DNR) return fail("%s: can't read this folder", path);
  if (type == FTW_NS) return fail("%s: can't look at this file", path);
  if (type != FTW_F || !S_ISREG(status->st_mode)) return 0;
  if (walk.count == walk.room) {
    walk.room = 2 * walk.room + 256;
    walk.files = must_realloc(walk.files, walk.room * sizeof *walk.files);
  }
  char* copy = strcpy(must_realloc(NULL, strlen(path) + 1), path);
  walk.files[walk.count++] = (struct found){copy, (uint64_t)status->st_size, status->st_mtim};
  return 0;
}

static int by_path(const void* left, const void* right) {
  return strcmp(((const struct found*)left)->path, ((const struct found*)right)->path);
}

/* Rank 0: fill `input` with what lies below the folders. */
static int find_files(char** folders, int count, struct input* input, uint64_t* names_bytes) {
  for (int i = 0; i < count; i++) {
    errno = 0;
    if (nftw(folders[i], visit, 64, FTW_PHYS) != 0) return fail("%s: %s", folders[i], strerror(errno));
  }
  if (walk.count > 0) qsort(walk.files, walk.count, sizeof *walk.files, by_path);
  input->files = walk.count;
  input->begins = must_realloc(NULL, (walk.count + 1) * sizeof *input->begins);
  input->begins[0] = 0;
  *names_bytes = 0;
  for (size_t i = 0; i < walk.count; i++) {
    const struct found* file = &walk.files[i];
    size_t name_bytes = strlen(file->path) + 1;
    uint64_t facts[3] = {file->bytes, (uint64_t)file->changed.tv_sec, (uint64_t)file->changed.tv_nsec};
    input->identity = hash_bytes(hash_bytes(input->identity, file->path, name_bytes), facts, sizeof facts);
    input->begins[i + 1] = input->begins[i] + file->bytes;
    input->names = must_realloc(input->names, *names_bytes + name_bytes);
    memcpy(input->names + *names_bytes, file->path, name_bytes);
    *names_bytes += name_bytes;
  }
  return 0;
}

static void forget_walk(void) {
  for (size_t i = 0; i < walk.count; i++) free(walk.files[i].path);
  free(walk.files);
  memset(&walk, 0, sizeof walk);
}

/* MPI_Bcast of any number of bytes from rank 0. */
static int broadcast(void* data, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += 1 << 28) {
    uint64_t part = bytes - at < 1 << 28 ? bytes - at : 1 << 28;
    TRY_MPI(MPI_Bcast((char*)data + at, (int)part, MPI_BYTE, 0, MPI_COMM_WORLD));
  }
  return 0;
}

int input_list(char** folders, int count, uint64_t task_bytes, struct input* input) {
  int rank = 0;
  uint64_t sizes[3] = {0, 0, 0}; /* files, bytes of names, identity */
  TRY_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  *input = (struct input){.task_bytes = task_bytes};
  int result = 0;
  if (rank == 0) {
    result = find_files(folders, count, input, &sizes[1]);
    forget_walk();
    sizes[0] = input->files;
    sizes[2] = input->identity;
  }
  if (agree(result) != 0) return -1;
  if (broadcast(sizes, sizeof sizes) != 0) return -1;
  if (rank != 0) {
    input->begins = must_realloc(NULL, (sizes[0] + 1) * sizeof *input->begins);
    input->names = must_realloc(NULL, sizes[1]);
  }
  if (broadcast(input->begins, (sizes[0] + 1) * sizeof *input->begins) != 0) return -1;
  if (broadcast(input->names, sizes[1]) != 0) return -1;
  input->files = sizes[0];
  input->identity = sizes[2];
  input->bytes = input->begins[input->files];
  input->tasks = (input->bytes + task_bytes - 1) / task_bytes;
  input->paths = must_realloc(NULL, input->files * sizeof *input->paths);
  char* name = input->names;
  for (uint64_t i = 0; i < input->files; i++, name += strlen(name) + 1) input->paths[i] = name;
  return 0;
}

uint64_t input_bytes_of(const struct input* input, uint64_t tasks) {
  return tasks < input->tasks ? tasks * input->task_bytes : input->bytes;
}

/* Lower case of a letter, 0 for every other byte. */
static unsigned char letter[256];

static void prepare_letters(void) {
  if (letter['a'] != 0) return;
  for (int i = 0; i < 26; i++) letter['A' + i] = letter['a' + i] = (unsigned char)('a' + i);
}

/* The bytes of a file that a task looks at. */
struct text {
  char* bytes;
  size_t count, room;
};

/* Append up to `bytes` bytes at `offset` of the file; *got tells how many there were. */
static int append(struct text* text, int file, const char* path, uint64_t offset, size_t bytes, size_t* got) {
  if (text->count + bytes > text->room) {
    text->room = 2 * text->room + bytes;
    text->bytes = must_realloc(text->bytes, text->room);
  }
  *got = 0;
  while (*got < bytes) {
    ssize_t part = pread(file, text->bytes + text->count, bytes - *got, (off_t)(offset + *got));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return fail("%s: %s", path, strerror(errno));
    if (part == 0) break;
    *got += (size_t)part;
    text->count += (size_t)part;
  }
  return 0;
}

/* Read bytes from..to of the file and on to the end of a word that begins in them. */
static int load(struct text* text, int file, const char* path, uint64_t from, uint64_t to) {
  size_t got = 0;
  text->count = 0;
  if (append(text, file, path, from, to - from, &got) != 0) return -1;
  if (got < to - from) return fail("%s: became shorter while its words were counted", path);
  size_t checked = text->count - 1;
  while (checked < text->count && letter[(unsigned char)text->bytes[checked]] != 0) {
    if (++checked < text->count) continue;
    if (append(text, file, path, from + text->count, 4096, &got) != 0) return -1;
  }
  text->count = checked;
  return 0;
}

/* Count all words from `from` on; they get lower case on the way. */
static int split(struct text* text, size_t from, struct dictionary* dictionary, uint64_t* words) {
  size_t at = from;
  while (at < text->count) {
    if (letter[(unsigned char)text->bytes[at]] == 0) {
      at++;
      continue;
    }
    size_t begin = at;
    for (unsigned char small; at < text->count && (small = letter[(unsigned char)text->bytes[at]]) != 0; at++)
      text->bytes[at] = (char)small;
    if (at - begin > INT32_MAX) return fail("a word of %zu letters is too long", at - begin);
    uint32_t length = (uint32_t)(at - begin);
    dictionary_add(dictionary, text->bytes + begin, length, word_hash(text->bytes + begin, length), 1);
    ++*words;
  }
  return 0;
}

/* The words whose first letter lies in bytes from..to of a file. */
static int read_part(const char* path, uint64_t from, uint64_t to, struct dictionary* dictionary, uint64_t* words) {
  static struct text text; /* keeps its memory from task to task */
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return fail("%s: %s", path, strerror(errno));
  uint64_t begin = from > 0 ? from - 1 : 0; /* one byte more tells whether a word goes on across `from` */
  int result = load(&text, file, path, begin, to);
  if (close(file) != 0 && result == 0) result = fail("%s: %s", path, strerror(errno));
  if (result != 0) return -1;
  size_t at = 0;
  if (from > 0)
    while (at < text.count && letter[(unsigned char)text.bytes[at]] != 0) at++;
  return split(&text, at, dictionary, words);
}

/* The last file that begins at or before `offset` and isn't empty there. */
static uint64_t file_at(const struct input* input, uint64_t offset) {
  uint64_t low = 0;
  uint64_t high = input->files;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (input->begins[middle] <= offset)
      low = middle;
    else
      high = middle;
  }
  return low;
}

int input_read_task(const struct input* input, uint64_t task, struct dictionary* dictionary, uint64_t* words) {
  prepare_letters();
  uint64_t at = task * input->task_bytes;
  uint64_t end = input_bytes_of(input, task + 1);
  for (uint64_t file = file_at(input, at); at < end; file++) {
    uint64_t begin = input->begins[file];
    uint64_t to = input->begins[file + 1] < end ? input->begins[file + 1] : end;
    if (to > at && read_part(input->paths[file], at - begin, to - begin, dictionary, words) != 0) return -1;
    at = to;
  }
  return 0;
}

/* One file, a byte at a time. */
static int read_plainly(const char* path, struct dictionary* dictionary) {
  FILE* file = fopen(path, "re");
  if (file == NULL) return fail("%s: %s", path, strerror(errno));
  struct text word = {0};
  for (int byte = 0; byte != EOF;) {
    byte = getc_unlocked(file);
    bool upper = byte >= 'A' && byte <= 'Z';
    if (upper || (byte >= 'a' && byte <= 'z')) {
      if (word.count == word.room) word.bytes = must_realloc(word.bytes, word.room = 2 * word.room + 64);
      word.bytes[word.count++] = (char)(upper ? byte - 'A' + 'a' : byte);
    } else if (word.count > 0) {
      uint32_t length = (uint32_t)word.count;
      dictionary_add(dictionary, word.bytes, length, word_hash(word.bytes, length), 1);
      word.count = 0;
    }
  }
  int result = ferror(file) ? fail("%s: can't be read", path) : 0;
  free(word.bytes);
  if (fclose(file) != 0 && result == 0) result = fail("%s: %s", path, strerror(errno));
  return result;
}

int input_read_serially(const struct input* input, struct dictionary* dictionary) {
  for (uint64_t i = 0; i < input->files; i++)
    if (read_plainly(input->paths[i], dictionary) != 0) return -1;
  return 0;
}

void input_free(struct input* input) {
  free(input->paths);
  free(input->begins);
  free(input->names);
  *input = (struct input){0};
}
