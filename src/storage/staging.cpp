#include "storage/staging.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "storage/file_lock.hpp"
#include "storage/file_size_limit.hpp"

namespace sill::storage {
namespace {

constexpr std::size_t chunk = 1u << 18;
constexpr std::size_t block = 1u << 12;  // the unit in which differences are written

}  // namespace

Status read_in(const File& file, std::uint64_t offset, void* memory, std::size_t length) {
  auto* to = static_cast<char*>(memory);
  const auto got = file.read(offset, to, length);
  if (!got.ok()) return got.status();
  std::memset(to + got.value(), 0, length - got.value());
  return {};
}

Result<std::uint64_t> write_out(const File& file, std::uint64_t offset, const void* memory, std::size_t length) {
  // Locks of an open file belong to all threads of a process.
  static std::mutex threads;
  const std::lock_guard lock(threads);
  const Turn turn(file.fd(), write_turn);
  const NoFileSizeSignal errors_only;
  const auto* from = static_cast<const char*>(memory);
  std::vector<char> there(std::min(length, chunk));
  std::uint64_t written = 0;
  for (std::size_t at = 0; at < length; at += chunk) {
    const std::size_t count = std::min(chunk, length - at);
    const auto got = file.read(offset + at, there.data(), count);
    if (!got.ok()) return got.status();
    const auto differs = [&](std::size_t part) {
      const std::size_t size = std::min(block, count - part);
      return part + size > got.value() || std::memcmp(from + at + part, there.data() + part, size) != 0;
    };
    for (std::size_t part = 0; part < count;) {
      std::size_t end = part;
      while (end < count && differs(end)) end += block;
      end = std::min(end, count);
      if (end > part) {
        if (Status status = file.write(offset + at + part, from + at + part, end - part, "sync"); !status.ok())
          return status;
        written += end - part;
      }
      part = end + block;
    }
  }
  if (Status durable = file.flush("sync"); !durable.ok()) return durable;
  return written;
}

}  // namespace sill::storage
