/* One window of MPI_Win_allocate_shared: rank 0 has all of its bytes, on storage, and the others see them. */
#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  const MPI_Aint bytes = 64 << 20;
  MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/w.%r storage_alloc_reserve=sparse");
  unsigned char *base = NULL, *first = NULL;
  MPI_Win win;
  MPI_Win_allocate_shared(rank == 0 ? bytes : 0, 1, info, MPI_COMM_WORLD, &base, &win);
  MPI_Info_free(&info);
  MPI_Aint size = 0;
  int unit = 0;
  MPI_Win_shared_query(win, 0, &size, &unit, &first);
  CHECK_EQ(size, bytes);
  MPI_Win_fence(0, win);
  if (rank == 0) base[bytes - 1] = 7;
  MPI_Win_fence(0, win);
  CHECK_EQ(first[bytes - 1], 7);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
