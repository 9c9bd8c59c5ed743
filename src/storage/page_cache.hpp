#pragma once
// What of a file is in memory, and what of that is newer than the device.
#include <cstdint>
#include <optional>

#include "storage/file.hpp"

namespace sill::storage {

struct CacheUse {
  std::uint64_t resident = 0;  // bytes
  std::uint64_t dirty = 0;     // bytes, of those
};

// nullopt where the kernel can't tell (cachestat came with Linux 6.5).
std::optional<CacheUse> cache_use(const File& file, std::uint64_t offset, std::uint64_t length);

}  // namespace sill::storage
