#include "topology/identity.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <sstream>
#include <utility>

#include "base/config.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"

namespace sill::topology {
namespace {

std::uint64_t hash(const std::string& text) { return std::hash<std::string>{}(text); }

// Fields joined so that no two lists look alike.
template <class... Fields>
std::uint64_t hash_of(const Fields&... fields) {
  std::ostringstream text;
  ((text << fields << '\n'), ...);
  return hash(text.str());
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint64_t>(::getpid()) << 32;
  return number;
}

// Where the kernel doesn't say which one it is, each process is taken for a machine of its own.
std::uint64_t own_machine() {
  static const std::uint64_t number = random_number();
  return machine_identity() != 0 ? machine_identity() : number;
}

// What a process sees that hasn't the directory, as opposed to a fault.
bool means_absent(int error) {
  constexpr std::array<int, 9> absent = {ENOENT, ENOTDIR, EACCES, EPERM, ELOOP, ENAMETOOLONG, ESTALE, ENXIO, ENODEV};
  return std::ranges::find(absent, error) != absent.end();
}

bool may_write(const struct statx& found) {
  if (::geteuid() == 0) return true;
  const unsigned shift = found.stx_uid == ::geteuid() ? 6 : found.stx_gid == ::getegid() ? 3 : 0;
  return (found.stx_mode >> shift & 3u) == 3u;
}

}  // namespace

Result<std::optional<Directory>> Directory::open(const std::string& path) {
  // O_DIRECTORY also makes an automounter mount what lies there.
  const int fd = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    const int error = errno;
    const Status status = errno_status(error, path);
    if (!means_absent(error)) return status;
    log(LogLevel::info, "no directory for a split: " + status.message());
    return std::optional<Directory>();
  }
  Directory directory(fd, path);
  if (Status status = directory.identify(); !status.ok()) return status;
  return std::optional<Directory>(std::move(directory));
}

Status Directory::identify() {
  struct statx found;
  // What the look-up of the name has just brought is new enough; a server need not be asked again.
  if (::statx(fd(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &found) != 0)
    return errno_status(errno, path_);
  if (auto mount = mount_of(fd(), path_); mount.ok()) mount_ = std::move(mount).value();
  const bool told = mount_.has_value() && machine_identity() != 0;

  identity_.presence = Presence::present;
  identity_.kind = told ? file_system_of(mount_->type).kind : Kind::stacked;
  identity_.read_only = mount_ && mount_->has_option("ro");
  identity_.likely_writer = may_write(found);
  identity_.machine = own_machine();
  identity_.node = hash_of(own_machine(), host_name());
  identity_.device = makedev(found.stx_dev_major, found.stx_dev_minor);
  identity_.inode = found.stx_ino;
  identity_.fingerprint = identity_.kind == Kind::network
                              ? hash_of(mount_->type, mount_->source, identity_.inode)
                              : hash_of(identity_.machine, identity_.device, identity_.inode);
  return {};
}

}  // namespace sill::topology
