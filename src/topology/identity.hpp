#pragma once
// What is known of a directory without asking its file system: nothing here costs a message to a server beyond the
// look-up of the name.
#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.hpp"
#include "base/file_systems.hpp"
#include "base/mounts.hpp"
#include "base/status.hpp"

namespace sill::topology {

using Kind = FileSystem::Kind;

enum class Presence : std::uint32_t { absent, present };

// What one rank tells of its directory; plain bytes, sent as they are.
struct Identity {
  Presence presence = Presence::absent;
  Kind kind = Kind::stacked;
  std::uint32_t read_only = 0;
  std::uint32_t likely_writer = 0;  // by owner and mode: this process may make files in it
  std::uint64_t machine = 0;        // the running kernel
  std::uint64_t node = 0;           // the same, with the host's name
  std::uint64_t device = 0;         // with `inode`: the directory, among all of this kernel
  std::uint64_t inode = 0;
  std::uint64_t fingerprint = 0;  // equal for directories that may be one
};

// A directory, held open so that nothing done with its name changes what is looked at.
class Directory {
 public:
  // nullopt where this process sees none: the name is missing, is none of a directory, or may not be reached.
  static Result<std::optional<Directory>> open(const std::string& path);

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  const Identity& identity() const { return identity_; }
  const std::optional<Mount>& mount() const { return mount_; }  // nullopt where the system doesn't tell

 private:
  Directory(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  Status identify();

  Descriptor fd_;
  std::string path_;
  std::optional<Mount> mount_;
  Identity identity_;
};

}  // namespace sill::topology
