/* device PATH OFFSET BYTES_PER_RANK KEEP|SPLIT: windows on a block device, one after another by rank; with SPLIT half
 * of each segment is memory. The bytes must be on the device after a sync, and again when the window is opened anew.
 */
#include "files.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 5);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD), target = (rank + 1) % size;
  const long long offset = atoll(argv[2]), bytes = atoll(argv[3]);
  const int split = strcmp(argv[4], "SPLIT") == 0;
  const long long stored = split ? bytes / 2 : bytes;
  MPI_Info info = make_info("alloc_type=storage storage_alloc_unlink=true");
  MPI_Info_set(info, "storage_alloc_filename", argv[1]);
  MPI_Info_set(info, "storage_alloc_offset", argv[2]);
  if (split) MPI_Info_set(info, "storage_alloc_factor", "0.5");
  for (int round = 1; round <= 2; round++) {
    unsigned char* base = NULL;
    MPI_Win win;
    MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &base, &win);
    if (round > 1) check_pattern(base + bytes - stored, bytes - stored, stored, rank, round - 1);
    unsigned char* part = malloc(bytes);
    fill_pattern(part, bytes, target, round);
    MPI_Win_fence(0, win);
    MPI_Put(part, (int)bytes, MPI_BYTE, target, 0, (int)bytes, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    check_pattern(base, 0, bytes, rank, round);
    CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    read_file(argv[1], offset + target * stored, part, stored);
    check_pattern(part, bytes - stored, stored, target, round);
    free(part);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
  }
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
