/* unsynced window|memory return|fatal: storage that is still open at the end of MPI, on a device that the last rank
 * can't write to any more: an error of MPI_Finalize on every rank. Ends with 0 where that is returned, and with `fatal`
 * only where MPI_Finalize returns at all.
 */
#include "files.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 3);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/w.%r");
  unsigned char* base = NULL;
  MPI_Win win;
  if (strcmp(argv[1], "memory") == 0)
    MPI_Alloc_mem(4000, info, &base);
  else
    MPI_Win_allocate(4000, 1, info, MPI_COMM_WORLD, &base, &win);
  MPI_Info_free(&info);
  fill_pattern(base, 4000, rank, 1);
  const int returned = strcmp(argv[2], "return") == 0;
  if (returned) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == size - 1) setenv("SILL_TEST_BROKEN", "1", 1);
  return MPI_Finalize() == MPI_SUCCESS && returned;
}
