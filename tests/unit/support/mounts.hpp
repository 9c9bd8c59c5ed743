#pragma once
// Small file systems and block devices for tests; only root can make them. All are taken away at destruction.
#include <cstdint>
#include <string>

#include "unit/support/folder.hpp"

namespace sill::test {

// Why this process can't mount, or attach loop devices; "" if it can. For GTEST_SKIP.
std::string why_no_mounts();
std::string why_no_loop_devices();

// A loop device over a sparse file of `size` bytes in `folder`.
class LoopDevice {
 public:
  LoopDevice(const std::string& folder, std::uint64_t size);
  ~LoopDevice();
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string image_;
  std::string path_;
};

// A mounted file system; `/` gives paths in it.
class Mounted {
 public:
  // A tmpfs of `size` bytes.
  explicit Mounted(std::uint64_t size);
  // A file system of a `type` that needs no device and takes no options (ramfs).
  explicit Mounted(const std::string& type);
  // `device` with a new file system of `type` (ext2, ext4, xfs).
  Mounted(const LoopDevice& device, const std::string& type);
  ~Mounted();
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;

  std::string operator/(const std::string& name) const { return folder_ / name; }
  std::string path() const { return folder_.path(); }
  void make_read_only();
  // Bytes that can still be allocated.
  std::uint64_t free_bytes() const;

 private:
  void mount(const std::string& source, const std::string& type, const std::string& options);
  Folder folder_;
};

}  // namespace sill::test
