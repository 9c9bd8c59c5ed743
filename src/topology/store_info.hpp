#pragma once
// A store as C has it.
#include "sill/sill.h"
#include "topology/store.hpp"

namespace sill::topology {

// Texts are cut where they don't fit.
sill_store_info to_info(const Store& store);

}  // namespace sill::topology
