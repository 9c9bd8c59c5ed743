#pragma once
// RLIMIT_FSIZE (`ulimit -f`): a call that would make a file larger fails with EFBIG, but a signal comes along that ends
// the program.
#include <signal.h>

#include <cerrno>
#include <ctime>

namespace sill::storage {

// While it lives, the calling thread gets the error of such a call, and no SIGXFSZ.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal() {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    others_ = ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 1;
    blocked_ = ::pthread_sigmask(SIG_BLOCK, &signal_, &before_) == 0;
  }
  ~NoFileSizeSignal() {
    if (!blocked_) return;
    const timespec at_once{};
    // The kernel sends it to the calling thread, so it is pending by now. One that waited before isn't ours to take.
    while (!others_ && ::sigtimedwait(&signal_, nullptr, &at_once) < 0 && errno == EINTR) continue;
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoFileSizeSignal& operator=(NoFileSizeSignal&&) = delete;

 private:
  sigset_t signal_;
  sigset_t before_;
  bool others_;
  bool blocked_;
};

}  // namespace sill::storage
