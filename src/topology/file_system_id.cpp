#include "topology/file_system_id.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/machine.hpp"
#include "base/text.hpp"

namespace sill::topology {
namespace {

using Uuid = std::array<std::uint8_t, 16>;

// The kernel's interfaces for this (linux/fs.h, fs/ext4/ext4.h, xfs_fs.h, linux/btrfs.h), which not all headers have.
struct fsuuid2 {
  std::uint8_t length;
  Uuid uuid;
};
constexpr unsigned long fs_ioc_getfsuuid = _IOR(0x15, 0, fsuuid2);

struct ext4_fsuuid {
  std::uint32_t length, flags;
  Uuid uuid;
};
const unsigned long ext4_ioc_getfsuuid = _IOC(_IOC_READ, 'f', 44, offsetof(ext4_fsuuid, uuid));

struct xfs_fsop_geom_v4 {
  std::uint32_t before[8];
  std::uint64_t blocks[4];
  Uuid uuid;
  std::uint32_t unit, width;
  std::int32_t version;
  std::uint32_t flags;
  std::uint32_t behind[4];
};
static_assert(sizeof(xfs_fsop_geom_v4) == 112);
constexpr unsigned long xfs_ioc_fsgeometry = _IOR('X', 124, xfs_fsop_geom_v4);
constexpr std::uint32_t xfs_flag_reflink = 1u << 20;

struct btrfs_fs_info {
  std::uint64_t max_id, devices;
  Uuid uuid;
  std::uint8_t behind[1024 - 32];
};
constexpr unsigned long btrfs_ioc_fs_info = _IOR(0x94, 31, btrfs_fs_info);

std::optional<xfs_fsop_geom_v4> xfs_geometry(int fd) {
  xfs_fsop_geom_v4 geometry = {};
  if (::ioctl(fd, xfs_ioc_fsgeometry, &geometry) != 0) return {};
  return geometry;
}

std::optional<Uuid> uuid_by_ioctl(int fd, const std::string& type) {
  std::optional<Uuid> uuid;
  fsuuid2 general = {};
  ext4_fsuuid ext4 = {sizeof(Uuid), 0, {}};
  btrfs_fs_info btrfs = {};
  // ext4's own first: it has the UUID of today, the general one that of the time of mounting.
  if (type.starts_with("ext") && ::ioctl(fd, ext4_ioc_getfsuuid, &ext4) == 0) {
    uuid = ext4.uuid;
  } else if (::ioctl(fd, fs_ioc_getfsuuid, &general) == 0 && general.length == sizeof(Uuid)) {
    uuid = general.uuid;
  } else if (const auto geometry = type == "xfs" ? xfs_geometry(fd) : std::nullopt) {
    uuid = geometry->uuid;
  } else if (type == "btrfs" && ::ioctl(fd, btrfs_ioc_fs_info, &btrfs) == 0) {
    uuid = btrfs.uuid;
  }
  return uuid == Uuid{} ? std::nullopt : uuid;
}

std::string show(const Uuid& uuid) {
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += hex(uuid[i], 2);
  }
  return text;
}

// The UUID that udev read from the device.
std::string uuid_by_udev(unsigned major_number, unsigned minor_number) {
  std::error_code error;
  for (const auto& link : std::filesystem::directory_iterator("/dev/disk/by-uuid", error)) {
    struct stat facts;
    if (::stat(link.path().c_str(), &facts) == 0 && S_ISBLK(facts.st_mode) &&
        facts.st_rdev == makedev(major_number, minor_number))
      return link.path().filename();
  }
  return {};
}

std::string boot_and_number(dev_t number) {
  return "boot:" + boot_id() + ":" + std::to_string(major(number)) + ":" + std::to_string(minor(number));
}

}  // namespace

std::string file_system_id(int fd, const Mount& mount, const struct statfs& space, bool network) {
  if (network) return mount.type + ":" + mount.source;
  if (const auto uuid = uuid_by_ioctl(fd, mount.type)) return "uuid:" + show(*uuid);
  if (mount.major != 0) {
    if (const std::string uuid = uuid_by_udev(mount.major, mount.minor); !uuid.empty()) return "uuid:" + uuid;
  }
  // ext2 to ext4 make theirs from the UUID; others from the device's number, which may change.
  if (std::uint64_t id = 0; mount.type.starts_with("ext")) {
    std::memcpy(&id, &space.f_fsid, sizeof id);
    if (id != 0) return "fsid:" + mount.type + ":" + hex(id, 16);
  }
  return boot_and_number(makedev(mount.major, mount.minor));
}

std::string device_id(const std::string& name, dev_t number) {
  const std::filesystem::path folder = std::filesystem::path("/sys/class/block") / name;
  for (const char* const file : {"wwid", "device/wwid", "serial", "device/serial", "dm/uuid"}) {
    std::ifstream content(folder / file);
    std::string line;
    if (!name.empty() && std::getline(content, line) && !trim(line).empty()) return "device:" + std::string(trim(line));
  }
  return boot_and_number(number);
}

std::optional<bool> xfs_has_reflink(int fd) {
  const auto geometry = xfs_geometry(fd);
  if (!geometry) return {};
  return (geometry->flags & xfs_flag_reflink) != 0;
}

}  // namespace sill::topology
