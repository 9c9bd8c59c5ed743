#pragma once
// All stores under some directories, and who sees which: what every rank knows of itself, brought together on one.
#include <mpi.h>

#include <string>
#include <vector>

#include "base/status.hpp"
#include "sill/sill.h"
#include "topology/split_request.hpp"

namespace sill::topology {

struct SharedStore {
  sill_store_info info{};
  std::string path;  // what its lowest rank calls the directory
  int directory = 0;
  bool unproven = false;
  std::vector<int> ranks;  // ascending
};

// Significant on the root alone.
struct Survey {
  std::vector<int> node_of;  // by rank; nodes are numbered in the order of their lowest ranks
  std::vector<std::string> node_names;
  std::vector<sill_split_stats> splits;  // by directory: operations of all ranks, time of the slowest
  std::vector<SharedStore> stores;       // by directory, then by lowest rank
};

// Divides `comm`, an intra-communicator, by each directory in turn: one SplitRequest for each, the same number on all
// ranks. `mine` is what is wrong so far. On an error every rank returns that of the lowest that has one. Collective.
Result<Survey> survey(MPI_Comm comm, int root, const std::vector<SplitRequest>& directories, const Status& mine);

}  // namespace sill::topology
