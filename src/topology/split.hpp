#pragma once
// The ranks of a communicator divided by the stores they see.
#include <mpi.h>

#include <chrono>
#include <optional>
#include <string>

#include "base/split_hints.hpp"
#include "base/status.hpp"
#include "topology/grouping.hpp"
#include "topology/split_request.hpp"
#include "topology/token.hpp"

namespace sill::topology {

struct Division {
  Place place;  // of this rank
  int store_count = 0;
  Operations operations;  // of this rank
};

// Which ranks of `comm`, an intra-communicator, see one directory. `directory` is this rank's, as a path; a rank
// without takes part and belongs nowhere. `mine` is what is wrong so far. On an error every rank returns that of the
// lowest that has one. Nothing is left in the directories. Collective.
Result<Division> divide(MPI_Comm comm, const std::optional<std::string>& directory, SplitMethod method,
                        const Status& mine = {});

// What the last split of this thread did.
struct Report {
  SplitMethod method = SplitMethod::automatic;
  Division division;
  std::chrono::nanoseconds time{};
};
const std::optional<Report>& last_report();

struct SplitCall {
  MPI_Comm comm;
  int key;
  MPI_Comm* newcomm;
};

// MPI_Comm_split_type by directory; calls the communicator's error handler. Collective.
int split(const SplitCall& call, const SplitRequest& request);

}  // namespace sill::topology
