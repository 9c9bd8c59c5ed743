#include "storage/memory_limit.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/mounts.hpp"
#include "base/text.hpp"
#include "base/values.hpp"

namespace sill::storage {
namespace {

using Bytes = std::uint64_t;

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The number at the start of `text`, behind blanks; none for other text, such as "max".
std::optional<Bytes> number_in(std::string_view text) {
  text = trim(text);
  Bytes number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) return std::nullopt;
  return number;
}

// The number behind `name` in lines of "name number" or "name: number unit".
std::optional<Bytes> field(const std::string& text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(name)) continue;
    const std::string_view rest = line.substr(name.size());
    if (!rest.empty() && (rest[0] == ' ' || rest[0] == '\t')) return number_in(rest);
  }
  return std::nullopt;
}

// What differs between the two versions of control groups.
struct Version {
  std::string_view file_system;
  std::vector<std::string_view> limits;
  std::string_view usage;
  std::vector<std::string_view> cache;  // fields of memory.stat
};

// memory.high counts as a limit: beyond it the kernel holds the process up until it has given memory back.
const Version version2 = {"cgroup2", {"memory.max", "memory.high"}, "memory.current", {"inactive_file", "active_file"}};
const Version version1 = {
    "cgroup", {"memory.limit_in_bytes"}, "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}};

// What is left in the group of this folder; none where there is no limit.
std::optional<Bytes> left_in(const std::string& folder, const Version& version) {
  std::optional<Bytes> limit;
  for (const std::string_view name : version.limits) {
    const std::optional<Bytes> value = number_in(read_file(folder + "/" + std::string(name)));
    // Version 1 writes "no limit" as the largest number of whole pages.
    if (value && *value < Bytes{1} << 62) limit = std::min(limit.value_or(*value), *value);
  }
  const std::optional<Bytes> usage = number_in(read_file(folder + "/" + std::string(version.usage)));
  if (!limit || !usage) return std::nullopt;
  const std::string stat = read_file(folder + "/memory.stat");
  Bytes cache = 0;
  for (const std::string_view name : version.cache) cache += field(stat, name).value_or(0);
  const Bytes used = *usage - std::min(cache, *usage);
  return *limit - std::min(used, *limit);
}

// Where the memory controller of this version is mounted.
std::optional<Mount> find_mount(const std::string& mountinfo, const Version& version) {
  for (const std::string_view line : split(mountinfo, '\n')) {
    auto mount = parse_mount(line);
    if (!mount || mount->type != version.file_system) continue;
    if (version.file_system == "cgroup" && !mount->has_option("memory")) continue;
    return mount;
  }
  return std::nullopt;
}

// The path of this process's group in /proc/self/cgroup, whose lines are "number:controllers:path".
std::optional<std::string> find_group(const std::string& cgroups, const Version& version) {
  for (const std::string_view line : split(cgroups, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const auto controllers = split(line.substr(first + 1, second - first - 1), ',');
    const std::string_view wanted = version.file_system == "cgroup" ? "memory" : "";
    if (std::ranges::find(controllers, wanted) != controllers.end()) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

// The group's path below the mount; "" (the mount itself) where a container shows no more than that.
std::string path_below(const std::string& group, const Mount& mount) {
  if (group.starts_with("/..")) return "";
  const std::string prefix = mount.root == "/" ? "" : mount.root;
  const bool inside = group.starts_with(prefix) && (group.size() == prefix.size() || group[prefix.size()] == '/');
  std::string below = inside ? group.substr(prefix.size()) : "";
  if (below == "/") below.clear();
  return below;
}

std::optional<Bytes> left_in_groups(const std::string& root, const Version& version) {
  const auto group = find_group(read_file(root + "/proc/self/cgroup"), version);
  const auto mount = find_mount(read_file(root + "/proc/self/mountinfo"), version);
  if (!group || !mount) return std::nullopt;
  std::optional<Bytes> smallest;
  for (std::string below = path_below(*group, *mount);; below.resize(below.rfind('/'))) {
    const auto left = left_in(root + mount->point + below, version);
    if (left) smallest = std::min(smallest.value_or(*left), *left);
    if (below.empty()) return smallest;
  }
}

}  // namespace

Result<std::optional<std::uint64_t>> told_limit() {
  const std::string text = environment("SILL_MEMORY_LIMIT");
  if (text.empty()) return std::optional<Bytes>();
  Bytes bytes = 0;
  const Status read = values::read_whole(text, Bytes{1}, std::numeric_limits<Bytes>::max(), bytes);
  if (!read.ok()) return Status(read.cause(), "SILL_MEMORY_LIMIT=" + text + ": " + read.message());
  return std::optional(bytes);
}

Result<std::uint64_t> available_memory(const std::string& root) {
  const auto told = told_limit();
  if (!told.ok()) return told.status();
  std::optional<Bytes> smallest = told.value();
  if (const auto kib = field(read_file(root + "/proc/meminfo"), "MemAvailable:"))
    smallest = std::min(smallest.value_or(*kib * 1024), *kib * 1024);
  for (const Version* version : {&version2, &version1}) {
    const auto left = left_in_groups(root, *version);
    if (left) smallest = std::min(smallest.value_or(*left), *left);
  }
  if (!smallest)
    return Status(Cause::unsupported, root + ": neither /proc/meminfo nor a control group tells the memory");
  return *smallest;
}

}  // namespace sill::storage
