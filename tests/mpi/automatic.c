/* automatic BYTES: a window whose share on storage is left to Sill; rank 0 prints "storage BYTES" for each rank. */
#include "files.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 2);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  const MPI_Aint bytes = atoll(argv[1]);
  MPI_Info info = make_info(
      "alloc_type=storage storage_alloc_filename=@/auto.%r storage_alloc_factor=auto storage_alloc_reserve=sparse");
  unsigned char* base = NULL;
  MPI_Win win;
  MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &base, &win);
  MPI_Info_free(&info);
  const long long stored = file_size(in_scratch("auto.%d", rank)) < 0 ? 0 : file_size(in_scratch("auto.%d", rank));
  /* A byte in each of 64 places, all over both parts. */
  for (int i = 0; i < 64; i++) base[bytes / 64 * i] = (unsigned char)(i + 1);
  CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
  for (int i = 0; i < 64; i++) {
    const long long place = bytes / 64 * i - (bytes - stored);
    unsigned char byte = 0;
    if (place >= 0) read_file(in_scratch("auto.%d", rank), place, &byte, 1);
    if (place >= 0) CHECK_EQ(byte, i + 1);
    CHECK_EQ(base[bytes / 64 * i], i + 1);
  }
  MPI_Win_free(&win);
  long long* all = malloc(sizeof(long long) * size);
  MPI_Gather(&stored, 1, MPI_LONG_LONG, all, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  for (int r = 0; rank == 0 && r < size; r++) printf("storage %lld\n", all[r]);
  free(all);
  MPI_Finalize();
  return 0;
}
