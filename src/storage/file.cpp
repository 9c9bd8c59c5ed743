#include "storage/file.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <functional>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/machine.hpp"
#include "storage/file_lock.hpp"
#include "storage/file_system.hpp"

namespace sill::storage {
namespace {

constexpr int always_flags = O_CLOEXEC | O_NOCTTY | O_NONBLOCK;  // O_NONBLOCK: a pipe must not hang us
constexpr int open_flags = O_RDWR | always_flags;
constexpr int read_flags = O_RDONLY | always_flags;

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

Descriptor open_retrying(const std::string& path, int flags, mode_t perm = 0) {
  int fd;
  do fd = ::open(path.c_str(), flags, perm);
  while (fd < 0 && errno == EINTR);
  return Descriptor(fd);
}

// Either the existing file, or a new one; `created` says which. Two ranks may do this at once: one of them creates.
Descriptor open_or_create(const FileConfig& config, bool exists, bool* created) {
  if (config.readonly) return open_retrying(config.path, read_flags);
  for (int attempt = 0; attempt < 3; ++attempt) {
    *created = false;
    Descriptor fd;
    if (exists || attempt > 0) {
      fd = open_retrying(config.path, open_flags);
      if (fd.get() >= 0 || errno != ENOENT) return fd;
    }
    const int delay_layout = config.striping_factor || config.striping_unit ? striping_open_flags(config.path) : 0;
    fd = open_retrying(config.path, open_flags | O_CREAT | O_EXCL | delay_layout, config.perm);
    *created = fd.get() >= 0;
    if (fd.get() >= 0 || errno != EEXIST) return fd;
  }
  errno = ENOENT;  // a link that leads nowhere
  return Descriptor();
}

}  // namespace

std::string File::folder() const {
  const auto slash = path_.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path_.substr(0, slash);
}

Status File::adopt() {
  struct stat found;
  if (::fstat(fd(), &found) != 0) return errno_status(errno, path_);
  if (Status kind = check_kind(path_, found.st_mode); !kind.ok()) return kind;
  is_device_ = S_ISBLK(found.st_mode);
  device_ = found.st_dev;
  identity_.inode = is_device_ ? 0 : found.st_ino;
  const bool local = is_device_ || is_local_file_system(fd());
  identity_.machine = local ? machine_identity() : 0;
  identity_.device = !local ? std::hash<std::string>{}(path_) : is_device_ ? found.st_rdev : found.st_dev;
  size_at_open_ = static_cast<std::uint64_t>(found.st_size);
  if (is_device_ && ::ioctl(fd(), BLKGETSIZE64, &size_at_open_) != 0) return errno_status(errno, path_);
  if (const int flags = ::fcntl(fd(), F_GETFL); flags < 0 || ::fcntl(fd(), F_SETFL, flags & ~O_NONBLOCK) != 0)
    return errno_status(errno, path_);
  return {};
}

Result<File> File::open(const FileConfig& config) {
  struct stat found;
  const bool exists = ::stat(config.path.c_str(), &found) == 0;
  if (exists) {
    if (Status kind = check_kind(config.path, found.st_mode); !kind.ok()) return kind;
  } else if (errno != ENOENT) {
    return errno_status(errno, config.path);
  }
  File file;
  file.fd_ = open_or_create(config, exists, &file.created_);
  const int fd = file.fd();
  if (fd < 0) return errno_status(errno, config.path);
  file.path_ = resolved(fd, config.path);
  file.is_readonly_ = config.readonly;
  if (Status status = file.adopt(); !status.ok()) return status;
  // Where there are no locks, who locks bytes says so.
  if (config.one_process && keep_processes_off(fd) == EAGAIN)
    return Status(Cause::in_use, file.path_ + ": another job has it open");
  if (!file.created_) return file;
  if (::fchmod(fd, config.perm) != 0) {
    const Status status = errno_status(errno, config.path);
    if (const Status removed = file.remove(); !removed.ok()) log(LogLevel::warn, removed.message());
    return status;
  }
  if (config.striping_factor || config.striping_unit)
    file.striping_applied_ = apply_striping(fd, config.striping_factor, config.striping_unit);
  return file;
}

Result<File> File::anonymous() {
  File file;
  file.fd_ = Descriptor(::memfd_create("sill", MFD_CLOEXEC));
  if (file.fd() < 0) return errno_status(errno, "memory that other processes can map");
  file.path_ = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file.fd());
  file.is_anonymous_ = true;
  if (Status status = file.adopt(); !status.ok()) return status;
  return file;
}

Result<File> File::open_peer(const std::string& path, const StoreIdentity& identity, bool readonly) {
  File file;
  file.fd_ = open_retrying(path, readonly ? read_flags : open_flags);
  if (file.fd() < 0) return errno_status(errno, path);
  file.path_ = path;
  file.is_readonly_ = readonly;
  if (Status status = file.adopt(); !status.ok()) return status;
  if (file.identity_ != identity)
    return Status(Cause::no_such_file, path + ": is another file here than on the rank that allocated it");
  return file;
}

Result<std::uint64_t> File::size() const {
  struct stat found;
  if (is_device_) return size_at_open_;
  if (::fstat(fd(), &found) != 0) return errno_status(errno, path_);
  return static_cast<std::uint64_t>(found.st_size);
}

Result<std::uint64_t> File::size_seen_now() {
  if (!is_device_ && identity_.machine == 0) {
    auto again = opened_again();
    if (!again.ok()) return again.status();
    std::swap(fd_, again.value().fd_);
  }
  return size();
}

Result<std::size_t> File::read(std::uint64_t offset, void* to, std::size_t length) const {
  std::size_t done = 0;
  while (done < length) {
    const ssize_t got = ::pread(fd(), static_cast<char*>(to) + done, length - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_status(errno, path_ + ": reading");
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

Status File::write(std::uint64_t offset, const void* from, std::size_t length, const char* doing) const {
  std::size_t done = 0;
  while (done < length) {
    const ssize_t put =
        ::pwrite(fd(), static_cast<const char*>(from) + done, length - done, static_cast<off_t>(offset + done));
    if (put < 0 && errno != EINTR) return errno_status(errno, path_ + ": " + doing);
    done += static_cast<std::size_t>(std::max<ssize_t>(put, 0));
  }
  return {};
}

Status File::write_zeros(std::uint64_t offset, std::uint64_t end, const char* doing) const {
  const std::vector<char> zeros(std::min<std::uint64_t>(end - offset, 1u << 20));
  for (; offset < end; offset += zeros.size())
    if (Status status = write(offset, zeros.data(), std::min<std::uint64_t>(end - offset, zeros.size()), doing);
        !status.ok())
      return status;
  return {};
}

Status File::flush(const char* doing) const {
  int result;
  do result = ::fdatasync(fd());
  while (result != 0 && errno == EINTR);
  return result == 0 ? Status() : errno_status(errno, path_ + ": " + doing);
}

int File::allocate(int mode, std::uint64_t begin, std::uint64_t end) const {
  int error;
  do error = ::fallocate(fd(), mode, static_cast<off_t>(begin), static_cast<off_t>(end - begin)) == 0 ? 0 : errno;
  while (error == EINTR);
  return error;
}

Status File::check_there(std::uint64_t end, bool name_matters) const {
  struct stat open;
  if (is_device_ || is_anonymous_) return {};
  if (::fstat(fd(), &open) != 0) return errno_status(errno, path_);
  if (Status named = name_matters ? check_name(open.st_nlink) : Status(); !named.ok()) return named;
  if (static_cast<std::uint64_t>(open.st_size) >= end) return {};
  return {Cause::bad_file, path_ + ": was cut to " + std::to_string(open.st_size) +
                               " bytes under a window that ends at " + std::to_string(end)};
}

// Both are needed: NFS renames what is deleted while open on the same node, and tells other nodes late.
Status File::check_name(nlink_t links) const {
  struct stat named;
  // Where /proc didn't tell the whole path, it means nothing in another working folder.
  if (links > 0 && path_.front() != '/') return {};
  const int error = ::stat(path_.c_str(), &named) == 0 ? 0 : errno;
  if (error == 0 && (named.st_ino != identity_.inode || named.st_dev != device_))
    return {Cause::bad_file, path_ + ": is another file by now; what the window syncs is not in it"};
  if (links == 0 || error == ENOENT || error == ENOTDIR)
    return {Cause::no_such_file, path_ + ": was deleted, or moved away, under a window"};
  // Folders that this process may no longer pass, and the like: the file is there, by whatever name.
  return error == 0 || error == EACCES ? Status() : errno_status(error, path_);
}

Status File::clear(std::uint64_t offset, std::uint64_t length) const {
  const auto now = size();
  if (!now.ok()) return now.status();
  const auto end = std::min(offset + length, now.value());
  if (offset >= end) return {};
  const int error = allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, end);
  if (error == 0) return {};
  return error == EOPNOTSUPP ? write_zeros(offset, end, "clearing") : errno_status(error, path_ + ": clearing");
}

Status File::sync_folder() const {
  if (is_device_ || is_anonymous_) return {};
  const std::string folder = this->folder();
  const Descriptor fd = open_retrying(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd.get() < 0 && errno == EACCES) return {};  // a folder we may write to but not read: nothing more can be done
  if (fd.get() < 0) return errno_status(errno, folder);
  const int error = ::fsync(fd.get()) == 0 ? 0 : errno;
  // EINVAL: a file system that has nothing to sync in a folder.
  return error == 0 || error == EINVAL ? Status() : errno_status(error, folder);
}

Status File::check_unclaimed() const {
  if (!is_device_ || is_readonly_) return {};
  // A claim lasts as long as this look; others that look at the same time must not take it for somebody's.
  const Turn turn(fd(), claim_turn);
  const Descriptor claim = open_retrying(path_, open_flags | O_EXCL);
  if (claim.get() >= 0) return {};
  if (errno == EBUSY) return {Cause::in_use, path_ + ": the device is mounted or claimed (RAID, LVM, swap)"};
  return errno_status(errno, path_);
}

Status File::lock_whole() const {
  const int error = set_lock(fd(), F_WRLCK, 0, 0);
  if (error == 0) return {};
  if (error == EAGAIN) return {Cause::in_use, path_ + ": another window lies on it"};
  return errno_status(error, path_ + ": no file locks here, another window may lie on it");
}

void File::unlock() const {
  if (is_anonymous_) return;
  if (set_lock(fd(), F_UNLCK, 0, 0) != 0) log(LogLevel::debug, path_ + ": unlocking failed");
}

Status File::remove() const {
  struct stat named;
  if (is_device_ || is_anonymous_) return {};
  // Without locks nobody can tell; what was told to be deleted is.
  if (Status alone = lock_whole(); alone.cause() == Cause::in_use) return alone;
  if (::lstat(path_.c_str(), &named) != 0) return errno == ENOENT ? Status() : errno_status(errno, path_);
  if (named.st_ino != identity_.inode || named.st_dev != device_)
    return {Cause::bad_file, path_ + ": is not the window's file any more; not deleted"};
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) return errno_status(errno, path_);
  return {};
}

}  // namespace sill::storage
