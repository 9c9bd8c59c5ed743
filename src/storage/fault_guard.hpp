#pragma once
// A store to a mapped page whose file can't take it (device full, file cut) ends in SIGBUS, one to a window that is
// only read in SIGSEGV. The guard lets the program's own handler have its turn, then says in one line which window,
// file and reason, and lets the signal end the program.
#include <signal.h>

#include <cstddef>
#include <memory>
#include <string>

namespace sill::storage {

class FaultGuard {
 public:
  FaultGuard() = default;
  // Watches [address, address + length) while it lives. The handler of SIGBUS stays from the first use in a process on,
  // that of SIGSEGV as long as there is a `readonly` guard.
  FaultGuard(const void* address, std::size_t length, const std::string& window, const std::string& path,
             bool readonly = false);

 private:
  struct Entry;
  struct Release {
    void operator()(Entry* entry) const;
  };
  static Entry* claim();
  friend struct FaultHandler;
  std::unique_ptr<Entry, Release> entry_;
};

// What sigaction of SIGBUS or SIGSEGV means while the guard holds the real action: the program sees and sets its own
// one. False when the guard doesn't hold that signal's, and the call is the C library's to answer.
bool guarded_sigaction(int number, const struct sigaction* action, struct sigaction* old_action);

}  // namespace sill::storage
