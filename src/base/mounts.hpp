#pragma once
// Mounted file systems, as the kernel tells them.
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace sill {

// A line of /proc/self/mountinfo.
struct Mount {
  int id = 0;
  unsigned major = 0;  // device number of the file system; 0 where no block device is below
  unsigned minor = 0;
  std::string root;     // the folder of the file system that is seen at `point`
  std::string point;    // where it is seen
  std::string options;  // of this mount, then those of the file system: "rw,relatime,rw,discard"
  std::string type;     // "ext4", "nfs4", "fuse.sshfs"
  std::string source;   // "/dev/vda", "server:/export", "tmpfs"

  bool has_option(std::string_view option) const;
};

// Reads such a line; nothing if it isn't one.
std::optional<Mount> parse_mount(std::string_view line);

// The mount through which `fd`, open in any way, was reached. `path` is for the message of an error.
Result<Mount> mount_of(int fd, const std::string& path);

}  // namespace sill
