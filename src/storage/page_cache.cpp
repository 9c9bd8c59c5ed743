#include "storage/page_cache.hpp"

#include <unistd.h>

#include "storage/mapping.hpp"

namespace sill::storage {
namespace {

// The kernel's structures, for C libraries whose headers are older than the call.
struct cachestat_range {
  std::uint64_t offset;
  std::uint64_t length;
};
struct cachestat_counts {
  std::uint64_t cached, dirty, writeback, evicted, recently_evicted;  // pages
};
constexpr long cachestat_number = 451;  // the same on all architectures but alpha

}  // namespace

std::optional<CacheUse> cache_use(const File& file, std::uint64_t offset, std::uint64_t length) {
  if (length == 0) return CacheUse{};  // the kernel takes 0 for "to the end"
  cachestat_range range{offset, length};
  cachestat_counts counts{};
  if (::syscall(cachestat_number, file.fd(), &range, &counts, 0) != 0) return std::nullopt;
  return CacheUse{counts.cached * page_size(), counts.dirty * page_size()};
}

}  // namespace sill::storage
