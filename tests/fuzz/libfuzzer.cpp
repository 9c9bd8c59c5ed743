// One libFuzzer target for each property; CMakeLists.txt names it.
#include <cstddef>
#include <cstdint>

#include "fuzz/properties.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sill::fuzz::FUZZ_PROPERTY({reinterpret_cast<const char*>(data), size});
  return 0;
}
