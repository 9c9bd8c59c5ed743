/* sill_sync_error CLASS ENGINE FILENAME BYTES: a window whose last rank lies on FILENAME, where a sync fails: the sync
 * says so, through the window's error handler, to the rank concerned; sill_win_sync_all says so to all. Nothing is
 * swallowed, and the window stays usable. Mapped, syncs fail everywhere; staged, the other ranks' files are sound, so
 * those fail only where they see the last one's segment.
 */
#include <sill/sill.h>

#include "errors.h"
#include "files.h"

static int handled, expected;

static void note_error(MPI_Win* win, int* code, ...) {
  (void)win;
  CHECK_EQ(class_of(*code), expected);
  handled++;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 5);
  expected = class_named(argv[1]);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  const int concerned = strcmp(argv[2], "mapped") == 0 || rank == size - 1;
  MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/good.%r storage_alloc_reserve=sparse");
  MPI_Info_set(info, "storage_alloc_engine", argv[2]);
  if (rank == size - 1) MPI_Info_set(info, "storage_alloc_filename", argv[3]);
  const char* file = concerned && rank < size - 1 ? in_scratch("good.%d", rank) : argv[3];
  const MPI_Aint bytes = atoll(argv[4]);
  unsigned char* base = NULL;
  MPI_Win win;
  MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &base, &win);
  MPI_Info_free(&info);
  fill_pattern(base, bytes, rank, 1);

  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  const int code = MPI_Win_sync(win);
  CHECK(class_of(code) == expected || (!concerned && code == MPI_SUCCESS));
  if (code != MPI_SUCCESS) CHECK_SAY(strstr(sill_error_string(), file), "text: %s", sill_error_string());
  CHECK_EQ(class_of(MPI_Win_sync(win)), class_of(code)); /* still not on the device: still an error */
  CHECK_EQ(class_of(sill_win_sync_all(win)), expected);
  check_pattern(base, 0, bytes, rank, 1);

  MPI_Errhandler mine;
  MPI_Win_create_errhandler(note_error, &mine);
  MPI_Win_set_errhandler(win, mine);
  MPI_Errhandler_free(&mine);
  MPI_Win_sync(win);
  CHECK_EQ(handled, code != MPI_SUCCESS);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  const int freed = MPI_Win_free(&win);
  CHECK(class_of(freed) == expected || (!concerned && freed == MPI_SUCCESS));
  CHECK(win == MPI_WIN_NULL);
  MPI_Finalize();
  return 0;
}
