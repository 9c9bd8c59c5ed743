#pragma once
// A communicator of Sill's own beside the user's: its collectives can't be mistaken for the program's, its errors come
// back as codes, and what is known of nodes is found out once. It hangs on the user's communicator as an attribute.
#include <mpi.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "mpi/team.hpp"

namespace sill::mpi {

class OwnComm : public Team {
 public:
  OwnComm() = default;
  OwnComm& operator=(OwnComm&&) = delete;
  // Frees `comm`. The last owner goes in a collective call (freeing the user's communicator, or a window on it).
  ~OwnComm();

  int node_count = 1;
  bool threads = false;      // any rank has MPI_THREAD_MULTIPLE
  bool one_world = true;     // all ranks are of this MPI_COMM_WORLD
  std::vector<int> node_of;  // per rank: the lowest rank of its node

  bool on_my_node(int other) const { return node_of[other] == node_of[rank]; }
  bool alone_on_node() const { return std::count(node_of.begin(), node_of.end(), node_of[rank]) == 1; }
};

// Sill's communicator beside `user`, an intra-communicator; made at the first call. With MPI_THREAD_MULTIPLE on any
// rank each call makes another, the caller's alone, for two threads may end two windows at the same time. Collective.
Result<std::shared_ptr<const OwnComm>> own_comm(MPI_Comm user);

// What the launcher says of this process's rank; -1 if nothing. Needs no MPI.
int launched_rank();

// This process's rank in MPI_COMM_WORLD; where there is no world (sessions), the launcher's number, else `fallback`.
int world_rank(int fallback);

// One string of each rank on this node, by rank, if it isn't empty; all know the lengths. Collective on the node.
Result<std::map<int, std::string>> gather_on_node(const OwnComm& own, const std::string& mine,
                                                  const std::vector<int>& lengths);

// The pairs of an info object, only those with a key that `wanted` accepts.
std::vector<std::pair<std::string, std::string>> info_pairs(MPI_Info info, bool (*wanted)(const std::string& key));

}  // namespace sill::mpi
