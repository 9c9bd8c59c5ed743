#include "storage/source.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <functional>
#include <vector>

#include "base/log.hpp"
#include "storage/file_size_limit.hpp"
#include "storage/file_system.hpp"

namespace sill::storage {
namespace {

constexpr int open_flags = O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;  // O_NONBLOCK: a pipe must not hang us

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The absolute path, without links, of what is open. The kernel knows it; realpath() asks for every folder on the way.
std::string resolved(int fd, const std::string& path) {
  std::array<char, PATH_MAX> real{};
  const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), real.data(), real.size());
  return length > 0 && real[0] == '/' ? std::string(real.data(), static_cast<std::size_t>(length)) : path;
}

Status refuse(const std::string& path, const std::string& reason) { return {Cause::bad_file, path + ": " + reason}; }

const char* kind_name(mode_t mode) {
  if (S_ISDIR(mode)) return "is a folder";
  if (S_ISFIFO(mode)) return "is a pipe";
  if (S_ISSOCK(mode)) return "is a socket";
  return "is a character device";
}

Status check_kind(const std::string& path, mode_t mode) {
  if (S_ISREG(mode) || S_ISBLK(mode)) return {};
  return refuse(path, std::string(kind_name(mode)) + "; a window needs a regular file or a block device");
}

int open_retrying(const std::string& path, int flags, mode_t perm = 0) {
  int fd;
  do fd = ::open(path.c_str(), flags, perm);
  while (fd < 0 && errno == EINTR);
  return fd;
}

// Either the existing file, or a new one; `created` says which. Two ranks may do this at once: one of them creates.
int open_or_create(const SourceConfig& config, bool exists, bool* created) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    *created = false;
    int fd = -1;
    if (exists || attempt > 0) {
      fd = open_retrying(config.path, open_flags);
      if (fd >= 0 || errno != ENOENT) return fd;
    }
    const int delay_layout = config.striping_factor || config.striping_unit ? striping_open_flags(config.path) : 0;
    fd = open_retrying(config.path, open_flags | O_CREAT | O_EXCL | delay_layout, config.perm);
    *created = fd >= 0;
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  errno = ENOENT;  // a link that leads nowhere
  return -1;
}

}  // namespace

Source::Source(Source&& other) noexcept { *this = std::move(other); }

Source& Source::operator=(Source&& other) noexcept {
  if (this == &other) return *this;
  if (fd_ >= 0) ::close(fd_);
  fd_ = std::exchange(other.fd_, -1);
  path_ = std::move(other.path_);
  identity_ = other.identity_;
  device_ = other.device_;
  is_device_ = other.is_device_;
  created_ = other.created_;
  grown_ = other.grown_;
  striping_applied_ = other.striping_applied_;
  size_at_open_ = other.size_at_open_;
  modified_at_open_ = other.modified_at_open_;
  return *this;
}

Source::~Source() {
  if (fd_ >= 0) ::close(fd_);
}

Status Source::adopt(int fd) {
  fd_ = fd;
  struct stat found;
  if (::fstat(fd, &found) != 0) return errno_status(errno, path_);
  if (Status kind = check_kind(path_, found.st_mode); !kind.ok()) return kind;
  is_device_ = S_ISBLK(found.st_mode);
  device_ = found.st_dev;
  identity_.inode = is_device_ ? 0 : found.st_ino;
  const bool local = is_device_ || is_local_file_system(fd);
  identity_.machine = local ? machine_identity() : 0;
  identity_.device = !local ? std::hash<std::string>{}(path_) : is_device_ ? found.st_rdev : found.st_dev;
  size_at_open_ = static_cast<std::uint64_t>(found.st_size);
  modified_at_open_ = found.st_mtim;
  if (is_device_ && ::ioctl(fd, BLKGETSIZE64, &size_at_open_) != 0) return errno_status(errno, path_);
  if (const int flags = ::fcntl(fd, F_GETFL); flags < 0 || ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0)
    return errno_status(errno, path_);
  return {};
}

Result<Source> Source::open(const SourceConfig& config) {
  struct stat found;
  const bool exists = ::stat(config.path.c_str(), &found) == 0;
  if (exists) {
    if (Status kind = check_kind(config.path, found.st_mode); !kind.ok()) return kind;
  } else if (errno != ENOENT) {
    return errno_status(errno, config.path);
  }
  Source source;
  const int fd = open_or_create(config, exists, &source.created_);
  if (fd < 0) return errno_status(errno, config.path);
  source.path_ = resolved(fd, config.path);
  if (Status status = source.adopt(fd); !status.ok()) return status;
  if (!source.created_) return source;
  if (::fchmod(fd, config.perm) != 0) {
    const Status status = errno_status(errno, config.path);
    if (const Status undone = source.undo(); !undone.ok()) log(LogLevel::warn, undone.message());
    return status;
  }
  if (config.striping_factor || config.striping_unit)
    source.striping_applied_ = apply_striping(fd, config.striping_factor, config.striping_unit);
  return source;
}

Result<Source> Source::open_peer(const std::string& path, const StoreIdentity& identity) {
  const int fd = open_retrying(path, open_flags);
  if (fd < 0) return errno_status(errno, path);
  Source source;
  source.path_ = path;
  if (Status status = source.adopt(fd); !status.ok()) return status;
  if (source.identity_ != identity)
    return Status(Cause::no_such_file, path + ": is another file here than on the rank that allocated it");
  return source;
}

Status Source::check_unclaimed() const {
  if (!is_device_) return {};
  const int fd = open_retrying(path_, open_flags | O_EXCL);
  if (fd < 0 && errno == EBUSY) return {Cause::in_use, path_ + ": the device is mounted or claimed (RAID, LVM, swap)"};
  if (fd < 0) return errno_status(errno, path_);
  ::close(fd);
  return {};
}

Status Source::lock(std::uint64_t offset, std::uint64_t length) const {
  if (length == 0) return {};
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(offset);
  range.l_len = static_cast<off_t>(length);
  if (::fcntl(fd_, F_OFD_SETLK, &range) == 0) return {};
  if (errno == EAGAIN || errno == EACCES)
    return {Cause::in_use, path_ + ": another window, of this job or another, lies on bytes " + std::to_string(offset) +
                               " to " + std::to_string(offset + length - 1)};
  log(LogLevel::info, path_ + ": no file locks here (" + std::strerror(errno) + "); two jobs on it go unnoticed");
  return {};
}

void Source::unlock() const {
  struct flock all = {};
  all.l_type = F_UNLCK;
  all.l_whence = SEEK_SET;
  if (::fcntl(fd_, F_OFD_SETLK, &all) != 0) log(LogLevel::debug, path_ + ": unlocking failed");
}

Status Source::reserve(std::uint64_t offset, std::uint64_t length, Reserve how) {
  const std::uint64_t end = offset + length;
  if (end < offset || end > static_cast<std::uint64_t>(INT64_MAX))
    return {Cause::no_space, path_ + ": " + std::to_string(length) + " bytes at offset " + std::to_string(offset) +
                                 " are more than a file can hold"};
  if (is_device_) {
    if (end <= size_at_open_) return {};
    return {Cause::no_space, path_ + ": the device has " + std::to_string(size_at_open_) +
                                 " bytes, the window ends at " + std::to_string(end)};
  }
  if (length == 0) return {};
  const NoFileSizeSignal errors_only;
  struct stat found;
  if (::fstat(fd_, &found) != 0) return errno_status(errno, path_);
  grown_ = grown_ || end > static_cast<std::uint64_t>(found.st_size);
  if (how == Reserve::full) {
    int error;
    do error = ::fallocate(fd_, 0, static_cast<off_t>(offset), static_cast<off_t>(length)) == 0 ? 0 : errno;
    while (error == EINTR);
    if (error == 0) return {};
    if (error != EOPNOTSUPP) return errno_status(error, path_ + ": reserving " + std::to_string(length) + " bytes");
  }
  if (end > static_cast<std::uint64_t>(found.st_size) && ::ftruncate(fd_, static_cast<off_t>(end)) != 0)
    return errno_status(errno, path_ + ": growing to " + std::to_string(end) + " bytes");
  return how == Reserve::full ? fill_holes(offset, length) : Status();
}

// Where the file system has no fallocate: zeros into every hole allocate its blocks and change no content.
Status Source::fill_holes(std::uint64_t offset, std::uint64_t length) const {
  const std::vector<char> zeros(1u << 20);
  const off_t end = static_cast<off_t>(offset + length);
  off_t hole = static_cast<off_t>(offset);
  while (hole < end && (hole = ::lseek(fd_, hole, SEEK_HOLE)) >= 0 && hole < end) {
    off_t data = ::lseek(fd_, hole, SEEK_DATA);
    if (data < 0 && errno != ENXIO) return errno_status(errno, path_);
    data = data < 0 ? end : std::min(data, end);
    while (hole < data) {
      const auto count = static_cast<std::size_t>(std::min<off_t>(data - hole, static_cast<off_t>(zeros.size())));
      const ssize_t written = ::pwrite(fd_, zeros.data(), count, hole);
      if (written < 0 && errno != EINTR) return errno_status(errno, path_ + ": reserving");
      hole += std::max<ssize_t>(written, 0);
    }
  }
  return hole < 0 ? errno_status(errno, path_) : Status();
}

Status Source::undo() {
  if (created_) return remove();
  if (!grown_) return {};
  grown_ = false;
  if (::ftruncate(fd_, static_cast<off_t>(size_at_open_)) != 0) return errno_status(errno, path_);
  const timespec times[] = {{0, UTIME_OMIT}, modified_at_open_};
  return ::futimens(fd_, times) == 0 ? Status() : errno_status(errno, path_);
}

Status Source::sync_folder() const {
  if (is_device_) return {};
  const std::string folder = folder_of(path_);
  const int fd = open_retrying(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == EACCES) return {};  // a folder we may write to but not read: nothing more can be done
  if (fd < 0) return errno_status(errno, folder);
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  // EINVAL: a file system that has nothing to sync in a folder.
  return error == 0 || error == EINVAL ? Status() : errno_status(error, folder);
}

Status Source::remove() const {
  struct stat named;
  if (is_device_) return {};
  if (::lstat(path_.c_str(), &named) != 0) return errno == ENOENT ? Status() : errno_status(errno, path_);
  if (named.st_ino != identity_.inode || named.st_dev != device_)
    return {Cause::bad_file, path_ + ": is not the window's file any more; not deleted"};
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) return errno_status(errno, path_);
  return {};
}

}  // namespace sill::storage
