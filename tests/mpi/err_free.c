/* err_free return|handler: what goes wrong when the window has gone already is told to its error handler all the same,
 * on every rank, and not to the communicator's, which is the default one here.
 */
#include "files.h"

static int handled;

static void note_error(MPI_Win* win, int* code, ...) {
  CHECK(*win != MPI_WIN_NULL);
  CHECK_EQ(class_of(*code), MPI_ERR_BAD_FILE);
  handled++;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 2);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  MPI_Info info = make_info("alloc_type=storage storage_alloc_unlink=true storage_alloc_filename=@/w.%r");
  int* base = NULL;
  MPI_Win win;
  MPI_Win_allocate(4000, 4, info, MPI_COMM_WORLD, &base, &win);
  MPI_Info_free(&info);
  MPI_Errhandler mine = MPI_ERRORS_RETURN;
  const int own = strcmp(argv[1], "handler") == 0;
  if (own) MPI_Win_create_errhandler(note_error, &mine);
  MPI_Win_set_errhandler(win, mine);
  if (own) MPI_Errhandler_free(&mine);
  /* Another file in its place, which the last step won't delete. */
  if (rank == size - 1) {
    write_file(in_scratch("other", 0), 0, 7, 10);
    CHECK_EQ(rename(in_scratch("other", 0), in_scratch("w.%d", rank)), 0);
  }
  const int code = MPI_Win_free(&win);
  CHECK(win == MPI_WIN_NULL);
  CHECK_EQ(class_of(code), MPI_ERR_BAD_FILE);
  CHECK_EQ(handled, own);
  if (rank == size - 1) CHECK_EQ(file_size(in_scratch("w.%d", rank)), 10);
  MPI_Finalize();
  return 0;
}
