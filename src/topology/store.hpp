#pragma once
// What lies under a path: its file system, the device below, and what both can do. Looks only, writes nothing.
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.hpp"

namespace sill::topology {

// What keeps the bytes.
enum class Medium { unknown, memory, solid_state, rotational };

// Nothing in an optional: the system below can't tell.
struct Store {
  std::string file_system;  // as mount shows it, "ext4"; "block device" where the path is one
  std::string source;       // as mount shows it: "/dev/vda", "server:/export"
  std::string mount_point;
  std::string device;    // the kernel's name of the block device, "nvme0n1p2"; "" if there is none, or none is seen
  std::string identity;  // equal wherever this store is seen, and after a reboot if it can be; no proof: copies exist
  Medium medium = Medium::unknown;
  std::optional<bool> shared;  // other machines see the same files
  bool served = false;         // a server or another process decides when others see mapped bytes, and keeps them
  bool read_only = false;
  std::optional<bool> dax;        // mappings reach the device itself, past the page cache
  std::optional<bool> reflink;    // files can share blocks (FICLONE)
  std::optional<bool> direct_io;  // O_DIRECT
  std::uint64_t capacity = 0;     // bytes
  std::uint64_t available = 0;    // bytes that ordinary users can still allocate
  std::uint64_t block_size = 0;   // bytes; what is allocated at once
};

// Describes the store under a file, directory or block device, which must exist. Local.
Result<Store> query_store(const std::string& path);

}  // namespace sill::topology
