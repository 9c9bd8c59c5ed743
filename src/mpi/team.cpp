#include "mpi/team.hpp"

#include <array>
#include <climits>
#include <string>

#include "mpi/below.hpp"
#include "mpi/errors.hpp"

namespace sill::mpi {

Team::Team(MPI_Comm of) : comm(of) {
  below().Comm_rank(comm, &rank);
  below().Comm_size(comm, &size);
}

Status Team::agree(const Status& mine) const {
  const int failing = mine.ok() ? INT_MAX : rank;
  int first = INT_MAX;
  if (const int code = below().Allreduce(&failing, &first, 1, MPI_INT, MPI_MIN, comm); code != MPI_SUCCESS)
    return from_code(code, "MPI_Allreduce");
  if (first == INT_MAX) return {};
  std::string message = mine.message();
  std::array<int, 2> told = {static_cast<int>(mine.cause()), static_cast<int>(message.size())};
  if (const int code = below().Bcast(told.data(), 2, MPI_INT, first, comm); code != MPI_SUCCESS)
    return from_code(code, "MPI_Bcast");
  message.resize(static_cast<std::size_t>(told[1]));
  if (const int code = below().Bcast(message.data(), told[1], MPI_CHAR, first, comm); code != MPI_SUCCESS)
    return from_code(code, "MPI_Bcast");
  return {static_cast<Cause>(told[0]), "rank " + std::to_string(first) + ": " + message};
}

Status Team::meet() const { return from_code(below().Barrier(comm), "MPI_Barrier"); }

Status Team::gather_all_bytes(const void* mine, int bytes, void* all) const {
  return from_code(below().Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm), "MPI_Allgather");
}

Status Team::gather_bytes(const void* mine, int bytes, void* all, int root) const {
  return from_code(below().Gather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, root, comm), "MPI_Gather");
}

Status Team::gather_bytes(const void* mine, int bytes, void* all, const std::vector<int>& bytes_of_all,
                          int root) const {
  std::vector<int> starts;
  for (int total = 0; const int length : bytes_of_all) starts.push_back(std::exchange(total, total + length));
  const int code =
      below().Gatherv(mine, bytes, MPI_BYTE, all, bytes_of_all.data(), starts.data(), MPI_BYTE, root, comm);
  return from_code(code, "MPI_Gatherv");
}

Status Team::scatter_bytes(const void* all, int bytes, void* mine, int root) const {
  return from_code(below().Scatter(all, bytes, MPI_BYTE, mine, bytes, MPI_BYTE, root, comm), "MPI_Scatter");
}

Status Team::exchange_bytes(const std::vector<int>& ranks, const void* mine, int bytes, void* theirs) const {
  constexpr int tag = 7;
  std::vector<MPI_Request> requests(2 * ranks.size(), MPI_REQUEST_NULL);
  int code = MPI_SUCCESS;
  auto* to = static_cast<std::byte*>(theirs);
  for (std::size_t i = 0; i < ranks.size() && code == MPI_SUCCESS; ++i, to += bytes) {
    code = below().Irecv(to, bytes, MPI_BYTE, ranks[i], tag, comm, &requests[2 * i]);
    if (code == MPI_SUCCESS) code = below().Isend(mine, bytes, MPI_BYTE, ranks[i], tag, comm, &requests[2 * i + 1]);
  }
  if (code == MPI_SUCCESS)
    code = below().Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return from_code(code, "exchanging with some ranks");
}

}  // namespace sill::mpi
