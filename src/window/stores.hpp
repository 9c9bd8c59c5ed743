#pragma once
// The stores of a window: every rank opens its own, one rank for each store makes room in it.
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/filename.hpp"
#include "base/hints.hpp"
#include "base/status.hpp"
#include "mpi/comm.hpp"
#include "storage/claim.hpp"
#include "window/front.hpp"
#include "window/plan.hpp"

namespace sill::window {

class Stores {
 public:
  // Opens this rank's store if its request needs one, and learns of everybody's. Collective; all succeed or all fail.
  static Result<Stores> open(const mpi::OwnComm& own, std::span<const Request> requests, const WindowHints& hints,
                             const NameFields& fields);

  const std::vector<StoreFacts>& opened() const { return opened_; }
  // Of a rank on this node.
  const std::string& path_of(int rank) const { return paths_.at(rank); }
  const storage::StoreIdentity& identity_of(int rank) const { return opened_[static_cast<std::size_t>(rank)].identity; }
  std::optional<storage::Claim>& mine() { return mine_; }

  // The leader of each store locks and reserves the bytes of all its ranks. Collective; all succeed or all fail.
  Status reserve(const mpi::OwnComm& own, std::span<const Placement> placements, Reserve how);
  // What open and reserve did stays. Else it is undone when this goes; the leader of each store does it for all. Local.
  void commit();
  // Undoes it now. Local.
  void undo() { mine_.reset(); }

 private:
  // Ranks of several nodes whose files have one name and one number have one file only if that is proven. Collective.
  Status tell_apart(const mpi::OwnComm& own, const std::vector<bool>& doubtful);

  std::optional<storage::Claim> mine_;
  std::vector<StoreFacts> opened_;
  std::map<int, std::string> paths_;  // of the ranks on this node
};

// Opens the file or device that the hints name.
Result<storage::Claim> open_store(const WindowHints& hints, const NameFields& fields);

// The leader of a store describes it in its record. Local; a record that can't be written is a warning, but an error
// for a front, whose file means nothing without.
Status describe_store(storage::Claim& claim, int rank, std::span<const Placement> placements, const WindowHints& hints,
                      const NameFields& fields, std::span<const int> world_ranks, Front* front);

// A store's error names the hint that led to it.
Status with_key(const Status& status);

}  // namespace sill::window
