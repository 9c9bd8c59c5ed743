#include "storage/file_system.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstring>

#include "base/file_systems.hpp"
#include "base/log.hpp"

namespace sill::storage {
namespace {

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

const FileSystem& found_in(const struct statfs& found) {
  return file_system_of_magic(static_cast<std::uint32_t>(found.f_type));
}

bool has_striping(const struct statfs& found) { return found_in(found).type == "lustre"; }

}  // namespace

bool is_local_file_system(int fd) {
  struct statfs found;
  return ::fstatfs(fd, &found) != 0 || found_in(found).kind != FileSystem::Kind::network;
}

int striping_open_flags(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct statfs found;
  if (::statfs(folder.c_str(), &found) != 0) return 0;
  return has_striping(found) ? o_lov_delay_create : 0;
}

bool apply_striping(int fd, std::optional<unsigned> factor, std::optional<std::uint64_t> unit) {
  struct statfs found;
  if (::fstatfs(fd, &found) != 0 || !has_striping(found)) {
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
