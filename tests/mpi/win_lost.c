/* A window's file is deleted, moved, replaced or cut by somebody else: its owner's next sync says so, sill_win_sync_all
 * and the free say so to all ranks, and nothing else is disturbed.
 */
#include <sill/sill.h>

#include "files.h"

enum { bytes = 20000 };

static char folder[512], path[600];

static void make_path(int number) {
  snprintf(folder, sizeof folder, "%s", in_scratch("lost%d", number));
  snprintf(path, sizeof path, "%s/w.0", folder);
}

static void delete_file(void) { CHECK_EQ(unlink(path), 0); }

static void move_file(void) { CHECK_EQ(rename(path, in_scratch("moved", 0)), 0); }

static void delete_folder(void) {
  char name[700];
  for (int rank = 0; rank < 2; rank++) {
    snprintf(name, sizeof name, "%s/w.%d", folder, rank);
    unlink(name);
    snprintf(name, sizeof name, "%s/w.%d.sill", folder, rank);
    unlink(name);
  }
  CHECK_SAY(rmdir(folder) == 0, "%s: %s", folder, strerror(errno));
}

static void replace_file(void) {
  const char* other = in_scratch("other", 0);
  write_file(other, 0, 7, bytes);
  CHECK_EQ(rename(other, path), 0);
}

static void cut_file(void) { CHECK_EQ(truncate(path, 100), 0); }

struct loss {
  const char* name;
  void (*happen)(void);
  const char* hint; /* beside the usual ones */
  int sync, freed;  /* error classes */
};

/* The window's own sync, on the rank whose file it is; all others see theirs, or a neighbour's that is gone. */
static void check_sync(MPI_Win win, int expected) {
  const int code = MPI_Win_sync(win);
  if (rank_in(MPI_COMM_WORLD) != 0) return;
  CHECK_EQ(class_of(code), expected);
  if (expected != MPI_SUCCESS) CHECK_SAY(strstr(sill_error_string(), path), "text: %s", sill_error_string());
}

static void lose(const struct loss* loss, int number) {
  unsigned char* base;
  MPI_Win win;
  check_context = loss->name;
  make_path(number);
  const int rank = rank_in(MPI_COMM_WORLD);
  if (rank == 0) CHECK_EQ(mkdir(folder, 0700), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Info info = make_info("alloc_type=storage");
  char name[700];
  snprintf(name, sizeof name, "%s/w.%%r", folder);
  MPI_Info_set(info, "storage_alloc_filename", name);
  if (loss->hint) MPI_Info_set(info, loss->hint, strcmp(loss->hint, "storage_alloc_engine") ? "true" : "staged");
  MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &base, &win);
  MPI_Info_free(&info);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  fill_pattern(base, bytes, rank, number);
  CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) loss->happen();
  MPI_Barrier(MPI_COMM_WORLD);
  check_sync(win, loss->sync);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(class_of(sill_win_sync_all(win)), loss->sync);
  CHECK_EQ(class_of(MPI_Win_free(&win)), loss->freed);
  CHECK(win == MPI_WIN_NULL);
  if (rank == 1 && loss->happen != delete_folder && !(loss->hint && strstr(loss->hint, "unlink"))) {
    unsigned char mine[bytes]; /* what belongs to others is as it should be */
    snprintf(name, sizeof name, "%s/w.1", folder);
    read_file(name, 0, mine, bytes);
    check_pattern(mine, 0, bytes, rank, number);
  }
}

/* The same of memory, which is a rank's own. */
static void lose_memory(int number) {
  unsigned char* base = NULL;
  MPI_Win win;
  check_context = "memory";
  make_path(number);
  const int owner = rank_in(MPI_COMM_WORLD) == 0;
  if (owner) {
    CHECK_EQ(mkdir(folder, 0700), 0);
    MPI_Info info = make_info("alloc_type=storage");
    MPI_Info_set(info, "storage_alloc_filename", path);
    MPI_Alloc_mem(bytes, info, &base);
    MPI_Info_free(&info);
    fill_pattern(base, bytes, 0, number);
  }
  MPI_Win_create(base, owner ? bytes : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  if (owner) check_sync(win, MPI_SUCCESS);
  if (owner) delete_file();
  if (owner) check_sync(win, MPI_ERR_NO_SUCH_FILE);
  MPI_Win_free(&win);
  if (owner) CHECK_EQ(class_of(MPI_Free_mem(base)), MPI_ERR_NO_SUCH_FILE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK_EQ(size_of(MPI_COMM_WORLD), 2);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const char* const staged = "storage_alloc_engine";
  const char* const unlinked = "storage_alloc_unlink"; /* nobody will look for the name of such a file */
  const char* const discard = "storage_alloc_discard";
  const struct loss all[] = {
      {"deleted", delete_file, NULL, MPI_ERR_NO_SUCH_FILE, MPI_ERR_NO_SUCH_FILE},
      {"deleted, staged", delete_file, staged, MPI_ERR_NO_SUCH_FILE, MPI_ERR_NO_SUCH_FILE},
      {"deleted, unlink", delete_file, unlinked, MPI_SUCCESS, MPI_SUCCESS},
      {"deleted, discard", delete_file, discard, MPI_ERR_NO_SUCH_FILE, MPI_SUCCESS},
      {"moved", move_file, NULL, MPI_ERR_NO_SUCH_FILE, MPI_ERR_NO_SUCH_FILE},
      {"folder deleted", delete_folder, NULL, MPI_ERR_NO_SUCH_FILE, MPI_ERR_NO_SUCH_FILE},
      {"replaced", replace_file, NULL, MPI_ERR_BAD_FILE, MPI_ERR_BAD_FILE},
      {"replaced, staged", replace_file, staged, MPI_ERR_BAD_FILE, MPI_ERR_BAD_FILE},
      {"cut", cut_file, NULL, MPI_ERR_BAD_FILE, MPI_ERR_BAD_FILE},
      {"cut, unlink", cut_file, unlinked, MPI_ERR_BAD_FILE, MPI_SUCCESS},
      {"cut, staged", cut_file, staged, MPI_SUCCESS, MPI_SUCCESS}, /* a sync writes what is missing */
  };
  const int count = sizeof all / sizeof all[0];
  for (int i = 0; i < count; i++) lose(&all[i], i);
  lose_memory(count);
  MPI_Finalize();
  return 0;
}
