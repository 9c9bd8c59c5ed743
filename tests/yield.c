/* Preloaded under MPICH: a rank that waits leaves the core to the one it waits for. MPICH's progress loop never does,
 * so that on fewer cores than ranks each message costs a time slice. (Open MPI has mpi_yield_when_idle.)
 *
 * And a rank that waits for the launcher answers the others: on two nodes MPICH 4.0.2's MPI_Finalize hangs often
 * else, where a rank disconnects from one that waits already.
 *
 * And there a rank takes down its end only when all have disconnected (SILL_TEST_NODES is set): MPICH doesn't wait for
 * that, and who still disconnects from it aborts in MPI_Finalize, "Connection reset by remote peer" (4 of 400 runs of a
 * program without Sill, on a busy machine).
 */
#include <dlfcn.h>
#include <link.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
  PATIENCE = 20,  /* a neighbour on another core answers sooner */
  BARRIER_S = 20, /* a rank that has aborted comes to no barrier */
};

/* Of UCX; MPICH calls it in each turn of the loop. With other network layers nothing changes. */
unsigned ucp_worker_progress(void* worker);

void ucp_worker_destroy(void* worker);

static unsigned (*next)(void*);
static void (*next_destroy)(void*);
static void* known_worker;

static int look_in(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size;
  (void)unused;
  if (strstr(info->dlpi_name, "/libucp") == NULL) return 0;
  void* library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) return 0;
  *(void**)&next = dlsym(library, "ucp_worker_progress");
  *(void**)&next_destroy = dlsym(library, "ucp_worker_destroy");
  return next != NULL && next_destroy != NULL;
}

/* RTLD_NEXT doesn't see what was opened with RTLD_LOCAL, as mpi4py opens MPI. */
static void find_next(void) {
  *(void**)&next = dlsym(RTLD_NEXT, "ucp_worker_progress");
  *(void**)&next_destroy = dlsym(RTLD_NEXT, "ucp_worker_destroy");
  if (next == NULL && dl_iterate_phdr(look_in, NULL) == 0) abort();
}

unsigned ucp_worker_progress(void* worker) {
  static _Thread_local unsigned idle;
  if (next == NULL) find_next();
  known_worker = worker;
  const unsigned events = next(worker);
  idle = events ? 0 : idle + 1;
  if (idle > PATIENCE) sched_yield();
  return events;
}

/* The socket to the launcher, or -1. */
static int launcher(void) {
  const char* fd = getenv("PMI_FD");
  return fd == NULL ? -1 : atoi(fd);
}

/* Whether the launcher has something to read; goes on answering the others meanwhile, until `deadline` (0: no end). */
static int answered(time_t deadline) {
  struct pollfd answer = {.fd = launcher(), .events = POLLIN};
  while (known_worker != NULL && poll(&answer, 1, 1) == 0) {
    if (deadline != 0 && time(NULL) > deadline) return 0;
    next(known_worker);
  }
  return 1;
}

/* The launcher's barrier over all ranks of this job, in the words of PMI 1. */
static void meet_all(void) {
  static const char in[] = "cmd=barrier_in\n";
  const time_t deadline = time(NULL) + BARRIER_S;
  if (write(launcher(), in, sizeof in - 1) != sizeof in - 1) return;
  for (char letter = 0; letter != '\n' && answered(deadline);)
    if (syscall(SYS_read, launcher(), &letter, 1) != 1) return;
}

void ucp_worker_destroy(void* worker) {
  if (next_destroy == NULL) find_next();
  if (known_worker != NULL && launcher() >= 0 && getenv("SILL_TEST_NODES") != NULL) meet_all();
  known_worker = NULL;
  next_destroy(worker);
}

/* MPICH reads what the launcher answers by this. */
ssize_t read(int fd, void* buffer, size_t bytes) {
  if (fd >= 0 && fd == launcher()) answered(0);
  return syscall(SYS_read, fd, buffer, bytes);
}
