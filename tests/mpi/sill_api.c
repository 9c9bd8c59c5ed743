/* The functions of sill.h, by a program that links Sill and runs without it being preloaded. */
#include <sill/sill.h>
#include <stdbool.h>

#include "files.h"

static int rank, size;
enum { bytes = 1 << 20 };

static MPI_Win open_with(const char* hints, unsigned char** base) {
  return open_storage(SILL_ALLOC_FILENAME "=@/api.%r", hints, bytes, base);
}

static sill_win_stats stats_of(MPI_Win win) {
  sill_win_stats stats;
  memset(&stats, 0xFF, sizeof stats);
  stats.size = sizeof stats;
  CHECK_EQ(sill_win_get_stats(win, &stats), MPI_SUCCESS);
  return stats;
}

static void restored(void) {
  int was_there = -1;
  unsigned char* base = NULL;
  MPI_Win win = open_with("", &base);
  CHECK_EQ(sill_win_get_restored(win, &was_there), MPI_SUCCESS);
  CHECK_EQ(was_there, 0);
  base[7] = 7;
  MPI_Win_free(&win);
  win = open_with("", &base);
  CHECK_EQ(sill_win_get_restored(win, &was_there), MPI_SUCCESS);
  CHECK_EQ(was_there, 1);
  CHECK_EQ(base[7], 7);
  MPI_Win_free(&win);

  /* Only one rank's file is there: each rank is told about its own. */
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank > 0) CHECK_EQ(unlink(in_scratch("api.%d", rank)), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  win = open_with("storage_alloc_unlink=true", &base);
  CHECK_EQ(sill_win_get_restored(win, &was_there), MPI_SUCCESS);
  CHECK_EQ(was_there, rank == 0);
  MPI_Win_free(&win);
}

/* Whether what all ranks store is first seen as dirty, and then as synced. */
static bool fill_and_sync(MPI_Win win, unsigned char* base, int round) {
  const sill_win_stats before = stats_of(win);
  memset(base, round, bytes);
  const sill_win_stats filled = stats_of(win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  const sill_win_stats synced = stats_of(win);
  CHECK_EQ(synced.sync_count, (uint64_t)round);
  if (synced.synced_bytes == SILL_UNKNOWN || filled.dirty_bytes == SILL_UNKNOWN) return true;
  CHECK(filled.resident_bytes >= filled.dirty_bytes);
  /* Ranks of a node write each other's bytes out: who wrote which is chance, all together wrote all. */
  const uint64_t mine[] = {synced.synced_bytes - before.synced_bytes, filled.dirty_bytes >= bytes / 2};
  uint64_t all[2];
  MPI_Allreduce(mine, all, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all[0] >= (uint64_t)size * bytes && all[1] == (uint64_t)size;
}

static void counted(void) {
  unsigned char* base = NULL;
  MPI_Win win = open_with("storage_alloc_unlink=true", &base);
  sill_win_stats before = stats_of(win);
  CHECK_EQ(before.storage_bytes, bytes);
  CHECK_EQ(before.memory_bytes, 0);
  CHECK_EQ(before.sync_count, 0);
  CHECK_EQ(before.sync_ns, 0);
  /* The kernel may write out before the sync does, and of that Sill knows nothing: one of some rounds must be without.
   */
  bool all_seen = false;
  int rounds = 0;
  while (!all_seen && rounds < 20) all_seen = fill_and_sync(win, base, ++rounds);
  CHECK(all_seen);
  const sill_win_stats synced = stats_of(win);
  CHECK(synced.sync_ns > 0);
  if (synced.dirty_bytes != SILL_UNKNOWN) CHECK_EQ(synced.dirty_bytes, 0);
  CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
  CHECK_EQ(stats_of(win).sync_count, (uint64_t)rounds + 1);
  if (synced.synced_bytes != SILL_UNKNOWN) CHECK_EQ(stats_of(win).synced_bytes, synced.synced_bytes);
  MPI_Win_free(&win);

  win = open_with("storage_alloc_factor=0.25 storage_alloc_unlink=true", &base);
  before = stats_of(win);
  CHECK_EQ(before.storage_bytes + before.memory_bytes, bytes);
  CHECK_EQ(before.storage_bytes, bytes / 4);
  MPI_Win_free(&win);
}

static void synced_by_all(void) {
  unsigned char* base = NULL;
  MPI_Win win = open_with("storage_alloc_unlink=true", &base);
  const int target = (rank + 1) % size;
  unsigned char* sent = malloc(bytes);
  fill_pattern(sent, bytes, target, 1);
  MPI_Win_fence(0, win);
  MPI_Put(sent, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, win);
  MPI_Win_fence(0, win);
  CHECK_EQ(sill_win_sync_all(win), MPI_SUCCESS);
  read_file(in_scratch("api.%d", target), 0, sent, bytes);
  check_pattern(sent, 0, bytes, target, 1);
  CHECK(stats_of(win).sync_count >= 1);
  free(sent);
  MPI_Win_free(&win);
}

/* On a window that Sill has nothing to do with, everything works and says so. */
static void memory(void) {
  check_context = "memory";
  unsigned char* base = NULL;
  MPI_Win win;
  MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  int was_there = -1;
  CHECK_EQ(sill_win_get_restored(win, &was_there), MPI_SUCCESS);
  CHECK_EQ(was_there, 0);
  CHECK_EQ(sill_win_sync_all(win), MPI_SUCCESS);
  const sill_win_stats stats = stats_of(win);
  CHECK(stats.memory_bytes >= bytes && stats.memory_bytes < 2 * bytes); /* Open MPI rounds to pages */
  CHECK_EQ(stats.storage_bytes, 0);
  CHECK_EQ(stats.sync_count, 0);
  MPI_Win_free(&win);
}

static void errors(void) {
  check_context = "errors";
  int was_there = 0;
  sill_win_stats stats;
  CHECK(sill_win_sync_all(MPI_WIN_NULL) != MPI_SUCCESS);
  CHECK(sill_win_get_restored(MPI_WIN_NULL, &was_there) != MPI_SUCCESS);
  stats.size = sizeof stats;
  CHECK(sill_win_get_stats(MPI_WIN_NULL, &stats) != MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/nowhere/api.%r");
  void* base = NULL;
  MPI_Win win;
  const int code = MPI_Win_allocate(100, 1, info, MPI_COMM_WORLD, &base, &win);
  CHECK_EQ(class_of(code), MPI_ERR_NO_SUCH_FILE);
  CHECK_SAY(strstr(sill_error_string(), "nowhere") && strstr(sill_error_string(), SILL_ALLOC_FILENAME), "text: %s",
            sill_error_string());
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  CHECK_SAY(strstr(text, "nowhere"), "text: %s", text);
  MPI_Info_free(&info);
}

/* A caller of another version has another size; one that has none is told what to set. */
static void sizes(void) {
  check_context = "sizes";
  unsigned char* base = NULL;
  MPI_Win win = open_with("storage_alloc_unlink=true", &base);
  struct {
    sill_win_stats stats;
    uint64_t later;
  } longer = {.stats.size = sizeof longer, .later = 7};
  CHECK_EQ(sill_win_get_stats(win, &longer.stats), MPI_SUCCESS);
  CHECK_EQ(longer.stats.size, sizeof longer.stats);
  CHECK_EQ(longer.stats.storage_bytes, bytes);
  CHECK_EQ(longer.later, 7);
  sill_win_stats unset = {.size = sizeof unset - 1, .storage_bytes = 7};
  CHECK_EQ(class_of(sill_win_get_stats(win, &unset)), MPI_ERR_ARG);
  CHECK_SAY(strstr(sill_error_string(), "sizeof(sill_win_stats)") != NULL, "%s", sill_error_string());
  CHECK_EQ(unset.storage_bytes, 7);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  CHECK_EQ(sill_abi(), SILL_ABI);
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  restored();
  counted();
  synced_by_all();
  memory();
  errors();
  sizes();
  MPI_Finalize();
  CHECK_EQ(sill_abi(), SILL_ABI);
  return 0;
}
