#include "storage/source.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/machine.hpp"
#include "storage/file_lock.hpp"
#include "storage/file_size_limit.hpp"
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

int fallocate_retrying(int fd, int mode, std::uint64_t begin, std::uint64_t end) {
  int error;
  do error = ::fallocate(fd, mode, static_cast<off_t>(begin), static_cast<off_t>(end - begin)) == 0 ? 0 : errno;
  while (error == EINTR);
  return error;
}

// Blocks of the file's own for [begin, end). Those before `size`, where the file ended so far, may be shared with a
// copy of it: a store would need another one. 0 or an errno.
int allocate_blocks(int fd, std::uint64_t begin, std::uint64_t end, std::uint64_t size) {
  const int error = fallocate_retrying(fd, 0, begin, end);
  if (error != 0 || begin >= size) return error;
  const int unshared = fallocate_retrying(fd, FALLOC_FL_UNSHARE_RANGE, begin, std::min(end, size));
  return unshared == EOPNOTSUPP || unshared == EINVAL ? 0 : unshared;  // it shares none
}

int open_retrying(const std::string& path, int flags, mode_t perm = 0) {
  int fd;
  do fd = ::open(path.c_str(), flags, perm);
  while (fd < 0 && errno == EINTR);
  return fd;
}

// Either the existing file, or a new one; `created` says which. Two ranks may do this at once: one of them creates.
int open_or_create(const SourceConfig& config, bool exists, bool* created) {
  if (config.readonly) return open_retrying(config.path, read_flags);
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

std::string Source::folder() const {
  const auto slash = path_.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path_.substr(0, slash);
}

Source::Source(Source&& other) noexcept { *this = std::move(other); }

Source& Source::operator=(Source&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = std::exchange(other.fd_, -1);
  path_ = std::move(other.path_);
  identity_ = other.identity_;
  device_ = other.device_;
  is_device_ = other.is_device_;
  is_anonymous_ = other.is_anonymous_;
  is_readonly_ = other.is_readonly_;
  created_ = other.created_;
  locked_ = other.locked_;
  striping_applied_ = other.striping_applied_;
  size_at_open_ = other.size_at_open_;
  before_ = other.before_;
  grown_ = std::move(other.grown_);
  return *this;
}

Source::~Source() { close(); }

void Source::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
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
  source.is_readonly_ = config.readonly;
  if (Status status = source.adopt(fd); !status.ok()) return status;
  // Where there are no locks, who locks bytes says so.
  if (config.one_process && keep_processes_off(fd) == EAGAIN)
    return Status(Cause::in_use, source.path_ + ": another job has it open");
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

Result<Source> Source::anonymous() {
  const int fd = ::memfd_create("sill", MFD_CLOEXEC);
  if (fd < 0) return errno_status(errno, "memory that other processes can map");
  Source source;
  source.path_ = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd);
  source.is_anonymous_ = true;
  if (Status status = source.adopt(fd); !status.ok()) return status;
  return source;
}

Result<Source> Source::open_peer(const std::string& path, const StoreIdentity& identity, bool readonly) {
  const int fd = open_retrying(path, readonly ? read_flags : open_flags);
  if (fd < 0) return errno_status(errno, path);
  Source source;
  source.path_ = path;
  source.is_readonly_ = readonly;
  if (Status status = source.adopt(fd); !status.ok()) return status;
  if (source.identity_ != identity)
    return Status(Cause::no_such_file, path + ": is another file here than on the rank that allocated it");
  return source;
}

Status Source::check_unclaimed() const {
  if (!is_device_ || is_readonly_) return {};
  // A claim lasts as long as this look; others that look at the same time must not take it for somebody's.
  const Turn turn(fd_, claim_turn);
  const int fd = open_retrying(path_, open_flags | O_EXCL);
  if (fd < 0 && errno == EBUSY) return {Cause::in_use, path_ + ": the device is mounted or claimed (RAID, LVM, swap)"};
  if (fd < 0) return errno_status(errno, path_);
  ::close(fd);
  return {};
}

Status Source::lock(std::uint64_t offset, std::uint64_t length) {
  if (length == 0 || is_anonymous_) return {};
  const int error =
      set_lock(fd_, is_readonly_ ? F_RDLCK : F_WRLCK, static_cast<off_t>(offset), static_cast<off_t>(length));
  if (error == EAGAIN)
    return {Cause::in_use, path_ + ": another window, of this job or another, lies on bytes " + std::to_string(offset) +
                               " to " + std::to_string(offset + length - 1)};
  if (error != 0) {
    static std::atomic<bool> said{false};
    log(said.exchange(true) ? LogLevel::info : LogLevel::warn,
        path_ + ": no file locks here (" + std::strerror(error) + "); two jobs on it go unnoticed");
    return {};
  }
  // From the first lock on, no window removes the file. Before it, between open and now, one may have.
  if (!std::exchange(locked_, true) && !check_there(0, true).ok())
    return {Cause::in_use, path_ + ": another window deleted or replaced it while it was being opened"};
  return {};
}

void Source::unlock() {
  if (is_anonymous_) return;
  locked_ = false;
  if (set_lock(fd_, F_UNLCK, 0, 0) != 0) log(LogLevel::debug, path_ + ": unlocking failed");
}

// Cause::in_use if another window lies on any byte; else none gets a lock until this one unlocks or closes.
Status Source::lock_all() const {
  const int error = set_lock(fd_, F_WRLCK, 0, 0);
  if (error == 0) return {};
  if (error == EAGAIN) return {Cause::in_use, path_ + ": another window lies on it"};
  return errno_status(error, path_ + ": no file locks here, another window may lie on it");
}

Result<std::uint64_t> Source::size_seen_now() {
  struct stat found;
  if (is_device_) return size_at_open_;
  if (identity_.machine == 0) {
    auto again = open_peer(path_, identity_, is_readonly_);
    if (!again.ok()) return again.status();
    std::swap(fd_, again.value().fd_);
  }
  if (::fstat(fd_, &found) != 0) return errno_status(errno, path_);
  return static_cast<std::uint64_t>(found.st_size);
}

Status Source::check_there(std::uint64_t end, bool name_matters) const {
  struct stat open;
  if (is_device_ || is_anonymous_) return {};
  if (::fstat(fd_, &open) != 0) return errno_status(errno, path_);
  if (Status named = name_matters ? check_name(open.st_nlink) : Status(); !named.ok()) return named;
  if (static_cast<std::uint64_t>(open.st_size) >= end) return {};
  return {Cause::bad_file, path_ + ": was cut to " + std::to_string(open.st_size) +
                               " bytes under a window that ends at " + std::to_string(end)};
}

// Both are needed: NFS renames what is deleted while open on the same node, and tells other nodes late.
Status Source::check_name(nlink_t links) const {
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

Status Source::reserve(std::uint64_t offset, std::uint64_t length, Reserve how) {
  const std::uint64_t end = offset + length;
  if (end < offset || end > static_cast<std::uint64_t>(INT64_MAX))
    return {Cause::no_space, path_ + ": " + std::to_string(length) + " bytes at offset " + std::to_string(offset) +
                                 " are more than a file can hold"};
  if (is_readonly_) {
    if (end <= size_at_open_) return {};
    return refuse(path_, "has " + std::to_string(size_at_open_) + " bytes, the window ends at " + std::to_string(end) +
                             " and must not write (storage_alloc_readonly)");
  }
  if (is_device_) {
    if (end <= size_at_open_) return {};
    return {Cause::no_space, path_ + ": the device has " + std::to_string(size_at_open_) +
                                 " bytes, the window ends at " + std::to_string(end)};
  }
  if (length == 0) return {};
  const NoFileSizeSignal errors_only;
  struct stat found;
  if (::fstat(fd_, &found) != 0) return errno_status(errno, path_);
  const auto size = static_cast<std::uint64_t>(found.st_size);
  if (!before_) before_ = {size, found.st_mtim};
  if (end > before_->size) grown_.push_back({std::max(offset, before_->size), end});
  if (how == Reserve::sparse) return end > size ? grow(end) : Status();
  const int error = allocate_blocks(fd_, offset, end, size);
  if (error == 0) return {};
  if (error != EOPNOTSUPP) return errno_status(error, path_ + ": reserving " + std::to_string(length) + " bytes");
  Status filled = fill(offset, end, size);
  if (!filled.ok() || identity_.machine != 0) return filled;
  // Other machines are to find the zeros, and the server may only now say that it is full.
  int result;
  do result = ::fdatasync(fd_);
  while (result != 0 && errno == EINTR);
  return result == 0 ? Status() : errno_status(errno, path_ + ": reserving");
}

// Windows that grow one file at the same time take turns: a size that is set from an old look would cut the other's
// bytes. Where there are no locks, that can't be helped.
Status Source::grow(std::uint64_t end) const {
  const Turn turn(fd_, growth_turn);
  struct stat found;
  int error = ::fstat(fd_, &found) == 0 ? 0 : errno;
  if (error == 0 && end > static_cast<std::uint64_t>(found.st_size) && ::ftruncate(fd_, static_cast<off_t>(end)) != 0)
    error = errno;
  return error == 0 ? Status() : errno_status(error, path_ + ": growing to " + std::to_string(end) + " bytes");
}

// Where the file system has no fallocate: zeros into every hole allocate its blocks and change no content. What lies
// behind the old end is a hole, even where the file system can't tell holes.
Status Source::fill(std::uint64_t offset, std::uint64_t end, std::uint64_t old_size) const {
  const auto old_end = static_cast<off_t>(std::clamp(old_size, offset, end));
  off_t hole = static_cast<off_t>(offset);
  while (hole < old_end && (hole = ::lseek(fd_, hole, SEEK_HOLE)) >= 0 && hole < old_end) {
    off_t data = ::lseek(fd_, hole, SEEK_DATA);
    if (data < 0 && errno != ENXIO) return errno_status(errno, path_);
    data = data < 0 ? old_end : std::min(data, old_end);
    if (Status status = write_zeros(static_cast<std::uint64_t>(hole), static_cast<std::uint64_t>(data)); !status.ok())
      return status;
    hole = data;
  }
  if (hole < 0) return errno_status(errno, path_);
  return write_zeros(static_cast<std::uint64_t>(old_end), end);
}

Status Source::write_zeros(std::uint64_t offset, std::uint64_t end) const {
  const std::vector<char> zeros(std::min<std::uint64_t>(end - offset, 1u << 20));
  while (offset < end) {
    const auto count = std::min<std::uint64_t>(end - offset, zeros.size());
    const ssize_t written = ::pwrite(fd_, zeros.data(), count, static_cast<off_t>(offset));
    if (written < 0 && errno != EINTR) return errno_status(errno, path_ + ": reserving");
    offset += static_cast<std::uint64_t>(std::max<ssize_t>(written, 0));
  }
  return {};
}

Status Source::clear(std::uint64_t offset, std::uint64_t length) const {
  struct stat found;
  if (::fstat(fd_, &found) != 0) return errno_status(errno, path_);
  const auto end = std::min(offset + length, static_cast<std::uint64_t>(found.st_size));
  if (offset >= end) return {};
  const int error = fallocate_retrying(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, end);
  if (error == 0) return {};
  return error == EOPNOTSUPP ? write_zeros(offset, end) : errno_status(error, path_ + ": clearing");
}

Status Source::undo() {
  if (is_device_ || is_anonymous_ || (!created_ && grown_.empty())) return {};
  if (const Status alone = lock_all(); !alone.ok()) {
    log(alone.cause() == Cause::in_use ? LogLevel::info : LogLevel::warn, alone.message() + "; it stays as it is");
    return {};
  }
  return created_ ? remove() : cut_back();
}

// Whether a range holds anything but zeros. Holes are told block by block, so the part of the first one is read. A file
// system that can't tell holes says yes.
bool Source::has_data(const Range& range, std::uint64_t block) const {
  const std::uint64_t whole = std::min((range.begin + block - 1) / block * block, range.end);
  std::vector<char> first(whole - range.begin);
  const ssize_t count = ::pread(fd_, first.data(), first.size(), static_cast<off_t>(range.begin));
  if (count < 0 || std::any_of(first.begin(), first.begin() + count, [](char byte) { return byte != 0; })) return true;
  if (whole == range.end) return false;
  const off_t data = ::lseek(fd_, static_cast<off_t>(whole), SEEK_DATA);
  return data < 0 ? errno != ENXIO : data < static_cast<off_t>(range.end);
}

// Windows that lay between or behind our ranges may have come and gone: what they left stays.
Status Source::cut_back() {
  struct stat now;
  if (::fstat(fd_, &now) != 0) return errno_status(errno, path_);
  auto ranges = std::exchange(grown_, {});
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::uint64_t cut = before_->size;
  std::uint64_t end = before_->size;
  for (const Range& range : ranges) {
    if (range.begin > end && has_data({end, range.begin}, static_cast<std::uint64_t>(now.st_blksize)))
      cut = range.begin;
    end = std::max(end, range.end);
  }
  const auto size = static_cast<std::uint64_t>(now.st_size);
  if (size <= cut || size > end) return {};
  if (::ftruncate(fd_, static_cast<off_t>(cut)) != 0) return errno_status(errno, path_);
  const timespec times[] = {{0, UTIME_OMIT}, before_->modified};
  return cut > before_->size || ::futimens(fd_, times) == 0 ? Status() : errno_status(errno, path_);
}

Status Source::sync_folder() const {
  if (is_device_ || is_anonymous_) return {};
  const std::string folder = this->folder();
  const int fd = open_retrying(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == EACCES) return {};  // a folder we may write to but not read: nothing more can be done
  if (fd < 0) return errno_status(errno, folder);
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  // EINVAL: a file system that has nothing to sync in a folder.
  return error == 0 || error == EINVAL ? Status() : errno_status(error, folder);
}

Status Source::remove() {
  struct stat named;
  if (is_device_ || is_anonymous_) return {};
  // Without locks nobody can tell; what was told to be deleted is.
  if (Status alone = lock_all(); alone.cause() == Cause::in_use) return alone;
  if (::lstat(path_.c_str(), &named) != 0) return errno == ENOENT ? Status() : errno_status(errno, path_);
  if (named.st_ino != identity_.inode || named.st_dev != device_)
    return {Cause::bad_file, path_ + ": is not the window's file any more; not deleted"};
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) return errno_status(errno, path_);
  return {};
}

}  // namespace sill::storage
