#include "topology/store.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/descriptor.hpp"
#include "base/file_systems.hpp"
#include "base/mounts.hpp"
#include "topology/file_system_id.hpp"

namespace sill::topology {
namespace {

namespace fs = std::filesystem;

// Without permission to read, a path can still be named: all but the ioctls work. Opening a device may start something.
int open_to_look(const std::string& path) {
  struct stat facts;
  if (::stat(path.c_str(), &facts) != 0) return -1;
  const bool harmless = S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode);
  const int fd = harmless ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
  return fd >= 0 ? fd : ::open(path.c_str(), O_PATH | O_CLOEXEC);
}

template <class Number>
std::optional<Number> read_number(const fs::path& file) {
  Number number = 0;
  std::ifstream content(file);
  if (!(content >> number)) return {};
  return number;
}

std::optional<bool> read_flag(const fs::path& file) {
  const auto number = read_number<int>(file);
  if (!number) return {};
  return *number != 0;
}

// A block device in /sys; the name is "" where the kernel hides it.
struct Device {
  std::string name;
  fs::path entry;
  fs::path queue;  // a partition's is that of its disk
  std::optional<bool> rotational;
  std::optional<bool> dax;
};

Device find_device(unsigned major_number, unsigned minor_number) {
  std::error_code error;
  const std::string numbers = std::to_string(major_number) + ":" + std::to_string(minor_number);
  const fs::path entry = fs::canonical("/sys/dev/block/" + numbers, error);
  if (error) return {};
  const fs::path queue = (fs::exists(entry / "partition", error) ? entry.parent_path() : entry) / "queue";
  return {entry.filename(), entry, queue, read_flag(queue / "rotational"), read_flag(queue / "dax")};
}

// The device under a mount. Some file systems (Btrfs) have numbers of their own, but name their device.
Device device_of(const Mount& mount) {
  if (mount.major != 0) return find_device(mount.major, mount.minor);
  struct stat facts;
  if (!mount.source.starts_with("/dev/") || ::stat(mount.source.c_str(), &facts) != 0 || !S_ISBLK(facts.st_mode))
    return {};
  return find_device(major(facts.st_rdev), minor(facts.st_rdev));
}

Medium medium_of(const Device& device) {
  // A virtual disk knows nothing of what lies below it; the kernel then says that it rotates.
  const bool is_virtual = device.name.starts_with("vd") || device.name.starts_with("xvd");
  if (!device.rotational || (is_virtual && *device.rotational)) return Medium::unknown;
  return *device.rotational ? Medium::rotational : Medium::solid_state;
}

// Where the table has no answer, a device below has one.
std::optional<bool> shared(const FileSystem& type, const Mount& mount) {
  if (type.shared || mount.major == 0) return type.shared;
  return false;
}

std::optional<bool> dax(int fd, const FileSystem& type, const Mount& mount, const Device& device) {
  if (mount.has_option("dax") || mount.has_option("dax=always")) return true;
  if (type.dax) return type.dax;
  if (device.dax == false || mount.has_option("dax=never")) return false;
  // Each file by its own flag, which new ones have from their directory.
  struct fsxattr flags;
  if ((mount.type == "ext4" || mount.type == "xfs") && device.dax && ::ioctl(fd, FS_IOC_FSGETXATTR, &flags) == 0)
    return (flags.fsx_xflags & FS_XFLAG_DAX) != 0;
  return {};
}

// Linux 6.6 brought O_DIRECT to tmpfs.
bool is_linux_6_6() {
  std::ifstream release("/proc/sys/kernel/osrelease");
  int first = 0, second = 0;
  char dot = 0;
  release >> first >> dot >> second;
  return std::pair(first, second) >= std::pair(6, 6);
}

std::optional<bool> direct_io(const Mount& mount, const struct statx& facts) {
#ifdef STATX_DIOALIGN
  if (facts.stx_mask & STATX_DIOALIGN) return facts.stx_dio_offset_align != 0;
#else
  (void)facts;
#endif
  if (mount.has_option("data=journal")) return false;
  if (mount.type == "tmpfs") return is_linux_6_6();
  return file_system_of(mount.type).direct_io;
}

// The mount of a file. A process whose root is no mount, as in a plain chroot, doesn't see the one of it in /proc: then
// the device alone is known.
Mount mount_of_file(int fd, const std::string& path, const struct statx& facts) {
  if (auto found = mount_of(fd, path); found.ok()) return std::move(found).value();
  Mount mount;
  mount.major = facts.stx_dev_major;
  mount.minor = facts.stx_dev_minor;
  mount.type = "unknown";
  return mount;
}

// All from /sys, for few may open a device.
Result<Store> describe_device(const std::string& path, dev_t number) {
  Store store;
  const Device device = find_device(major(number), minor(number));
  const auto sectors = read_number<std::uint64_t>(device.entry / "size");
  if (device.name.empty() || !sectors)
    return Status(Cause::unsupported, path + ": /sys doesn't tell of this device; is it mounted?");
  store.file_system = "block device";
  store.source = path;
  store.device = device.name;
  store.identity = device_id(device.name, number);
  store.medium = medium_of(device);
  store.dax = device.dax;
  store.reflink = false;
  store.direct_io = true;
  store.capacity = *sectors * 512;  // the unit of /sys, whatever the device's
  store.available = store.capacity;
  store.read_only = read_flag(device.entry / "ro") == true;
  store.block_size = read_number<std::uint64_t>(device.queue / "physical_block_size").value_or(512);
  return store;
}

}  // namespace

Result<Store> query_store(const std::string& path) {
  const Descriptor opened(open_to_look(path));
  const int fd = opened.get();
  struct statx facts;
  struct statfs space;
  unsigned wanted = STATX_TYPE;
#ifdef STATX_DIOALIGN
  wanted |= STATX_DIOALIGN;
#endif
  if (fd < 0 || ::statx(fd, "", AT_EMPTY_PATH, wanted, &facts) != 0) return errno_status(errno, path);
  if (S_ISBLK(facts.stx_mode)) return describe_device(path, makedev(facts.stx_rdev_major, facts.stx_rdev_minor));
  if (::fstatfs(fd, &space) != 0) return errno_status(errno, path);
  const Mount mount = mount_of_file(fd, path, facts);
  const FileSystem& type = file_system_of(mount.type);
  const Device device = device_of(mount);
  const auto unit = static_cast<std::uint64_t>(space.f_frsize);

  Store store;
  store.file_system = mount.type;
  store.source = mount.source;
  store.mount_point = mount.point;
  store.device = device.name;
  store.shared = shared(type, mount);
  store.served = type.served;
  store.identity = file_system_id(fd, mount, space, store.shared == true);
  store.medium = type.in_memory ? Medium::memory : medium_of(device);
  store.read_only = (space.f_flags & ST_RDONLY) != 0 || mount.has_option("ro");
  store.dax = (facts.stx_attributes & STATX_ATTR_DAX) ? true : dax(fd, type, mount, device);
  store.reflink = mount.type == "xfs" ? xfs_has_reflink(fd) : type.reflink;
  store.direct_io = direct_io(mount, facts);
  store.capacity = space.f_blocks * unit;
  store.available = space.f_bavail * unit;
  store.block_size = unit;
  return store;
}

}  // namespace sill::topology
