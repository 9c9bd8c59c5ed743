#pragma once
// Names that stay: the same on every machine that mounts a file system, and after a reboot.
#include <sys/types.h>
#include <sys/vfs.h>

#include <optional>
#include <string>

#include "base/mounts.hpp"

namespace sill::topology {

// The best there is: for network file systems type and source ("nfs4:server:/export"), else "uuid:...", "fsid:...", or
// last "boot:...", which is gone with the running kernel. `fd` is open on it, in any way.
std::string file_system_id(int fd, const Mount& mount, const struct statfs& space, bool network);

// The same for a block device, by the World Wide Name or serial number it tells.
std::string device_id(const std::string& name, dev_t number);

// Whether files of an XFS can share blocks; nothing if it doesn't tell.
std::optional<bool> xfs_has_reflink(int fd);

}  // namespace sill::topology
