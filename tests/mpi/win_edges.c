/* Seldom trodden paths of storage windows: ranks that disagree, frees that are refused, epochs that follow each other.
 */
#include "windows.h"

/* Both ranks get an error of this class, and no window. */
static void refused(const char* context, MPI_Aint size, int unit, int shared, const char* hints, int error_class) {
  check_context = context;
  MPI_Info info = make_info(hints);
  MPI_Win win = MPI_WIN_NULL;
  void* base = NULL;
  const int code = shared ? MPI_Win_allocate_shared(size, unit, info, MPI_COMM_WORLD, &base, &win)
                          : MPI_Win_allocate(size, unit, info, MPI_COMM_WORLD, &base, &win);
  CHECK_EQ(class_of(code), error_class);
  MPI_Info_free(&info);
}

static void arguments_that_are_no_hints(int rank) {
  const char* hints = STORAGE "storage_alloc_filename=@/arguments.%r";
  refused("negative size", rank == 1 ? -1 : 64, 1, 0, hints, MPI_ERR_SIZE);
  refused("unit 0", 64, rank == 1 ? 0 : 1, 0, hints, MPI_ERR_DISP);
  const char* contiguous = STORAGE "storage_alloc_filename=@/arguments.%r alloc_shared_noncontig=false";
  const char* apart = STORAGE "storage_alloc_filename=@/arguments.%r alloc_shared_noncontig=true";
  if (on_one_node(MPI_COMM_WORLD))
    refused("noncontig on one rank", 64, 1, 1, rank == 1 ? apart : contiguous, MPI_ERR_INFO_VALUE);
  refused("copies of one place", 64, 1, 0,
          STORAGE "storage_alloc_filename=@/copies storage_alloc_layout=overlap storage_alloc_engine=staged",
          MPI_ERR_INFO_VALUE);
}

/* MPI_Win_set_info with endings that differ is an error on every rank, and changes none. */
static void endings_that_differ(int rank) {
  check_context = "endings that differ";
  char* base = NULL;
  const window_kind kind = {"", BY_ALLOCATE, STORAGE "storage_alloc_filename=@/endings.%r"};
  MPI_Win win = open_window(&kind, 64, 1, MPI_COMM_WORLD, &base);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Info info = make_info(rank == 1 ? "storage_alloc_discard=true" : "storage_alloc_discard=false");
  CHECK_EQ(class_of(MPI_Win_set_info(win, info)), MPI_ERR_INFO_VALUE);
  MPI_Info_free(&info);
  MPI_Win_free(&win);
}

/* A neighbour's segment can be seen whole or not at all. */
static void what_can_be_seen(int rank) {
  int* base = NULL;
  const window_kind kind = {"half in memory", BY_ALLOCATE,
                            STORAGE "storage_alloc_filename=@/half.%r storage_alloc_factor=0.5"};
  const size_t count = 65536 / sizeof *base;
  MPI_Win win = open_window(&kind, 65536, 1, MPI_COMM_WORLD, &base);
  MPI_Win_lock_all(0, win);
  for (size_t i = 0; i < count; ++i) base[i] = rank + 1;
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Aint size = -1;
  int unit = 0;
  int* seen = NULL;
  MPI_Win_shared_query(win, 1 - rank, &size, &unit, &seen);
  CHECK_EQ(size, seen ? 65536 : 0);
  for (size_t i = 0; seen && i < count; ++i) CHECK_EQ(seen[i], 2 - rank);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

/* Targets of an epoch that is over are no business of a flush in the next one. */
static void flush_after_fences(int rank) {
  int64_t* base = NULL;
  const int64_t one = 1;
  const window_kind kind = {"flush after fences", BY_ALLOCATE, STORAGE "storage_alloc_filename=@/fences.%r"};
  MPI_Win win = open_window(&kind, 64, 8, MPI_COMM_WORLD, &base);
  base[0] = 0;
  MPI_Win_fence(0, win);
  MPI_Accumulate(&one, 1, MPI_INT64_T, rank, 0, 1, MPI_INT64_T, MPI_SUM, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Win_lock(MPI_LOCK_SHARED, 1 - rank, 0, win);
  MPI_Accumulate(&one, 1, MPI_INT64_T, 1 - rank, 0, 1, MPI_INT64_T, MPI_SUM, win);
  CHECK_EQ(MPI_Win_flush_all(win), MPI_SUCCESS);
  CHECK_EQ(MPI_Win_flush_local_all(win), MPI_SUCCESS);
  MPI_Win_unlock(1 - rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  CHECK_EQ(base[0], 2);
  MPI_Win_unlock(rank, win);
  MPI_Win_free(&win);
}

/* After a free that the MPI library refuses, the window holds what it held. */
static void refused_free(int rank, const char* engine) {
  char hints[256];
  snprintf(hints, sizeof hints, "alloc_type=storage storage_alloc_filename=@/refused.%%r storage_alloc_engine=%s",
           engine);
  int* base = NULL;
  const window_kind kind = {"refused free", BY_ALLOCATE, hints};
  MPI_Win win = open_window(&kind, 64, 4, MPI_COMM_WORLD, &base);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Info info = make_info("storage_alloc_discard=true");
  MPI_Win_set_info(win, info);
  MPI_Info_free(&info);
  MPI_Win_lock_all(0, win);
  base[0] = rank + 7;
  MPI_Win again = win;
  CHECK(MPI_Win_free(&again) != MPI_SUCCESS);
  CHECK_EQ(base[0], rank + 7);
  MPI_Barrier(MPI_COMM_WORLD);
  int seen = 0;
  MPI_Get(&seen, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, win);
  MPI_Win_unlock_all(win);
  CHECK_EQ(seen, 1 - rank + 7);
  CHECK_EQ(MPI_Win_free(&win), MPI_SUCCESS);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  CHECK_EQ(size_of(MPI_COMM_WORLD), 2);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  arguments_that_are_no_hints(rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  endings_that_differ(rank);
  what_can_be_seen(rank);
  flush_after_fences(rank);
  /* MPICH refuses to free a window inside an epoch; Open MPI frees it. */
  if (!is_openmpi) refused_free(rank, "mapped");
  if (!is_openmpi) refused_free(rank, "staged");
  MPI_Finalize();
  return 0;
}
