/* fault FILENAME BYTES none|returns|jumps: stores into a sparse window until its device is full. What becomes of the
 * program depends on its own handler for SIGBUS: none, one that returns, one that jumps out.
 */
#include "handlers.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 4);
  take_handler(SIGBUS, argv[3]);

  const MPI_Aint bytes = atoll(argv[2]);
  MPI_Info info = make_info("alloc_type=storage storage_alloc_reserve=sparse storage_alloc_discard=true");
  MPI_Info_set(info, "storage_alloc_filename", argv[1]);
  unsigned char* base = NULL;
  MPI_Win win;
  MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &base, &win);
  MPI_Info_free(&info);
  if (sigsetjmp(back, 1) == 0) {
    for (MPI_Aint i = 0; i < bytes; i += 512) ((volatile unsigned char*)base)[i] = 1;
    CHECK_SAY(0, "the device did not fill up");
  }
  MPI_Win_free(&win);
  MPI_Finalize();
  printf("went on\n");
  return 0;
}
