#pragma once
// Which machine this is.
#include <cstdint>
#include <string>

namespace sill {

// The random name of the running kernel: equal on all that share it, such as containers; "" if it isn't told.
const std::string& boot_id();

// A number for the running kernel: device numbers mean the same on all that share it. 0 if the kernel doesn't tell.
std::uint64_t machine_identity();

}  // namespace sill
