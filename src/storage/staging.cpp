#include "storage/staging.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "storage/file_lock.hpp"
#include "storage/file_size_limit.hpp"

namespace sill::storage {
namespace {

constexpr std::size_t chunk = 1u << 18;
constexpr std::size_t block = 1u << 12;  // the unit in which differences are written

Result<std::size_t> read_fully(const Source& source, std::uint64_t offset, char* to, std::size_t length) {
  std::size_t done = 0;
  while (done < length) {
    const ssize_t got = ::pread(source.fd(), to + done, length - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_status(errno, source.path() + ": reading");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

Status write_fully(const Source& source, std::uint64_t offset, const char* from, std::size_t length) {
  std::size_t done = 0;
  while (done < length) {
    const ssize_t put = ::pwrite(source.fd(), from + done, length - done, static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno_status(errno, source.path() + ": sync");
    done += static_cast<std::size_t>(put);
  }
  return {};
}

}  // namespace

Status read_in(const Source& source, std::uint64_t offset, void* memory, std::size_t length) {
  auto* to = static_cast<char*>(memory);
  const auto got = read_fully(source, offset, to, length);
  if (!got.ok()) return got.status();
  std::memset(to + got.value(), 0, length - got.value());
  return {};
}

Result<std::uint64_t> write_out(const Source& source, std::uint64_t offset, const void* memory, std::size_t length) {
  // Locks of an open file belong to all threads of a process.
  static std::mutex threads;
  const std::lock_guard lock(threads);
  const Turn turn(source.fd(), write_turn);
  const NoFileSizeSignal errors_only;
  const auto* from = static_cast<const char*>(memory);
  std::vector<char> there(std::min(length, chunk));
  std::uint64_t written = 0;
  for (std::size_t at = 0; at < length; at += chunk) {
    const std::size_t count = std::min(chunk, length - at);
    const auto got = read_fully(source, offset + at, there.data(), count);
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
        if (Status status = write_fully(source, offset + at + part, from + at + part, end - part); !status.ok())
          return status;
        written += end - part;
      }
      part = end + block;
    }
  }
  int result;
  do result = ::fdatasync(source.fd());
  while (result != 0 && errno == EINTR);
  if (result != 0) return errno_status(errno, source.path() + ": sync");
  return written;
}

}  // namespace sill::storage
