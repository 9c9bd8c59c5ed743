#include "base/versioned.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace sill {
namespace {

// No structure will ever have so many bytes: nobody has set the size.
constexpr std::size_t absurd_size = 1 << 20;

std::size_t size_of(const void* structure) {
  std::size_t size = 0;
  std::memcpy(&size, structure, sizeof size);
  return size;
}

}  // namespace

Status hand_out(const char* name, std::size_t first, const void* own, void* caller) {
  const std::size_t size = size_of(caller);
  if (size < first || size >= absurd_size)
    return {Cause::bad_argument, std::string(name) + ": its size is " + std::to_string(size) + ": set size to sizeof(" +
                                     name + ") before the call"};
  const std::size_t filled = std::min(size, size_of(own));
  std::memcpy(caller, own, filled);
  std::memcpy(caller, &filled, sizeof filled);
  return {};
}

}  // namespace sill
