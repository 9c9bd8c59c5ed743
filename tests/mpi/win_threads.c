/* win_threads own|common|uneven: with MPI_THREAD_MULTIPLE, threads that make and use windows of their own, or all one
 * window; or only the first rank has threads at all.
 */
#include <pthread.h>

#include "files.h"
#include "windows.h"

enum { threads = 4, turns = 4, adds = 50 };

static int rank, size;
static MPI_Comm comms[threads];
static MPI_Win common;
static long* counters;

static void* own_windows(void* argument) {
  const int me = *(int*)argument;
  for (int turn = 0; turn < turns; turn++) {
    char hints[128];
    snprintf(hints, sizeof hints, "alloc_type=storage storage_alloc_unlink=true storage_alloc_filename=@/t%d.%%r%s", me,
             turn % 2 ? " storage_alloc_factor=0.5" : "");
    MPI_Info info = make_info(hints);
    int* base = NULL;
    MPI_Win win;
    MPI_Win_allocate(65536, 4, info, comms[me], &base, &win);
    MPI_Info_free(&info);
    const int value = 1000 * me + 10 * turn + rank;
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 16000 + me, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK_EQ(base[16000 + me], 1000 * me + 10 * turn + (rank + size - 1) % size);
    CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
  }
  return NULL;
}

/* Each thread adds to its own counter and to one for all; some sync meanwhile. */
static void* one_window(void* argument) {
  const int me = *(int*)argument;
  const long one = 1;
  for (int i = 0; i < adds; i++) {
    long ignored = 0;
    MPI_Accumulate(&one, 1, MPI_LONG, i % size, me, 1, MPI_LONG, MPI_SUM, common);
    MPI_Fetch_and_op(&one, &ignored, MPI_LONG, 0, threads, MPI_SUM, common);
    MPI_Win_flush(0, common);
    MPI_Win_flush(i % size, common);
    if (i % 10 == me) CHECK_EQ(MPI_Win_sync(common), MPI_SUCCESS);
  }
  return NULL;
}

static void in_threads(void* (*work)(void*)) {
  pthread_t ids[threads];
  int numbers[threads];
  for (int i = 0; i < threads; i++) {
    numbers[i] = i;
    CHECK_EQ(pthread_create(&ids[i], NULL, work, &numbers[i]), 0);
  }
  for (int i = 0; i < threads; i++) CHECK_EQ(pthread_join(ids[i], NULL), 0);
}

static void test_own_windows(void) {
  for (int i = 0; i < threads; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  in_threads(own_windows);
  for (int i = 0; i < threads; i++) MPI_Comm_free(&comms[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (with_sill()) CHECK_EQ(entries_in(scratch()), 0);
}

static void open_common(void) {
  MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/common.%r");
  MPI_Win_allocate((threads + 1) * sizeof(long), sizeof(long), info, MPI_COMM_WORLD, &counters, &common);
  MPI_Info_free(&info);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, common);
  memset(counters, 0, (threads + 1) * sizeof(long));
  MPI_Win_unlock(rank, common);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void test_common_window(void) {
  open_common();
  MPI_Win_lock_all(0, common);
  in_threads(one_window);
  MPI_Win_unlock_all(common);
  MPI_Barrier(MPI_COMM_WORLD);
  const int share = adds / size + (rank < adds % size);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, common);
  for (int i = 0; i < threads; i++) CHECK_EQ(counters[i], (long)size * share);
  if (rank == 0) CHECK_EQ(counters[threads], (long)size * threads * adds);
  MPI_Win_unlock(rank, common);
  MPI_Win_free(&common);
}

/* What is made for threads is made by all ranks or by none. */
static void test_uneven(void) {
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  own_windows(&(int){0});
  MPI_Comm_free(&comms[0]);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const int uneven = strcmp(argv[1], "uneven") == 0;
  const char* first = getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
  const int wanted = uneven && first && strcmp(first, "0") != 0 ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  if (uneven) {
    test_uneven();
    MPI_Finalize();
    return 0;
  }
  if (provided < MPI_THREAD_MULTIPLE) skip("this MPI has no MPI_THREAD_MULTIPLE");
  if (strcmp(argv[1], "own") == 0)
    test_own_windows();
  else
    test_common_window();
  MPI_Finalize();
  return 0;
}
