/* What the other hints do to the file: rights, blocks, discard, staging, unlink; and what MPI_Win_get_info tells. */
#include "files.h"

static int rank, size;
enum { bytes = 1 << 20 };

static MPI_Win open_with(const char* hints, unsigned char** base) {
  return open_storage("storage_alloc_filename=@/f.%r", hints, bytes, base);
}

static struct stat status_of(const char* path) {
  struct stat status;
  CHECK_SAY(stat(path, &status) == 0, "%s is missing", path);
  return status;
}

static void remove_files(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(unlink(in_scratch("f.%d", rank)), 0);
  CHECK_EQ(unlink(in_scratch("f.%d.sill", rank)), 0);
}

static void check_info(MPI_Win win, const char* key, const char* expected) {
  MPI_Info used;
  MPI_Win_get_info(win, &used);
  char value[MPI_MAX_INFO_VAL + 1];
  int found = 0;
  MPI_Info_get(used, key, MPI_MAX_INFO_VAL, value, &found);
  if (!expected) CHECK_SAY(!found, "%s is reported as %s", key, value);
  if (expected)
    CHECK_SAY(found && strcmp(value, expected) == 0, "%s is %s, not %s", key, found ? value : "unset", expected);
  MPI_Info_free(&used);
}

static void permissions(void) {
  const struct {
    const char* hints;
    mode_t mode;
  } cases[] = {
      {"", 0600}, {"file_perm=640", 0640}, {"file_perm=0444", 0444}, {"file_perm=S_IRUSR|S_IWUSR|S_IRGRP", 0640}};
  const mode_t old = umask(077); /* asked for is asked for */
  for (int i = 0; i < 4; i++) {
    unsigned char* base = NULL;
    MPI_Win win = open_with(cases[i].hints, &base);
    CHECK_EQ(status_of(in_scratch("f.%d", rank)).st_mode & 07777, cases[i].mode);
    base[5] = 1;
    CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
    MPI_Win_free(&win);
    remove_files();
  }
  umask(old);
}

static void blocks(void) {
  unsigned char* base = NULL;
  MPI_Win win = open_with("storage_alloc_reserve=full", &base);
  CHECK(status_of(in_scratch("f.%d", rank)).st_blocks * 512 >= bytes);
  MPI_Win_free(&win);
  remove_files();
  win = open_with("storage_alloc_reserve=sparse", &base);
  CHECK_EQ(status_of(in_scratch("f.%d", rank)).st_size, bytes);
  CHECK(status_of(in_scratch("f.%d", rank)).st_blocks * 512 < bytes / 2);
  base[bytes - 1] = 9;
  CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
  unsigned char last = 0;
  read_file(in_scratch("f.%d", rank), bytes - 1, &last, 1);
  CHECK_EQ(last, 9);
  MPI_Win_free(&win);
  remove_files();
}

/* Staged: the file changes at a sync and not before. */
static void staged(void) {
  unsigned char *base = NULL, byte = 0;
  MPI_Win win = open_with("storage_alloc_engine=staged", &base);
  fill_pattern(base, bytes, rank, 1);
  CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
  unsigned char* read = malloc(bytes);
  read_file(in_scratch("f.%d", rank), 0, read, bytes);
  check_pattern(read, 0, bytes, rank, 1);
  base[1000] ^= 0xFF;
  read_file(in_scratch("f.%d", rank), 1000, &byte, 1);
  CHECK_EQ(byte, pattern(rank, 1000, 1));
  CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
  read_file(in_scratch("f.%d", rank), 1000, &byte, 1);
  CHECK_EQ(byte, base[1000]);
  base[2000] ^= 0xFF;
  MPI_Win_free(&win); /* syncs */
  read_file(in_scratch("f.%d", rank), 2000, &byte, 1);
  CHECK(byte != pattern(rank, 2000, 1));

  win = open_with("storage_alloc_engine=staged storage_alloc_discard=true", &base);
  CHECK_EQ(base[999], pattern(rank, 999, 1));
  base[3000] ^= 0xFF;
  MPI_Win_free(&win); /* doesn't */
  read_file(in_scratch("f.%d", rank), 3000, &byte, 1);
  CHECK_EQ(byte, pattern(rank, 3000, 1));
  free(read);
  remove_files();
}

static void unlinked(void) {
  unsigned char* base = NULL;
  MPI_Win win = open_with("storage_alloc_unlink=true", &base);
  CHECK(file_size(in_scratch("f.%d", rank)) == bytes && file_size(in_scratch("f.%d.sill", rank)) > 0);
  MPI_Win_free(&win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(entries_in(scratch()), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  win = open_with("storage_alloc_unlink=true storage_alloc_discard=true", &base);
  base[0] = 1;
  MPI_Win_free(&win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(entries_in(scratch()), 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Every access style is taken, alone and in a list; striping is reported only where the file system did it. */
static void told(void) {
  const char* styles[] = {"read_once",  "write_once",         "read_mostly", "write_mostly",
                          "sequential", "reverse_sequential", "random",      "read_mostly,random"};
  for (int i = 0; i < 8; i++) {
    char hints[128];
    snprintf(hints, sizeof hints, "access_style=%s storage_alloc_unlink=true", styles[i]);
    unsigned char* base = NULL;
    MPI_Win win = open_with(hints, &base);
    fill_pattern(base, bytes, rank, i);
    CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
    check_pattern(base, 0, bytes, rank, i);
    check_info(win, "access_style", styles[i]);
    MPI_Win_free(&win);
  }
  unsigned char* base = NULL;
  MPI_Win win = open_with("striping_factor=4 striping_unit=1048576 no_such_key=7 storage_alloc_unlink=true", &base);
  check_info(win, "alloc_type", "storage");
  check_info(win, "storage_alloc_unlink", "true");
  check_info(win, "striping_factor", NULL);
  check_info(win, "striping_unit", NULL);
  MPI_Win_free(&win);
}

/* How a window ends can be said while it lives. */
static void changed(void) {
  unsigned char* base = NULL;
  MPI_Win win = open_with("", &base);
  MPI_Info info = make_info("storage_alloc_unlink=true access_style=random");
  CHECK_EQ(MPI_Win_set_info(win, info), MPI_SUCCESS);
  MPI_Info_free(&info);
  check_info(win, "storage_alloc_unlink", "true");
  check_info(win, "access_style", "random");
  MPI_Win_free(&win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(entries_in(scratch()), 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  permissions();
  blocks();
  staged();
  unlinked();
  told();
  changed();
  MPI_Finalize();
  return 0;
}
