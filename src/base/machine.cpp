#include "base/machine.hpp"

#include <fstream>
#include <functional>
#include <string>

namespace sill {

std::uint64_t machine_identity() {
  static const std::uint64_t identity = [] {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    return boot.empty() ? 0 : std::hash<std::string>{}(boot) | 1;
  }();
  return identity;
}

}  // namespace sill
