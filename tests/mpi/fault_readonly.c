/* fault_readonly FILENAME none|returns|jumps: looks at a window that is only read, and stores into it. What becomes of
 * the program depends on its own handler for SIGSEGV: none, one that returns, one that jumps out.
 */
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"

static sigjmp_buf back;

static void say(void) {
  static const char text[] = "own handler\n";
  if (write(STDOUT_FILENO, text, sizeof text - 1) < 0) _exit(3);
}

static void returns(int signal_number) {
  (void)signal_number;
  say();
}

static void jumps(int signal_number) {
  (void)signal_number;
  say();
  siglongjmp(back, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 3);
  struct sigaction action, found;
  memset(&action, 0, sizeof action);
  action.sa_handler = strcmp(argv[2], "jumps") == 0 ? jumps : returns;
  const int has_handler = strcmp(argv[2], "none") != 0;
  if (has_handler) CHECK_EQ(sigaction(SIGSEGV, &action, NULL), 0);

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
  CHECK_EQ(sigaction(SIGSEGV, NULL, &found), 0);
  CHECK(found.sa_handler == jumps);
  MPI_Win_free(&win);
  CHECK_EQ(sigaction(SIGSEGV, NULL, &found), 0);
  CHECK(found.sa_handler == jumps);
  MPI_Finalize();
  printf("went on\n");
  return 0;
}
