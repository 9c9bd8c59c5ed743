/* 200 windows at once, of all sizes, freed in another order than they were made. */
#include "files.h"

enum { many = 200 };

static MPI_Aint bytes_of(int w) { return 16 + w % 7 * 3001; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD), target = (rank + 1) % size;
  MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/w%w.%r storage_alloc_discard=true");
  MPI_Win wins[many];
  unsigned char* bases[many];
  for (int w = 0; w < many; w++) MPI_Win_allocate(bytes_of(w), 1, info, MPI_COMM_WORLD, &bases[w], &wins[w]);
  for (int w = 0; w < many; w++) {
    const unsigned char value = (unsigned char)(w + rank + 1);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, wins[w]);
    MPI_Put(&value, 1, MPI_BYTE, target, bytes_of(w) - 1, 1, MPI_BYTE, wins[w]);
    MPI_Win_unlock(target, wins[w]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const unsigned char from = (unsigned char)((rank + size - 1) % size + 1);
  for (int i = 0; i < many; i++) {
    const int w = i * 77 % many; /* 77 and 200 have no common factor: each window once */
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, wins[w]);
    CHECK_EQ(bases[w][bytes_of(w) - 1], (unsigned char)(w + from));
    MPI_Win_unlock(rank, wins[w]);
    MPI_Win_free(&wins[w]);
  }
  MPI_Info_free(&info);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int w = 0; with_sill() && w < many; w++) {
    char name[64];
    snprintf(name, sizeof name, "w%d.%%d", w);
    unsigned char last = 0;
    CHECK_EQ(file_size(in_scratch(name, target)), bytes_of(w));
    read_file(in_scratch(name, target), bytes_of(w) - 1, &last, 1);
    CHECK_EQ(last, (unsigned char)(w + rank + 1));
  }
  MPI_Finalize();
  return 0;
}
