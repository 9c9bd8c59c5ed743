/* Preloaded under MPICH: a rank that waits leaves the core to the one it waits for. MPICH's progress loop never does,
 * so that on fewer cores than ranks each message costs a time slice. (Open MPI has mpi_yield_when_idle.)
 */
#include <dlfcn.h>
#include <sched.h>

enum { PATIENCE = 20 }; /* a neighbour on another core answers sooner */

/* Of UCX; MPICH calls it in each turn of the loop. With other network layers nothing changes. */
unsigned ucp_worker_progress(void* worker);

static unsigned (*next)(void*);

__attribute__((constructor)) static void find_next(void) { *(void**)&next = dlsym(RTLD_NEXT, "ucp_worker_progress"); }

unsigned ucp_worker_progress(void* worker) {
  static _Thread_local unsigned idle;
  const unsigned events = next(worker);
  idle = events ? 0 : idle + 1;
  if (idle > PATIENCE) sched_yield();
  return events;
}
