#include "storage/file_system.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/log.hpp"

namespace sill::storage {
namespace {

constexpr std::uint32_t lustre_magic = 0x0BD00BD0;
// Network and cluster file systems: NFS, SMB 1 and 2, Lustre, GPFS, Ceph, AFS, BeeGFS, GFS2, OCFS2, PVFS2, 9p, FUSE.
constexpr std::array<std::uint32_t, 14> shared_magics = {
    NFS_SUPER_MAGIC, 0xFF534D42, 0xFE534D42, lustre_magic, 0x47504653, 0x00C36400, 0x5346414F,
    0x19830326,      0x01161970, 0x7461636F, 0x20030528,   0x01021997, 0x65735546, 0x6B414653};

// Lustre's user interface for file layouts (lustre_user.h): not in the kernel's headers.
struct lov_user_md {
  std::uint32_t magic = 0x0BD10BD0;
  std::uint32_t pattern = 0;
  std::uint64_t object_id = 0;
  std::uint64_t object_group = 0;
  std::uint32_t stripe_size = 0;
  std::uint16_t stripe_count = 0;
  std::uint16_t stripe_offset = 0xFFFF;  // any device first
};
constexpr unsigned long ll_ioc_lov_setstripe = _IOW('f', 154, long);
constexpr int o_lov_delay_create = 0100000000 | O_NOCTTY | FASYNC;

}  // namespace

bool is_local_file_system(int fd) {
  struct statfs found;
  if (::fstatfs(fd, &found) != 0) return true;
  const auto magic = static_cast<std::uint32_t>(found.f_type);
  return std::find(shared_magics.begin(), shared_magics.end(), magic) == shared_magics.end();
}

int striping_open_flags(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct statfs found;
  if (::statfs(folder.c_str(), &found) != 0) return 0;
  return static_cast<std::uint32_t>(found.f_type) == lustre_magic ? o_lov_delay_create : 0;
}

bool apply_striping(int fd, std::optional<unsigned> factor, std::optional<std::uint64_t> unit) {
  struct statfs found;
  if (::fstatfs(fd, &found) != 0 || static_cast<std::uint32_t>(found.f_type) != lustre_magic) {
    log(LogLevel::info, "striping_factor, striping_unit: not applied, this file system has no striping");
    return false;
  }
  lov_user_md layout;
  layout.stripe_count = static_cast<std::uint16_t>(factor.value_or(0));
  layout.stripe_size = static_cast<std::uint32_t>(unit.value_or(0));
  if (::ioctl(fd, ll_ioc_lov_setstripe, &layout) == 0) return true;
  log(LogLevel::warn, std::string("striping_factor, striping_unit: not applied, Lustre said: ") + std::strerror(errno));
  return false;
}

}  // namespace sill::storage
