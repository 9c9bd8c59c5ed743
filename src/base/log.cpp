#include "base/log.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>

#include "base/config.hpp"

namespace sill {
namespace {

constexpr std::array<std::string_view, 5> level_names = {"off", "error", "warn", "info", "debug"};

std::atomic<int> log_rank = -1;

// One line, one system call, so that lines of several ranks don't mix; control characters would break the line.
void write_line(LogLevel level, const std::string& text) {
  std::string line = "sill";
  if (const int rank = log_rank; rank >= 0) line += "[" + std::to_string(rank) + "]";
  line += " " + std::string(level_names[static_cast<std::size_t>(level)]) + ": ";
  for (const char c : text) line += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  line += '\n';
  const int saved = errno;
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
    if (written < 0 && errno != EINTR) break;  // standard error is gone: there is nobody left to tell
  }
  errno = saved;
}

LogLevel level_from_environment() {
  const std::string name = environment("SILL_LOG");
  if (name.empty()) return LogLevel::warn;
  for (std::size_t i = 0; i < level_names.size(); ++i)
    if (name == level_names[i]) return static_cast<LogLevel>(i);
  write_line(LogLevel::warn, "SILL_LOG=" + name + ": expected off, error, warn, info or debug; warn is used");
  return LogLevel::warn;
}

}  // namespace

bool log_enabled(LogLevel level) {
  static const LogLevel threshold = level_from_environment();
  return level != LogLevel::off && level <= threshold;
}

void log(LogLevel level, const std::string& text) {
  if (log_enabled(level)) write_line(level, text);
}

void set_log_rank(int rank) { log_rank = rank; }

}  // namespace sill
