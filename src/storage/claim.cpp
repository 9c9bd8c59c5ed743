#include "storage/claim.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "storage/file_lock.hpp"
#include "storage/file_size_limit.hpp"
#include "storage/record.hpp"

namespace sill::storage {
namespace {

// Blocks of the file's own for a stretch. Those before `size`, where the file ended so far, may be shared with a copy
// of it: a store would need another one. 0 or an errno.
int allocate_blocks(const File& file, const FileRange& range, std::uint64_t size) {
  const int error = file.allocate(0, range.offset, range.end());
  if (error != 0 || range.offset >= size) return error;
  const int unshared = file.allocate(FALLOC_FL_UNSHARE_RANGE, range.offset, std::min(range.end(), size));
  return unshared == EOPNOTSUPP || unshared == EINVAL ? 0 : unshared;  // it shares none
}

// Windows that grow one file at the same time take turns: a size that is set from an old look would cut the other's
// bytes. Where there are no locks, that can't be helped.
Status grow(const File& file, std::uint64_t end) {
  const Turn turn(file.fd(), growth_turn);
  const auto size = file.size();
  if (!size.ok() || size.value() >= end) return size.status();
  if (::ftruncate(file.fd(), static_cast<off_t>(end)) == 0) return {};
  return errno_status(errno, file.path() + ": growing to " + std::to_string(end) + " bytes");
}

// Where the file system has no fallocate: zeros into every hole allocate its blocks and change no content. What lies
// behind the old end is a hole, even where the file system can't tell holes.
Status fill(const File& file, const FileRange& range, std::uint64_t old_size) {
  const auto old_end = static_cast<off_t>(std::clamp(old_size, range.offset, range.end()));
  auto hole = static_cast<off_t>(range.offset);
  while (hole < old_end && (hole = ::lseek(file.fd(), hole, SEEK_HOLE)) >= 0 && hole < old_end) {
    off_t data = ::lseek(file.fd(), hole, SEEK_DATA);
    if (data < 0 && errno != ENXIO) return errno_status(errno, file.path());
    data = data < 0 ? old_end : std::min(data, old_end);
    Status status = file.write_zeros(static_cast<std::uint64_t>(hole), static_cast<std::uint64_t>(data), "reserving");
    if (!status.ok()) return status;
    hole = data;
  }
  if (hole < 0) return errno_status(errno, file.path());
  return file.write_zeros(static_cast<std::uint64_t>(old_end), range.end(), "reserving");
}

// Whether a stretch holds anything but zeros. Holes are told block by block, so the part of the first one is read. A
// file system that can't tell holes says yes.
bool has_data(const File& file, std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
  const std::uint64_t whole = std::min((begin + block - 1) / block * block, end);
  std::vector<char> first(whole - begin);
  const auto count = file.read(begin, first.data(), first.size());
  const auto not_zero = [](char byte) { return byte != 0; };
  if (!count.ok() || std::any_of(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(count.value()), not_zero))
    return true;
  if (whole == end) return false;
  const off_t data = ::lseek(file.fd(), static_cast<off_t>(whole), SEEK_DATA);
  return data < 0 ? errno != ENXIO : data < static_cast<off_t>(end);
}

}  // namespace

Claim::Claim(File file) : file_(std::make_shared<File>(std::move(file))), created_(file_->created()) {}

Claim::~Claim() {
  if (!file_) return;
  if (const Status status = undo(); !status.ok()) log(LogLevel::warn, status.message());
}

Status Claim::take(std::span<const FileRange> ranges, Reserve how) {
  Status status = file_->check_unclaimed();
  for (const FileRange& range : ranges)
    if (status.ok()) status = lock(range);
  for (const FileRange& range : ranges)
    if (status.ok()) status = reserve(range, how);
  return status;
}

Status Claim::lock(const FileRange& range) {
  if (range.length == 0 || file_->is_anonymous()) return {};
  const int error = set_lock(file_->fd(), file_->is_readonly() ? F_RDLCK : F_WRLCK, static_cast<off_t>(range.offset),
                             static_cast<off_t>(range.length));
  if (error == EAGAIN)
    return {Cause::in_use, file_->path() + ": another window, of this job or another, lies on bytes " +
                               std::to_string(range.offset) + " to " + std::to_string(range.end() - 1)};
  if (error != 0) {
    static std::atomic<bool> said{false};
    log(said.exchange(true) ? LogLevel::info : LogLevel::warn,
        file_->path() + ": no file locks here (" + std::strerror(error) + "); two jobs on it go unnoticed");
    return {};
  }
  // From the first lock on, no window removes the file. Before it, between open and now, one may have.
  if (!std::exchange(locked_, true) && !file_->check_there(0, true).ok())
    return {Cause::in_use, file_->path() + ": another window deleted or replaced it while it was being opened"};
  return {};
}

Status Claim::check_fits(const FileRange& range) const {
  const std::uint64_t size = file_->size_at_open();
  if (range.end() < range.offset || range.end() > static_cast<std::uint64_t>(INT64_MAX))
    return {Cause::no_space, file_->path() + ": " + std::to_string(range.length) + " bytes at offset " +
                                 std::to_string(range.offset) + " are more than a file can hold"};
  if (range.end() <= size) return {};
  if (file_->is_readonly())
    return {Cause::bad_file, file_->path() + ": has " + std::to_string(size) + " bytes, the window ends at " +
                                 std::to_string(range.end()) + " and must not write (storage_alloc_readonly)"};
  if (file_->is_device())
    return {Cause::no_space, file_->path() + ": the device has " + std::to_string(size) +
                                 " bytes, the window ends at " + std::to_string(range.end())};
  return {};
}

Status Claim::reserve(const FileRange& range, Reserve how) {
  if (Status fits = check_fits(range); !fits.ok()) return fits;
  if (file_->is_readonly() || file_->is_device() || range.length == 0) return {};
  const NoFileSizeSignal errors_only;
  struct stat found;
  if (::fstat(file_->fd(), &found) != 0) return errno_status(errno, file_->path());
  const auto size = static_cast<std::uint64_t>(found.st_size);
  if (!before_) before_ = {size, found.st_mtim};
  if (const auto begin = std::max(range.offset, before_->size); begin < range.end())
    grown_.push_back({begin, range.end() - begin});
  if (how == Reserve::sparse) return range.end() > size ? grow(*file_, range.end()) : Status();
  const int error = allocate_blocks(*file_, range, size);
  if (error == 0) return {};
  if (error != EOPNOTSUPP)
    return errno_status(error, file_->path() + ": reserving " + std::to_string(range.length) + " bytes");
  Status filled = fill(*file_, range, size);
  if (!filled.ok() || file_->identity().machine != 0) return filled;
  // Other machines are to find the zeros, and the server may only now say that it is full.
  return file_->flush("reserving");
}

Status Claim::undo() {
  const bool created = std::exchange(created_, false);
  const auto grown = std::exchange(grown_, {});
  if (file_->is_device() || file_->is_anonymous() || (!created && grown.empty())) return {};
  if (const Status alone = file_->lock_whole(); !alone.ok()) {
    log(alone.cause() == Cause::in_use ? LogLevel::info : LogLevel::warn, alone.message() + "; it stays as it is");
    return {};
  }
  if (!created) return cut_back(grown);
  Status removed = file_->remove();
  if (removed.ok() && described_) remove_record(*file_);
  return removed;
}

// Windows that lay between or behind our ranges may have come and gone: what they left stays.
Status Claim::cut_back(std::vector<FileRange> grown) const {
  struct stat now;
  if (::fstat(file_->fd(), &now) != 0) return errno_status(errno, file_->path());
  std::ranges::sort(grown, {}, &FileRange::offset);
  std::uint64_t cut = before_->size;
  std::uint64_t end = before_->size;
  for (const FileRange& range : grown) {
    if (range.offset > end && has_data(*file_, end, range.offset, static_cast<std::uint64_t>(now.st_blksize)))
      cut = range.offset;
    end = std::max(end, range.end());
  }
  const auto size = static_cast<std::uint64_t>(now.st_size);
  if (size <= cut || size > end) return {};
  if (::ftruncate(file_->fd(), static_cast<off_t>(cut)) != 0) return errno_status(errno, file_->path());
  const timespec times[] = {{0, UTIME_OMIT}, before_->modified};
  return cut > before_->size || ::futimens(file_->fd(), times) == 0 ? Status() : errno_status(errno, file_->path());
}

}  // namespace sill::storage
