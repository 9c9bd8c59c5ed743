#include "coarray/stat.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/log.hpp"
#include "coarray/team.hpp"
#include "mpi/below.hpp"

namespace sill::coarray {

namespace {

// Tells an error before the program is aborted. Hydra drops what it hasn't read of an aborting process's messages: so
// it gets a second for that.
void tell(const Status& status) {
  log(LogLevel::error, "coarrays: " + status.message());
  struct stat kind {};
  if (::fstat(STDERR_FILENO, &kind) != 0 || !S_ISFIFO(kind.st_mode)) return;
  for (int tries = 0; tries < 1000; ++tries) {
    int unread = 0;
    if (::ioctl(STDERR_FILENO, FIONREAD, &unread) != 0 || unread == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

void give(const Status& status, const ErrorArguments& arguments) {
  if (!arguments.stat) return stop_on_error(status);
  *arguments.stat = status.ok() ? 0 : stat_storage;
  if (status.ok() || !arguments.message) return;
  std::memset(arguments.message, ' ', arguments.length);
  std::memcpy(arguments.message, status.message().data(), std::min(arguments.length, status.message().size()));
}

void stop_alone(const Status& status) {
  tell(status);
  mpi::below().Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  std::_Exit(EXIT_FAILURE);
}

void stop_on_error(const Status& status) {
  if (status.ok()) return;
  const mpi::OwnComm* own = team().own.get();
  if (!own || own->rank == 0) tell(status);
  // Nobody ends the others before the message is out.
  if (own) mpi::below().Barrier(own->comm);
  mpi::below().Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace sill::coarray
