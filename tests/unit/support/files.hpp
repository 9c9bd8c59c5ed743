#pragma once
// Files and claims in tests.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "storage/claim.hpp"

namespace sill::test {

inline struct stat stat_of(const std::string& path) {
  struct stat found = {};
  EXPECT_EQ(::stat(path.c_str(), &found), 0) << path << ": " << std::strerror(errno);
  return found;
}

inline Result<storage::File> try_open(const std::string& path, mode_t perm = 0600) {
  return storage::File::open({.path = path, .perm = perm});
}

// Opens what must open.
inline storage::File open_file(const std::string& path, mode_t perm = 0600) {
  auto file = try_open(path, perm);
  if (!file.ok()) throw std::runtime_error(file.status().message());
  return std::move(file).value();
}

// The same with a claim on it, which undoes itself.
inline storage::Claim open_claim(const std::string& path, mode_t perm = 0600) {
  return storage::Claim(open_file(path, perm));
}

// What is claimed stays.
inline storage::File keep(storage::Claim claim) {
  storage::File file = std::move(*claim.file());
  claim.commit();
  return file;
}

// A file of `length` bytes from `offset` on, ready to be mapped.
inline storage::File open_reserved(const std::string& path, std::uint64_t offset, std::uint64_t length,
                                   Reserve how = Reserve::full) {
  storage::Claim claim = open_claim(path);
  const Status status = claim.reserve({offset, length}, how);
  if (!status.ok()) throw std::runtime_error(status.message());
  return keep(std::move(claim));
}

}  // namespace sill::test
