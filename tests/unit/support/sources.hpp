#pragma once
// Sources in tests.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "storage/source.hpp"

namespace sill::test {

inline struct stat stat_of(const std::string& path) {
  struct stat found = {};
  EXPECT_EQ(::stat(path.c_str(), &found), 0) << path << ": " << std::strerror(errno);
  return found;
}

inline Result<storage::Source> try_open(const std::string& path, mode_t perm = 0600) {
  return storage::Source::open({.path = path, .perm = perm, .striping_factor = {}, .striping_unit = {}});
}

// Opens what must open.
inline storage::Source open_source(const std::string& path, mode_t perm = 0600) {
  auto source = try_open(path, perm);
  if (!source.ok()) throw std::runtime_error(source.status().message());
  return std::move(source).value();
}

// A source of `length` bytes from `offset` on, ready to be mapped.
inline storage::Source open_reserved(const std::string& path, std::uint64_t offset, std::uint64_t length,
                                     Reserve how = Reserve::full) {
  storage::Source source = open_source(path);
  const Status status = source.reserve(offset, length, how);
  if (!status.ok()) throw std::runtime_error(status.message());
  return source;
}

}  // namespace sill::test
