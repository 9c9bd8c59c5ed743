/* A sparse window of more than 4 GiB per rank: sizes, displacements and syncs beyond 32 bits. */
#include "files.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD), target = (rank + 1) % size;
  const MPI_Aint bytes = (5LL << 30) + 12345;
  const MPI_Aint places[] = {0, (1LL << 31) - 1, (1LL << 31) + 50, (1LL << 32) - 8, (1LL << 32) + 4097, bytes - 8};
  MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/huge.%r storage_alloc_reserve=sparse");
  unsigned char* base = NULL;
  MPI_Win win;
  MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &base, &win);
  MPI_Aint* told = NULL;
  int found = 0;
  MPI_Win_get_attr(win, MPI_WIN_SIZE, &told, &found);
  CHECK(found && *told == bytes);

  MPI_Win_fence(0, win);
  long long values[6];
  for (int i = 0; i < 6; i++) {
    values[i] = 1000 * i + rank;
    MPI_Put(&values[i], 1, MPI_LONG_LONG, target, places[i], 1, MPI_LONG_LONG, win);
  }
  MPI_Win_fence(0, win);
  long long got[6];
  for (int i = 0; i < 6; i++) MPI_Get(&got[i], 1, MPI_LONG_LONG, target, places[i], 1, MPI_LONG_LONG, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 6; i++) {
    const long long expected = 1000 * i + (rank + size - 1) % size;
    long long here = 0, there = 0;
    memcpy(&here, base + places[i], sizeof here);
    CHECK_EQ(here, expected);
    CHECK_EQ(got[i], values[i]);
    CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
    read_file(in_scratch("huge.%d", rank), places[i], &there, sizeof there);
    CHECK_EQ(there, expected);
  }
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  CHECK_EQ(file_size(in_scratch("huge.%d", rank)), bytes);

  /* A displacement unit for which the displacements are small but the bytes aren't; at an offset beyond 4 GiB. */
  MPI_Info_set(info, "storage_alloc_offset", "6442450944");
  MPI_Win_allocate(bytes / 4096 * 4096, 4096, info, MPI_COMM_WORLD, &base, &win);
  MPI_Info_free(&info);
  MPI_Win_fence(0, win);
  MPI_Put(&values[5], 1, MPI_LONG_LONG, target, (1 << 20) + 3, 1, MPI_LONG_LONG, win);
  MPI_Win_fence(0, win);
  long long there = 0;
  read_file(in_scratch("huge.%d", rank), 6442450944LL + 4096LL * ((1 << 20) + 3), &there, sizeof there);
  CHECK_EQ(there, 5000 + (rank + size - 1) % size);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
