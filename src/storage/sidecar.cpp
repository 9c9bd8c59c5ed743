#include "storage/sidecar.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

std::string sidecar_path(const Source& source) { return source.path() + ".sill"; }

// Who only reads leaves nothing beside the file.
bool has_sidecar(const Source& source) {
  return !source.is_device() && !source.is_anonymous() && !source.is_readonly();
}

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
  if (sidecar.coarray) text += ", \"coarray\": " + sill::to_json(*sidecar.coarray);
  return text + "}\n";
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

}  // namespace

Status write_sidecar(const Source& source, const Sidecar& sidecar, mode_t perm) {
  if (!has_sidecar(source)) return {};
  const std::string path = sidecar_path(source);
  const int fd = open_to_write(path, source.created(), perm);
  if (fd < 0) return errno == EEXIST ? not_ours(path) : errno_status(errno, path);
  const timespec created = this_moment();
  const std::string text = to_json(sidecar, created);
  const NoFileSizeSignal errors_only;
  const ssize_t written = ::write(fd, text.data(), text.size());
  int error = written == static_cast<ssize_t>(text.size()) ? 0 : (written < 0 ? errno : ENOSPC);
  // Not O_TRUNC: ext4 flushes a file that was cut to nothing when it is closed, which takes milliseconds.
  if (error == 0 && ::ftruncate(fd, written) != 0) error = errno;
  // Until the first sync it has exactly the time that it tells; so another one is that of a sync, however soon it came.
  const std::array<timespec, 2> times{{{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, created}};
  if (error == 0 && ::futimens(fd, times.data()) != 0)
    log(LogLevel::debug, path + ": belongs to somebody else, so its time looks like that of a sync");
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0) return {};
  ::unlink(path.c_str());
  return errno_status(error, path);
}

Result<std::optional<CoarrayRecord>> read_coarray_record(const std::string& path) {
  const std::string name = path + ".sill";
  const int fd = open_ours(name, O_RDONLY);
  if (fd < 0 && errno == ENOENT) return std::optional<CoarrayRecord>();
  if (fd < 0) return errno == EEXIST ? not_ours(name) : errno_status(errno, name);
  const auto text = read_all(fd);
  const int error = errno;
  ::close(fd);
  if (!text) return errno_status(error, name);
  auto record = find_coarray_record(*text);
  if (!record.ok()) return Status(record.status().cause(), name + ": " + record.status().message());
  return std::optional(std::move(record).value());
}

Status write_coarray_record(const Source& source, const CoarrayRecord& record) {
  if (!has_sidecar(source)) return {};
  const std::string path = sidecar_path(source);
  const int fd = open_ours(path, O_RDWR);
  if (fd < 0) return errno == EEXIST ? not_ours(path) : errno_status(errno, path);
  const auto old = read_all(fd);
  Status status = old ? Status() : errno_status(errno, path);
  const auto text = status.ok() ? replace_coarray_record(*old, record) : Result<std::string>(status);
  status = text.status();
  if (text.ok()) {
    const NoFileSizeSignal errors_only;
    const ssize_t written = ::pwrite(fd, text.value().data(), text.value().size(), 0);
    int error = written == static_cast<ssize_t>(text.value().size()) ? 0 : (written < 0 ? errno : ENOSPC);
    if (error == 0 && (::ftruncate(fd, written) != 0 || ::fsync(fd) != 0)) error = errno;
    if (error != 0) status = errno_status(error, path);
  }
  if (::close(fd) != 0 && status.ok()) status = errno_status(errno, path);
  return status;
}

void touch_sidecar(const Source& source) {
  if (!has_sidecar(source)) return;
  const int fd = open_ours(sidecar_path(source), O_RDONLY);
  const bool touched = fd >= 0 && ::futimens(fd, nullptr) == 0;
  if (!touched && errno != ENOENT)
    log(LogLevel::debug, sidecar_path(source) + ": the time of the sync could not be noted");
  if (fd >= 0) ::close(fd);
}

void remove_sidecar(const Source& source) {
  if (!has_sidecar(source)) return;
  const std::string path = sidecar_path(source);
  const int fd = open_ours(path, O_RDONLY);
  if (fd >= 0) ::close(fd);
  if (fd < 0 && errno == EEXIST) return log(LogLevel::warn, not_ours(path).message());
  if (fd < 0 && errno == ENOENT) return;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) log(LogLevel::warn, path + ": could not be deleted");
}

Status unlink_file(Source& source) {
  if (!has_sidecar(source)) return {};
  if (::unlink(source.path().c_str()) != 0 && errno != ENOENT) return errno_status(errno, source.path());
  remove_sidecar(source);
  return {};
}

Status remove_file(Source& source) {
  Status status = source.remove();
  if (status.ok()) remove_sidecar(source);
  if (status.cause() != Cause::in_use) return status;
  log(LogLevel::info, status.message() + "; not deleted");
  return {};
}

}  // namespace sill::storage
