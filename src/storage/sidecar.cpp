#include "storage/sidecar.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string_view>

#include "base/log.hpp"
#include "base/text.hpp"
#include "storage/file_size_limit.hpp"

namespace sill::storage {
namespace {

std::string sidecar_path(const File& file) { return file.path() + ".sill"; }

// Who only reads leaves nothing beside the file.
bool has_sidecar(const File& file) { return !file.is_device() && !file.is_anonymous() && !file.is_readonly(); }

// Now, in whole milliseconds, for so it is written.
timespec this_moment() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  now.tv_nsec -= now.tv_nsec % 1000000;
  return now;
}

std::string utc(const timespec& time) {
  std::tm parts{};
  std::array<char, 32> seconds{};
  std::array<char, 48> text{};
  if (!::gmtime_r(&time.tv_sec, &parts)) return "";
  std::strftime(seconds.data(), seconds.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data(), text.size(), "%s.%03ldZ", seconds.data(), time.tv_nsec / 1000000);
  return text.data();
}

std::string to_json(const Sidecar& sidecar, const timespec& created) {
  std::string text = "{\"sill\": 1, \"job\": " + json_string(sidecar.job) +
                     ", \"created\": " + json_string(utc(created)) + ", \"window\": " + json_string(sidecar.window) +
                     ", \"unlink\": " + (sidecar.unlink ? "true" : "false") + ", \"segments\": [";
  const char* between = "";
  for (const SidecarSegment& segment : sidecar.segments) {
    text += between;
    text += "{\"rank\": " + std::to_string(segment.rank) + ", \"offset\": " + std::to_string(segment.offset) +
            ", \"size\": " + std::to_string(segment.size) + "}";
    between = ", ";
  }
  text += "]";
  if (!sidecar.coarray) return text + "}\n";
  if (sidecar.coarray->offset) return text + ", \"coarrays\": []}\n";
  return text + ", \"coarray\": " + sill::to_json(*sidecar.coarray) + "}\n";
}

// The sidecar that is there, open, for nothing else may be written to, touched or removed: its name may have been a
// user's choice for a file. A negative number, and errno, if there is none: EEXIST for something else in its place.
int open_ours(const std::string& path, int access) {
  constexpr std::string_view beginning = "{\"sill\":";
  const int fd = ::open(path.c_str(), access | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ELOOP || errno == EISDIR || errno == ENXIO) errno = EEXIST;
    return -1;
  }
  std::array<char, beginning.size()> found{};
  struct stat kind;
  const bool regular = ::fstat(fd, &kind) == 0 && S_ISREG(kind.st_mode);
  const ssize_t count = regular ? ::pread(fd, found.data(), found.size(), 0) : -1;
  if (count == 0 || (count > 0 && std::string_view(found.data(), static_cast<std::size_t>(count)) == beginning))
    return fd;
  ::close(fd);
  errno = EEXIST;
  return -1;
}

int open_new(const std::string& path, mode_t perm) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, perm);
}

// Beside a new file there is rarely an old sidecar, beside an old one there is: what is likely is tried first.
int open_to_write(const std::string& path, bool likely_new, mode_t perm) {
  int fd = likely_new ? open_new(path, perm) : -1;
  if (fd >= 0 || (likely_new && errno != EEXIST)) return fd;
  fd = open_ours(path, O_RDWR);
  return fd < 0 && errno == ENOENT ? open_new(path, perm) : fd;
}

// All of an open sidecar; errno tells why not.
std::optional<std::string> read_all(int fd) {
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t count = ::pread(fd, part.data(), part.size(), static_cast<off_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

Status not_ours(const std::string& path) {
  return {Cause::bad_file, path + ": has the name of the window's sidecar but is none; it stays as it is"};
}

// All of an open sidecar anew; 0, or an errno.
int write_text(int fd, const std::string& text) {
  const NoFileSizeSignal errors_only;
  const ssize_t written = ::pwrite(fd, text.data(), text.size(), 0);
  if (written != static_cast<ssize_t>(text.size())) return written < 0 ? errno : ENOSPC;
  // Not O_TRUNC: ext4 flushes a file that was cut to nothing when it is closed, which takes milliseconds.
  return ::ftruncate(fd, written) == 0 ? 0 : errno;
}

// The sidecar's own time: until the first sync exactly that of its creation; so another one is that of a sync, however
// soon it came.
void set_time(int fd, const std::string& path, const timespec& time) {
  const std::array<timespec, 2> times{{{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, time}};
  if (::futimens(fd, times.data()) != 0)
    log(LogLevel::debug, path + ": belongs to somebody else, so its time looks like that of a sync");
}

// Another text in place of a sidecar's, whole or not at all, whenever the process or the machine stops.
Status replace_whole(const File& file, const std::string& text, mode_t perm, const timespec& time) {
  const std::string path = sidecar_path(file);
  const int old = open_ours(path, O_RDONLY);
  if (old < 0 && errno != ENOENT) return errno == EEXIST ? not_ours(path) : errno_status(errno, path);
  if (old >= 0) ::close(old);
  const std::string beside = path + ".new";
  const int fd = open_to_write(beside, true, perm);
  if (fd < 0) return errno == EEXIST ? not_ours(beside) : errno_status(errno, beside);
  int error = write_text(fd, text);
  if (error == 0) set_time(fd, beside, time);
  if (error == 0 && ::fsync(fd) != 0) error = errno;
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return file.sync_folder();
  ::unlink(beside.c_str());
  return errno_status(error, path);
}

// A sidecar's text, and what the file system says of it; errno if there is none.
std::optional<std::string> read_ours(const std::string& path, struct stat* found = nullptr) {
  const int fd = open_ours(path, O_RDONLY);
  if (fd < 0) return std::nullopt;
  if (found && ::fstat(fd, found) != 0) *found = {};
  auto text = read_all(fd);
  const int error = errno;
  ::close(fd);
  errno = error;
  return text;
}

// Does what `change` does to the records of an image's file. The sidecar's time stays, unless a sync is noted.
template <class Change>
Status change_records(const File& file, bool is_sync, Change change) {
  const std::string path = sidecar_path(file);
  struct stat found {};
  const auto text = read_ours(path, &found);
  if (!text) return errno == EEXIST ? not_ours(path) : errno_status(errno, path);
  auto records = find_coarray_records(*text);
  if (!records.ok()) return {records.status().cause(), path + ": " + records.status().message()};
  change(records.value());
  const auto changed = replace_coarray_records(*text, records.value());
  const timespec time = is_sync ? this_moment() : found.st_mtim;
  return changed.ok() ? replace_whole(file, changed.value(), found.st_mode & 0777, time) : changed.status();
}

auto same_name(const std::string& name) {
  return [name](const CoarrayRecord& record) { return record.name == name; };
}

// One more coarray in an image's file, or the same anew. The records of the others stay; those of a file that is gone
// don't.
Status describe_in_image_file(const File& file, const Sidecar& sidecar, mode_t perm) {
  std::vector<CoarrayRecord> records;
  if (!sidecar.fresh) {
    auto others = read_coarray_records(file.path());
    if (!others.ok()) return others.status();
    if (others.value()) records = std::move(*others.value());
  }
  const auto at = std::ranges::find_if(records, same_name(sidecar.coarray->name));
  if (at == records.end())
    records.push_back(*sidecar.coarray);
  else
    *at = *sidecar.coarray;
  const timespec created = this_moment();
  const auto text = replace_coarray_records(to_json(sidecar, created), records);
  return text.ok() ? replace_whole(file, text.value(), perm, created) : text.status();
}

}  // namespace

Result<std::optional<std::vector<CoarrayRecord>>> read_coarray_records(const std::string& path) {
  using Records = std::optional<std::vector<CoarrayRecord>>;
  const std::string name = path + ".sill";
  const auto text = read_ours(name);
  if (!text && errno == ENOENT) return Records();
  if (!text) return errno == EEXIST ? not_ours(name) : errno_status(errno, name);
  auto records = find_coarray_records(*text);
  if (!records.ok()) return Status(records.status().cause(), name + ": " + records.status().message());
  return Records(std::move(records).value());
}

Status drop_coarray_record(const File& file, const std::string& name) {
  if (!has_sidecar(file)) return {};
  return change_records(file, false, [&](auto& records) { std::erase_if(records, same_name(name)); });
}

Status give_up_coarray(const File& file, const CoarrayRecord& record) {
  if (!record.offset) return unlink_file(file);
  if (Status status = drop_coarray_record(file, record.name); !status.ok()) return status;
  const auto left = read_coarray_records(file.path());
  return left.ok() && left.value() && left.value()->empty() ? unlink_file(file) : left.status();
}

Status write_sidecar(const File& file, const Sidecar& sidecar, mode_t perm) {
  if (!has_sidecar(file)) return {};
  if (sidecar.coarray && sidecar.coarray->offset) return describe_in_image_file(file, sidecar, perm);
  const std::string path = sidecar_path(file);
  const int fd = open_to_write(path, sidecar.fresh, perm);
  if (fd < 0) return errno == EEXIST ? not_ours(path) : errno_status(errno, path);
  const timespec created = this_moment();
  int error = write_text(fd, to_json(sidecar, created));
  set_time(fd, path, created);
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0) return {};
  ::unlink(path.c_str());
  return errno_status(error, path);
}

Status write_coarray_record(const File& file, const CoarrayRecord& record) {
  if (!has_sidecar(file)) return {};
  if (record.offset)
    return change_records(file, true,
                          [&](auto& records) { std::ranges::replace_if(records, same_name(record.name), record); });
  const std::string path = sidecar_path(file);
  const int fd = open_ours(path, O_RDWR);
  if (fd < 0) return errno == EEXIST ? not_ours(path) : errno_status(errno, path);
  const auto old = read_all(fd);
  Status status = old ? Status() : errno_status(errno, path);
  const auto text = status.ok() ? replace_coarray_records(*old, {record}) : Result<std::string>(status);
  status = text.status();
  if (text.ok()) {
    int error = write_text(fd, text.value());
    if (error == 0 && ::fsync(fd) != 0) error = errno;
    if (error != 0) status = errno_status(error, path);
  }
  if (::close(fd) != 0 && status.ok()) status = errno_status(errno, path);
  return status;
}

void touch_sidecar(const File& file) {
  if (!has_sidecar(file)) return;
  const int fd = open_ours(sidecar_path(file), O_RDONLY);
  const bool touched = fd >= 0 && ::futimens(fd, nullptr) == 0;
  if (!touched && errno != ENOENT)
    log(LogLevel::debug, sidecar_path(file) + ": the time of the sync could not be noted");
  if (fd >= 0) ::close(fd);
}

void remove_sidecar(const File& file) {
  if (!has_sidecar(file)) return;
  const std::string path = sidecar_path(file);
  const int fd = open_ours(path, O_RDONLY);
  if (fd >= 0) ::close(fd);
  if (fd < 0 && errno == EEXIST) return log(LogLevel::warn, not_ours(path).message());
  if (fd < 0 && errno == ENOENT) return;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) log(LogLevel::warn, path + ": could not be deleted");
}

Status unlink_file(const File& file) {
  if (!has_sidecar(file)) return {};
  if (::unlink(file.path().c_str()) != 0 && errno != ENOENT) return errno_status(errno, file.path());
  remove_sidecar(file);
  return {};
}

Status remove_file(const File& file) {
  Status status = file.remove();
  if (status.ok()) remove_sidecar(file);
  if (status.cause() != Cause::in_use) return status;
  log(LogLevel::info, status.message() + "; not deleted");
  return {};
}

}  // namespace sill::storage
