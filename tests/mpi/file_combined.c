/* Combined windows: the share on storage, its place in the segment for both orders, and RMA across the seam. */
#include <math.h>

#include "files.h"

static int rank, size;

static MPI_Win open_combined(const char* factor, const char* order, MPI_Aint bytes, unsigned char** base) {
  char hints[256];
  snprintf(hints, sizeof hints,
           "alloc_type=storage storage_alloc_filename=@/part.%%r storage_alloc_factor=%s storage_alloc_order=%s",
           factor, order);
  MPI_Info info = make_info(hints);
  MPI_Win win;
  MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, base, &win);
  MPI_Info_free(&info);
  return win;
}

static void run(const char* factor, const char* order, MPI_Aint bytes) {
  char context[64];
  snprintf(context, sizeof context, "%s %s of %ld", factor, order, (long)bytes);
  check_context = context;
  const char* path = in_scratch("part.%d", rank);
  unsigned char* base = NULL;
  MPI_Win win = open_combined(factor, order, bytes, &base);

  /* One put over the whole segment, so that it crosses the seam. */
  const int target = (rank + 1) % size;
  unsigned char* sent = malloc(bytes + 1);
  fill_pattern(sent, bytes, target, 1);
  MPI_Win_fence(0, win);
  MPI_Put(sent, (int)bytes, MPI_BYTE, target, 0, (int)bytes, MPI_BYTE, win);
  MPI_Win_fence(0, win);
  check_pattern(base, 0, bytes, rank, 1);
  memset(sent, 0, bytes);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win); /* MPICH 4.0's fence doesn't wait for large gets from other nodes */
  MPI_Get(sent, (int)bytes, MPI_BYTE, target, 0, (int)bytes, MPI_BYTE, win);
  MPI_Win_unlock(target, win);
  check_pattern(sent, 0, bytes, target, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);

  /* The share is right to a page, and the file is that part of the segment. */
  const long long stored = file_size(path) < 0 ? 0 : file_size(path);
  const long page = sysconf(_SC_PAGESIZE);
  CHECK_SAY(fabs((double)stored - strtod(factor, NULL) * (double)bytes) <= (double)page, "%lld bytes on storage",
            stored);
  if (strtod(factor, NULL) == 1.0) CHECK_EQ(stored, bytes);
  const long long first = strcmp(order, "storage_first") == 0 ? 0 : bytes - stored;
  if (stored > 0) {
    read_file(path, 0, sent, stored);
    check_pattern(sent, first, stored, rank, 1);
  }
  MPI_Win_free(&win);

  /* Opened again, the stored part is there; the other part is memory, and new. */
  win = open_combined(factor, order, bytes, &base);
  check_pattern(base + first, first, stored, rank, 1);
  MPI_Win_free(&win);
  if (stored > 0) CHECK_EQ(file_size(path), stored);
  if (file_size(path) >= 0) CHECK_EQ(unlink(path), 0);
  if (stored > 0) CHECK_EQ(unlink(in_scratch("part.%d.sill", rank)), 0);
  free(sent);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  const char* factors[] = {"0.0", "0.25", "0.5", "0.8", "1.0", "0.123456"};
  const char* orders[] = {"memory_first", "storage_first"};
  for (int f = 0; f < 6; f++) {
    for (int o = 0; o < 2; o++) {
      run(factors[f], orders[o], 1 << 20);
      if (f == 2) run(factors[f], orders[o], 100001);
      if (f == 2) run(factors[f], orders[o], 3000);
    }
  }
  MPI_Finalize();
  return 0;
}
