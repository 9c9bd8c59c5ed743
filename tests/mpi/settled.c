/* What MPI_Win_get_info and sill_win_get_path answer: what was settled, not what was asked for. */
#include <sill/sill.h>

#include "files.h"

static int rank, size;
enum { bytes = 1 << 20 };

static MPI_Win open_with(const char* hints) {
  unsigned char* base = NULL;
  return open_storage("storage_alloc_unlink=true", hints, bytes, &base);
}

/* The window's answer for a key; NULL if it has none. The text lives until the next call. */
static const char* answer(MPI_Win win, const char* key) {
  static char value[MPI_MAX_INFO_VAL + 1];
  MPI_Info used;
  int found = 0;
  MPI_Win_get_info(win, &used);
  MPI_Info_get(used, key, MPI_MAX_INFO_VAL, value, &found);
  MPI_Info_free(&used);
  return found ? value : NULL;
}

static void check_answer(MPI_Win win, const char* key, const char* expected) {
  const char* value = answer(win, key);
  if (!expected) CHECK_SAY(!value, "%s is %s", key, value);
  if (expected) CHECK_SAY(value && strcmp(value, expected) == 0, "%s is %s, not %s", key, value, expected);
}

static void check_path(MPI_Win win, const char* expected) {
  char path[2048], real[4096], small[4] = "abc";
  size_t needed = 0, length = sizeof path;
  CHECK(realpath(expected, real) != NULL);
  CHECK_EQ(sill_win_get_path(win, NULL, &needed), MPI_SUCCESS);
  CHECK_EQ(needed, strlen(real) + 1);
  CHECK_EQ(sill_win_get_path(win, path, &length), MPI_SUCCESS);
  CHECK_EQ(length, needed);
  CHECK_SAY(strcmp(path, real) == 0, "%s, not %s", path, real);
  length = sizeof small;
  CHECK_EQ(class_of(sill_win_get_path(win, small, &length)), MPI_ERR_ARG);
  CHECK_EQ(length, needed);
  CHECK(strcmp(small, "abc") == 0);
}

static void check_no_path(MPI_Win win) {
  size_t length = 0;
  CHECK_EQ(class_of(sill_win_get_path(win, NULL, &length)), MPI_ERR_ARG);
}

static void names(void) {
  MPI_Win win = open_with("storage_alloc_filename=@/100%%.%r storage_alloc_factor=0.25");
  check_answer(win, "storage_alloc_filename", in_scratch("100%%.%d", rank));
  check_answer(win, "storage_alloc_factor", "0.25");
  check_answer(win, "storage_alloc_engine", "mapped");
  const char* path = answer(win, "storage_alloc_window_path");
  const char* forced = getenv("SILL_WINDOW_PATH");
  CHECK(path && (forced ? strcmp(path, forced) == 0 : strcmp(path, "native") == 0 || strcmp(path, "direct") == 0));
  check_path(win, in_scratch("100%.%d", rank));

  /* The answers are hints that lead to the same file. */
  MPI_Info used;
  MPI_Win_get_info(win, &used);
  MPI_Win_free(&win);
  void* base = NULL;
  MPI_Win_allocate(bytes, 1, used, MPI_COMM_WORLD, &base, &win);
  MPI_Info_free(&used);
  check_path(win, in_scratch("100%.%d", rank));
  MPI_Win_free(&win);
}

static void shares(void) {
  MPI_Win win = open_with("storage_alloc_filename=@/s.%r storage_alloc_factor=auto");
  check_answer(win, "storage_alloc_factor", "0");
  check_answer(win, "storage_alloc_filename", in_scratch("s.%d", rank));
  check_no_path(win);
  MPI_Win_free(&win);

  setenv("SILL_MEMORY_LIMIT", "524288", 1);
  win = open_with("storage_alloc_filename=@/s.%r storage_alloc_factor=auto storage_alloc_order=storage_first");
  const char* share = answer(win, "storage_alloc_factor");
  sill_win_stats stats = {.size = sizeof stats};
  CHECK_EQ(sill_win_get_stats(win, &stats), MPI_SUCCESS);
  CHECK_SAY(share && atof(share) > 0.5 && atof(share) < 1, "%s", share);
  const double wanted = atof(share) * bytes;
  CHECK((double)stats.storage_bytes >= wanted && (double)stats.storage_bytes < wanted + (double)sysconf(_SC_PAGESIZE));
  check_path(win, in_scratch("s.%d", rank));
  MPI_Win_free(&win);
  unsetenv("SILL_MEMORY_LIMIT");
}

static void engines(void) {
  MPI_Win win = open_with("storage_alloc_filename=@/e.%r storage_alloc_engine=staged");
  check_answer(win, "storage_alloc_engine", "staged");
  MPI_Win_free(&win);
  /* Memory first, and bytes that begin inside a page of the file: such pages can't be mapped. */
  win = open_with("storage_alloc_filename=@/e.%r storage_alloc_factor=0.5 storage_alloc_offset=100");
  check_answer(win, "storage_alloc_engine", "staged");
  MPI_Win_free(&win);
}

static unsigned char* memory_on(const char* hints) {
  MPI_Info info = make_info(hints);
  unsigned char* memory = NULL;
  MPI_Alloc_mem(bytes, info, &memory);
  MPI_Info_free(&info);
  return memory;
}

/* Windows of the program's own making answer for the memory below them. */
static void created(void) {
  check_context = "created";
  unsigned char* memory = memory_on("alloc_type=storage storage_alloc_filename=@/m.%r access_style=random");
  MPI_Win win;
  MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  check_answer(win, "alloc_type", "storage");
  check_answer(win, "storage_alloc_filename", in_scratch("m.%d", rank));
  check_answer(win, "access_style", "random");
  check_answer(win, "storage_alloc_window_path", "create");
  check_path(win, in_scratch("m.%d", rank));
  MPI_Win_free(&win);

  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  check_answer(win, "storage_alloc_filename", NULL);
  check_no_path(win);
  MPI_Win_attach(win, memory, bytes);
  check_answer(win, "storage_alloc_filename", in_scratch("m.%d", rank));
  check_path(win, in_scratch("m.%d", rank));
  MPI_Win_detach(win, memory);
  check_answer(win, "storage_alloc_filename", NULL);
  check_no_path(win);
  MPI_Win_free(&win);
  MPI_Free_mem(memory);
}

static void plain(void) {
  check_context = "plain";
  void* base = NULL;
  MPI_Win win;
  size_t length = 0;
  MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  check_answer(win, "storage_alloc_filename", NULL);
  check_answer(win, "storage_alloc_window_path", NULL);
  check_no_path(win);
  CHECK_EQ(class_of(sill_win_get_path(win, NULL, NULL)), MPI_ERR_ARG);
  CHECK_EQ(class_of(sill_win_get_path(MPI_WIN_NULL, NULL, &length)), MPI_ERR_ARG);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  names();
  shares();
  engines();
  created();
  plain();
  MPI_Finalize();
  return 0;
}
