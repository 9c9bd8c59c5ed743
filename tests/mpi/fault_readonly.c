/* fault_readonly FILENAME none|returns|jumps: looks at a window that is only read, and stores into it. What becomes of
 * the program depends on its own handler for SIGSEGV: none, one that returns, one that jumps out.
 */
#include "handlers.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 3);
  take_handler(SIGSEGV, argv[2]);

  MPI_Info info = make_info("alloc_type=storage storage_alloc_readonly=true");
  MPI_Info_set(info, "storage_alloc_filename", argv[1]);
  unsigned char* base = NULL;
  MPI_Win win;
  MPI_Win_allocate(4096, 1, info, MPI_COMM_WORLD, &base, &win);
  MPI_Info_free(&info);
  CHECK_EQ(base[4095], 'k');
  if (sigsetjmp(back, 1) == 0) {
    ((volatile unsigned char*)base)[7] = 1;
    CHECK_SAY(0, "the store went through");
  }
  struct sigaction found;
  CHECK_EQ(sigaction(SIGSEGV, NULL, &found), 0);
  CHECK(found.sa_handler == jumps);
  MPI_Win_free(&win);
  CHECK_EQ(sigaction(SIGSEGV, NULL, &found), 0);
  CHECK(found.sa_handler == jumps);
  MPI_Finalize();
  printf("went on\n");
  return 0;
}
