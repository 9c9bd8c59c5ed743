#include "base/machine.hpp"

#include <fstream>
#include <functional>

namespace sill {

const std::string& boot_id() {
  static const std::string id = [] {
    std::string text;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
    return text;
  }();
  return id;
}

std::uint64_t machine_identity() {
  static const std::uint64_t identity = boot_id().empty() ? 0 : std::hash<std::string>{}(boot_id()) | 1;
  return identity;
}

}  // namespace sill
