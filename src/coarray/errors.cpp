#include "coarray/errors.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/log.hpp"
#include "coarray/team.hpp"
#include "mpi/below.hpp"

namespace sill::coarray {

void give(const Status& status, const ErrorArguments& arguments) {
  if (!arguments.stat) return stop_on_error(status);
  *arguments.stat = status.ok() ? 0 : stat_storage;
  if (status.ok() || !arguments.message) return;
  std::memset(arguments.message, ' ', arguments.length);
  std::memcpy(arguments.message, status.message().data(), std::min(arguments.length, status.message().size()));
}

void stop_alone(const Status& status) {
  log(LogLevel::error, "coarrays: " + status.message());
  mpi::below().Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  std::_Exit(EXIT_FAILURE);
}

void stop_on_error(const Status& status) {
  if (status.ok()) return;
  const mpi::OwnComm* own = team().own.get();
  if (!own || own->rank == 0) log(LogLevel::error, "coarrays: " + status.message());
  // Nobody ends the others before the message is out.
  if (own) mpi::below().Barrier(own->comm);
  mpi::below().Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace sill::coarray
