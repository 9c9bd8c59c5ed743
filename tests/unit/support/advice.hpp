#pragma once
// What the kernel was told of memory.
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace sill::test {

// Whether any mapping that begins in [begin, begin + length) has that flag, two letters of "VmFlags" (proc(5), smaps).
inline bool has_flag(const std::byte* begin, std::size_t length, const std::string& flag) {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0;
    char dash = 0;
    std::istringstream start(line);
    if (line.find('-') < line.find(' ') && start >> std::hex >> from >> dash)
      inside = from >= first && from < first + length;
    if (inside && line.starts_with("VmFlags:") && line.find(" " + flag) != std::string::npos) return true;
  }
  return false;
}

}  // namespace sill::test
