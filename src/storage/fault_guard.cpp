#include "storage/fault_guard.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <mutex>

namespace sill::storage {

// Entries are only added and reused, never freed: the signal handler walks them at any time.
struct FaultGuard::Entry {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};  // 0: free
  std::atomic<bool> readonly{false};
  char window[32] = {};
  char path[4096] = {};
  Entry* next = nullptr;
};

namespace {

// A signal whose action is the guard's.
struct Guarded {
  std::atomic<bool> installed{false};
  struct sigaction program_action = {};  // the program's own; written by sigaction calls, read by the handler
};
Guarded guarded_bus;
Guarded guarded_segv;
int readonly_guards = 0;  // guarded by guards_mutex

Guarded& guarded(int number) { return number == SIGSEGV ? guarded_segv : guarded_bus; }

std::mutex guards_mutex;

std::atomic_flag program_action_busy = ATOMIC_FLAG_INIT;
thread_local const char* pending_window = nullptr;
thread_local const char* pending_path = nullptr;

// Holds back this thread's signals as well, so that no handler waits for the thread it interrupted: ours, nor one of
// the program's that calls sigaction.
class ActionTurn {
 public:
  ActionTurn() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
    while (program_action_busy.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~ActionTurn() {
    program_action_busy.clear(std::memory_order_release);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  ActionTurn& operator=(ActionTurn&&) = delete;

 private:
  sigset_t before_;
};

using SigactionCall = int (*)(int, const struct sigaction*, struct sigaction*);

// The C library's own: libsill exports a sigaction in front of it.
SigactionCall real_sigaction() {
  static const auto call = reinterpret_cast<SigactionCall>(::dlsym(RTLD_NEXT, "sigaction"));
  return call ? call : &::sigaction;
}

// In one piece, as far as it goes: what comes in several a launcher may tear apart.
void put(std::initializer_list<const char*> texts) {
  char line[2048];
  std::size_t length = 0;
  for (const char* text : texts) {
    const std::size_t more = std::min(std::strlen(text), sizeof line - length);
    std::memcpy(line + length, text, more);
    length += more;
  }
  // Nothing can be done about a standard error that can't be written while the program ends.
  if (::write(STDERR_FILENO, line, length) < 0) return;
}

const char* reason_for(int number, const char* path) {
  if (number == SIGSEGV) return "it is only read (storage_alloc_readonly), and something was stored to it";
  struct stat file;
  struct statvfs space;
  if (::stat(path, &file) != 0) return "the file is gone";
  if (S_ISREG(file.st_mode) && ::statvfs(path, &space) == 0 && space.f_bavail == 0)
    return "no space left on the device (storage_alloc_reserve=full would have said so at allocation)";
  return "the file was cut short by somebody, a quota is reached, or the device failed";
}

void end_by_default(int number) {
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;
  real_sigaction()(number, &plain, nullptr);
  ::raise(number);  // delivered when the handler returns
}

void say_and_end(int number) {
  put({"sill: error: window ", pending_window, " on ", pending_path, ": ", reason_for(number, pending_path),
       "; the program ends\n"});
  end_by_default(number);
}

struct sigaction take_program_action(int number) {
  const ActionTurn turn;
  struct sigaction& program_action = guarded(number).program_action;
  const struct sigaction action = program_action;
  if (action.sa_flags & static_cast<int>(SA_RESETHAND)) {
    program_action.sa_flags &= ~SA_SIGINFO;
    program_action.sa_handler = SIG_DFL;
  }
  return action;
}

// A fault of this thread's own access, not a signal that was sent or a warning of bad memory somewhere.
bool is_fault(int number, const siginfo_t& info) {
  return info.si_code > 0 && !(number == SIGBUS && info.si_code == BUS_MCEERR_AO);
}

}  // namespace

struct FaultHandler {
  static inline std::atomic<FaultGuard::Entry*> head{nullptr};

  static const FaultGuard::Entry* find(const void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (const auto* entry = head.load(std::memory_order_acquire); entry; entry = entry->next)
      if (at >= entry->begin.load() && at < entry->end.load()) return entry;
    return nullptr;
  }

  static void handle(int number, siginfo_t* info, void* context) {
    const int saved_errno = errno;
    const FaultGuard::Entry* entry = is_fault(number, *info) ? find(info->si_addr) : nullptr;
    if (entry && number == SIGSEGV && !entry->readonly.load()) entry = nullptr;
    if (entry) {
      pending_window = entry->window;
      pending_path = entry->path;
    }
    const struct sigaction program = take_program_action(number);
    const bool has_handler = program.sa_handler != SIG_DFL && program.sa_handler != SIG_IGN;
    if (has_handler && (program.sa_flags & SA_SIGINFO))
      program.sa_sigaction(number, info, context);
    else if (has_handler)
      program.sa_handler(number);
    // A handler that puts the default back and raises again comes through here a second time, without an address.
    const bool ours = entry || (pending_window && info->si_code <= 0);
    if (ours) {
      say_and_end(number);
    } else if (program.sa_handler == SIG_DFL || (program.sa_handler == SIG_IGN && is_fault(number, *info))) {
      end_by_default(number);  // a fault can't be ignored: the program would fault again for ever
    }
    errno = saved_errno;
  }

  // Both with guards_mutex held.
  static void install(int number) {
    Guarded& signal = guarded(number);
    const ActionTurn turn;
    if (signal.installed.load()) return;
    struct sigaction ours = {};
    ours.sa_sigaction = &FaultHandler::handle;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&ours.sa_mask);
    if (real_sigaction()(number, nullptr, &signal.program_action) == 0 && real_sigaction()(number, &ours, nullptr) == 0)
      signal.installed.store(true);
  }
  static void uninstall(int number) {
    Guarded& signal = guarded(number);
    const ActionTurn turn;
    if (signal.installed.load() && real_sigaction()(number, &signal.program_action, nullptr) == 0)
      signal.installed.store(false);
  }
};

FaultGuard::Entry* FaultGuard::claim() {
  for (Entry* entry = FaultHandler::head.load(); entry; entry = entry->next)
    if (entry->end.load() == 0) return entry;
  auto* entry = new Entry;
  entry->next = FaultHandler::head.load();
  FaultHandler::head.store(entry, std::memory_order_release);
  return entry;
}

FaultGuard::FaultGuard(const void* address, std::size_t length, const std::string& window, const std::string& path,
                       bool readonly) {
  const std::lock_guard lock(guards_mutex);
  if (length == 0) return;
  entry_.reset(claim());
  std::strncpy(entry_->window, window.c_str(), sizeof entry_->window - 1);
  std::strncpy(entry_->path, path.c_str(), sizeof entry_->path - 1);
  entry_->readonly.store(readonly);
  entry_->begin.store(reinterpret_cast<std::uintptr_t>(address));
  entry_->end.store(reinterpret_cast<std::uintptr_t>(address) + length);
  FaultHandler::install(SIGBUS);
  if (!readonly) return;
  ++readonly_guards;
  FaultHandler::install(SIGSEGV);
}

void FaultGuard::Release::operator()(Entry* entry) const {
  const std::lock_guard lock(guards_mutex);
  if (entry->readonly.load() && --readonly_guards == 0) FaultHandler::uninstall(SIGSEGV);
  entry->end.store(0);
}

bool guarded_sigaction(int number, const struct sigaction* action, struct sigaction* old_action) {
  if (number != SIGBUS && number != SIGSEGV) return false;
  const ActionTurn turn;
  if (!guarded(number).installed.load()) return false;
  struct sigaction& program_action = guarded(number).program_action;
  const struct sigaction before = program_action;
  if (action) program_action = *action;
  if (old_action) *old_action = before;
  return true;
}

}  // namespace sill::storage
