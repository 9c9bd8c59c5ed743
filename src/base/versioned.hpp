#pragma once
// The structures of sill.h that a caller has, who may have been compiled with a shorter or a longer version of them.
#include <cstddef>

#include "base/status.hpp"

namespace sill {

// Copies `own` into the caller's structure as far as that reaches. Both begin with their size, a size_t; the caller's
// becomes the number of bytes copied. An error if it is below `first`, the size of the first version, or absurd.
Status hand_out(const char* name, std::size_t first, const void* own, void* caller);

}  // namespace sill
