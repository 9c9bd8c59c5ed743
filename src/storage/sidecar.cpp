#include "storage/sidecar.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "base/log.hpp"

namespace sill::storage {
namespace {

std::string sidecar_path(const Source& source) { return source.path() + ".sill"; }

std::string json_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    std::array<char, 8> escape{};
    if (static_cast<unsigned char>(c) < 0x20)
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned char>(c));
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += escape[0] ? std::string(escape.data()) : std::string(1, c);
  }
  return quoted + '"';
}

std::string now_utc() {
  timespec now{};
  std::tm parts{};
  std::array<char, 32> seconds{};
  std::array<char, 48> text{};
  if (::clock_gettime(CLOCK_REALTIME, &now) != 0 || !::gmtime_r(&now.tv_sec, &parts)) return "";
  std::strftime(seconds.data(), seconds.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data(), text.size(), "%s.%03ldZ", seconds.data(), now.tv_nsec / 1000000);
  return text.data();
}

std::string to_json(const Sidecar& sidecar) {
  std::string text = "{\"sill\": 1, \"job\": " + json_string(sidecar.job) + ", \"created\": " + json_string(now_utc()) +
                     ", \"window\": " + json_string(sidecar.window) +
                     ", \"unlink\": " + (sidecar.unlink ? "true" : "false") + ", \"segments\": [";
  const char* between = "";
  for (const SidecarSegment& segment : sidecar.segments) {
    text += between;
    text += "{\"rank\": " + std::to_string(segment.rank) + ", \"offset\": " + std::to_string(segment.offset) +
            ", \"size\": " + std::to_string(segment.size) + "}";
    between = ", ";
  }
  return text + "]}\n";
}

}  // namespace

Status write_sidecar(const Source& source, const Sidecar& sidecar, mode_t perm) {
  if (source.is_device()) return {};
  const std::string path = sidecar_path(source);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, perm);
  if (fd < 0) return errno_status(errno, path);
  const std::string text = to_json(sidecar);
  const ssize_t written = ::write(fd, text.data(), text.size());
  int error = written == static_cast<ssize_t>(text.size()) ? 0 : (written < 0 ? errno : ENOSPC);
  // Not O_TRUNC: ext4 flushes a file that was cut to nothing when it is closed, which takes milliseconds.
  if (error == 0 && ::ftruncate(fd, written) != 0) error = errno;
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0) return {};
  ::unlink(path.c_str());
  return errno_status(error, path);
}

void touch_sidecar(const Source& source) {
  if (source.is_device()) return;
  if (::utimensat(AT_FDCWD, sidecar_path(source).c_str(), nullptr, AT_SYMLINK_NOFOLLOW) != 0 && errno != ENOENT)
    log(LogLevel::debug, sidecar_path(source) + ": the time of the sync could not be noted");
}

void remove_sidecar(const Source& source) {
  if (source.is_device()) return;
  if (::unlink(sidecar_path(source).c_str()) != 0 && errno != ENOENT)
    log(LogLevel::warn, sidecar_path(source) + ": could not be deleted");
}

}  // namespace sill::storage
