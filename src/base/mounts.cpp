#include "base/mounts.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>

#include "base/text.hpp"

namespace sill {
namespace {

// Blanks and backslashes stand in mountinfo as \040, \134.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '\\' && i + 3 < text.size() && std::from_chars(digits, digits + 3, value, 8).ptr == digits + 3) {
      plain += static_cast<char>(value);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// The mount's number, from /proc/self/fdinfo: older than statx's, and never a guess by names.
std::optional<int> mount_id(int fd) {
  std::ifstream facts("/proc/self/fdinfo/" + std::to_string(fd));
  for (std::string line; std::getline(facts, line);) {
    int id = 0;
    if (line.starts_with("mnt_id:") && read_number(trim(std::string_view(line).substr(7)), id)) return id;
  }
  return {};
}

}  // namespace

bool Mount::has_option(std::string_view option) const {
  const auto all = split(options, ',');
  return std::find(all.begin(), all.end(), option) != all.end();
}

std::optional<Mount> parse_mount(std::string_view line) {
  // id parent major:minor root point options [optional]... - type source super-options
  const auto dash = line.find(" - ");
  if (dash == line.npos) return {};
  const auto front = split(line.substr(0, dash), ' ');
  const auto back = split(line.substr(dash + 3), ' ');
  if (front.size() < 6 || back.size() < 3) return {};
  const auto device = split(front[2], ':');
  Mount mount;
  if (!read_number(front[0], mount.id) || device.size() != 2 || !read_number(device[0], mount.major) ||
      !read_number(device[1], mount.minor))
    return {};
  mount.root = unescape(front[3]);
  mount.point = unescape(front[4]);
  mount.options = std::string(front[5]) + ',' + std::string(back[2]);
  mount.type = unescape(back[0]);
  mount.source = unescape(back[1]);
  return mount;
}

Result<Mount> mount_of(int fd, const std::string& path) {
  const auto id = mount_id(fd);
  if (!id) return Status(Cause::unsupported, path + ": /proc/self/fdinfo doesn't tell its mount; is /proc mounted?");
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);)
    if (auto mount = parse_mount(line); mount && mount->id == *id) return *std::move(mount);
  return Status(Cause::unsupported, path + ": its mount isn't in /proc/self/mountinfo");
}

}  // namespace sill
