/* Shared windows on storage: loads and stores between ranks, contiguous and not, and what is in the files. */
#include <stdint.h>

#include "files.h"
#include "windows.h"

static int rank, size;

static void query(MPI_Win win, int of, MPI_Aint* bytes, int* disp_unit, unsigned char** base) {
  *bytes = -1;
  *disp_unit = -1;
  CHECK_EQ(MPI_Win_shared_query(win, of, bytes, disp_unit, base), MPI_SUCCESS);
}

static MPI_Aint bytes_of(int r, MPI_Aint unit) { return unit * (r % 3); } /* rank 0 has none */

/* Every rank stores into every other's segment by way of the queried addresses. */
static void run(const char* hints, MPI_Aint unit, int contiguous) {
  check_context = hints;
  MPI_Info info = make_info(hints);
  unsigned char *mine = NULL, *base = NULL, *first = NULL;
  MPI_Win win;
  MPI_Win_allocate_shared(bytes_of(rank, unit), rank + 1, info, MPI_COMM_WORLD, &mine, &win);
  MPI_Info_free(&info);

  MPI_Aint bytes, before = 0;
  int disp_unit;
  query(win, rank, &bytes, &disp_unit, &base);
  CHECK_EQ(bytes, bytes_of(rank, unit));
  CHECK_EQ(disp_unit, rank + 1);
  CHECK(bytes == 0 || base == mine);
  query(win, MPI_PROC_NULL, &bytes, &disp_unit, &first);
  if (size > 1) CHECK_EQ(bytes, bytes_of(1, unit));
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  for (int r = 0; r < size; r++) {
    query(win, r, &bytes, &disp_unit, &base);
    CHECK_EQ(bytes, bytes_of(r, unit));
    CHECK_EQ(disp_unit, r + 1);
    if (contiguous && bytes > 0) CHECK(base == first + before);
    before += bytes;
    for (MPI_Aint i = rank; i < bytes; i += size) base[i] = pattern(r, i, 3);
  }
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  check_pattern(mine, 0, bytes_of(rank, unit), rank, 3);
  MPI_Win_unlock_all(win);

  /* Atomics on neighbours of plain stores. */
  MPI_Win_fence(0, win);
  const unsigned char add = 1;
  for (int r = 0; r < size; r++) {
    if (bytes_of(r, unit)) MPI_Accumulate(&add, 1, MPI_BYTE, r, 7, 1, MPI_BYTE, MPI_BOR, win);
  }
  MPI_Win_fence(0, win);
  if (bytes_of(rank, unit)) CHECK_EQ(mine[7 * (rank + 1)], pattern(rank, 7 * (rank + 1), 3) | 1);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

/* The files after `run`, as another rank reads them. */
static void check_file(const char* path, long long offset, int of, MPI_Aint unit) {
  const MPI_Aint bytes = bytes_of(of, unit);
  if (!with_sill() || bytes == 0) return;
  unsigned char* read = malloc(bytes);
  read_file(path, offset, read, bytes);
  read[7 * (of + 1)] = pattern(of, 7 * (of + 1), 3);
  check_pattern(read, 0, bytes, of, 3);
  free(read);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  if (!on_one_node(MPI_COMM_WORLD)) skip("the ranks are on several nodes");
  const int other = (rank + 1) % size;
  const MPI_Aint page = sysconf(_SC_PAGESIZE), units[] = {1000, page, 100000};
  for (int u = 0; u < 3; u++) {
    long long before = 0;
    for (int r = 0; r < other; r++) before += bytes_of(r, units[u]);
    run("alloc_type=storage storage_alloc_filename=@/one", units[u], 1);
    MPI_Barrier(MPI_COMM_WORLD);
    check_file(in_scratch("one", 0), before, other, units[u]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (u == 1) {
      run("alloc_type=storage storage_alloc_filename=@/own.%r", units[u], 1);
      MPI_Barrier(MPI_COMM_WORLD);
      check_file(in_scratch("own.%d", other), 0, other, units[u]);
    }
    run("alloc_type=storage storage_alloc_filename=@/apart.%r alloc_shared_noncontig=true", units[u], 0);
    MPI_Barrier(MPI_COMM_WORLD);
    check_file(in_scratch("apart.%d", other), 0, other, units[u]);
    run("alloc_type=storage storage_alloc_filename=@/one storage_alloc_offset=77 alloc_shared_noncontig=true", units[u],
        0);
    MPI_Barrier(MPI_COMM_WORLD);
    check_file(in_scratch("one", 0), 77 + before, other, units[u]);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
