#pragma once
// Which machine this is.
#include <cstdint>

namespace sill {

// A number for the running kernel: device numbers mean the same on all that share it. 0 if the kernel doesn't tell.
std::uint64_t machine_identity();

}  // namespace sill
