/* A storage window in a program that never calls MPI_Init. */
#include "files.h"

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)

static void run(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "sill.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  const int rank = rank_in(comm), size = size_of(comm);

  MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/session.%r");
  int* base = NULL;
  MPI_Win win;
  MPI_Win_allocate(4000, 4, info, comm, &base, &win);
  MPI_Info_free(&info);
  const int value = 500 + rank;
  MPI_Win_fence(0, win);
  MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 999, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK_EQ(base[999], 500 + (rank + size - 1) % size);
  CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  if (with_sill()) CHECK_EQ(file_size(in_scratch("session.%d", rank)), 4000);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}

int main(void) {
  run();
#if !defined(OMPI_MAJOR_VERSION) && !(defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000)
  run(); /* a second session after the first is over; Open MPI 5.0 and MPICH 4.0 crash in that by themselves */
#endif
  return 0;
}

#else

int main(void) {
  MPI_Init(NULL, NULL);
  skip("this MPI has no sessions");
}

#endif
