/* One rank has no address space for the window: an error on all of them, and nobody waits. */
#include <sys/resource.h>

#include "files.h"

static long long address_space(void) {
  long long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%lld", &pages) == 1);
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

static int allocate(MPI_Win* win) {
  MPI_Info info = make_info(
      "alloc_type=storage storage_alloc_unlink=true storage_alloc_reserve=sparse storage_alloc_filename=@/w.%r");
  void* base = NULL;
  const int code = MPI_Win_allocate(256 << 20, 1, info, MPI_COMM_WORLD, &base, win);
  MPI_Info_free(&info);
  return code;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  struct rlimit before, limit;
  CHECK_EQ(getrlimit(RLIMIT_AS, &before), 0);
  limit = before;
  limit.rlim_cur = address_space() + (128 << 20);
  MPI_Win win;
  if (rank == size - 1) CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  CHECK_EQ(class_of(allocate(&win)), MPI_ERR_NO_MEM);
  if (rank == size - 1) CHECK_EQ(setrlimit(RLIMIT_AS, &before), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(entries_in(scratch()), 0);
  CHECK_EQ(allocate(&win), MPI_SUCCESS);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
