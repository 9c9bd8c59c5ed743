#pragma once
// storage_alloc_factor=auto: looking at what is left of a node's memory, and promising it.
#include <span>

#include "base/status.hpp"
#include "mpi/comm.hpp"
#include "storage/promises.hpp"
#include "window/plan.hpp"

namespace sill::window {

// Settles the shares that are left to Sill, all ranks' alike. On each node one rank looks at what is promised and,
// before anybody else can look, promises what all of the node's will get: `for_node` holds that, and must live until
// each of them has promised its own. Before, each has called storage::note_touched(), and met the others since.
// Collective.
Status settle_shares(const mpi::OwnComm& own, std::span<Request> requests, storage::Promise& for_node);

// The same for a process by itself. `promise` is of its part in memory, also where the share is settled already. Local.
Status settle_share(Request& request, storage::Promise& promise);

}  // namespace sill::window
