#pragma once
// Mappings that are larger than the memory learn from their own faults which advice the kernel needs. One thread for
// each process looks at them now and then, as long as there is such a mapping and pages fault.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "storage/source.hpp"

namespace sill::storage {

// While it lives, the mapping of [offset, offset + length) of the source at `address` is watched and advised; it must
// stay mapped that long. If the `node_bytes` that this and its sister mappings on the node have fit into memory,
// nothing is done. Thread-safe.
class Learning {
 public:
  Learning() = default;
  Learning(std::byte* address, std::size_t length, const Source& source, std::uint64_t offset,
           std::uint64_t node_bytes);

  struct Watched;

 private:
  struct Forget {
    void operator()(Watched* watched) const;
  };
  std::unique_ptr<Watched, Forget> watched_;
};

}  // namespace sill::storage
