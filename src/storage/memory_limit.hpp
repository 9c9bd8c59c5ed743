#pragma once
// How much memory this process may still fill: what the machine has, and what its control groups leave of it.
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.hpp"

namespace sill::storage {

// SILL_MEMORY_LIMIT, bytes; none if it isn't set, Cause::bad_hint if it is anything but a number.
Result<std::optional<std::uint64_t>> told_limit();

// Bytes: the smallest of MemAvailable and, for this process's memory control group and each one above it (versions 1
// and 2), limit minus usage; page cache that can be dropped does not count as used. SILL_MEMORY_LIMIT, bytes, for
// experiments, is one more bound. Reads files under `root` ("/" unless a test has built another). An error if neither
// the machine nor a limit can be read.
Result<std::uint64_t> available_memory(const std::string& root = "/");

}  // namespace sill::storage
