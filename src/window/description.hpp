#pragma once
// The section `window` of a store's record: which window lies there, of which job and ranks. For people and tools.
#include <span>

#include "base/filename.hpp"
#include "base/hints.hpp"
#include "storage/record.hpp"
#include "window/plan.hpp"

namespace sill::window {

// Puts the description of what the ranks of a leader's store have in it into the record. `world_ranks`: per rank, the
// one in MPI_COMM_WORLD.
void put_description(storage::Record& record, const NameFields& fields, bool unlink, int leader,
                     std::span<const Placement> placements, std::span<const int> world_ranks);

}  // namespace sill::window
