// sigaction and signal, for SIGBUS and SIGSEGV only: the program's own handler keeps its turn before a full device, or
// a store to a window that is only read, ends the program.
#include <dlfcn.h>
#include <signal.h>

#include <cerrno>

#include "pmpi/entry.hpp"
#include "storage/fault_guard.hpp"

SILL_EXPORT int sigaction(int number, const struct sigaction* action, struct sigaction* old_action) noexcept {
  using Call = int (*)(int, const struct sigaction*, struct sigaction*);
  if (sill::storage::guarded_sigaction(number, action, old_action)) return 0;
  static std::atomic<Call> slot{nullptr};
  const Call next = sill::pmpi::next_of(slot, "sigaction");
  return next ? next(number, action, old_action) : (errno = ENOSYS, -1);
}

SILL_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  using Call = sighandler_t (*)(int, sighandler_t);
  struct sigaction action = {};
  struct sigaction old_action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  if (sill::storage::guarded_sigaction(number, &action, &old_action)) return old_action.sa_handler;
  static std::atomic<Call> slot{nullptr};
  const Call next = sill::pmpi::next_of(slot, "signal");
  return next ? next(number, handler) : (errno = ENOSYS, SIG_ERR);
}
