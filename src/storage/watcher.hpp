#pragma once
// Mappings that don't fit into memory learn from their own faults which advice the kernel needs; what a program has
// filled of long ones is written out before the next sync. One thread for each process looks at them now and then, as
// long as there is such a mapping and pages fault.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "storage/file.hpp"

namespace sill::storage {

// What is done for a mapping.
struct WatchOptions {
  bool learn = false;            // advise the kernel, if the bytes below don't fit into memory
  bool write_behind = false;     // write out what is full, if the bytes below don't fit into memory ...
  bool write_mostly = false;     // ... or even if they do
  bool large_pages = false;      // as the mapping was advised so far
  bool alone = false;            // no other process maps the same bytes
  std::uint64_t node_bytes = 0;  // of this mapping and its sisters on the node
};

// While it lives, the mapping of [offset, offset + length) of the file at `address` is watched; it must stay mapped
// that long. Thread-safe.
class Watch {
 public:
  Watch() = default;
  // Whether there is anything to watch for: if not, a Watch does nothing.
  static bool wanted(std::size_t length, const WatchOptions& options);
  Watch(std::byte* address, std::size_t length, const File& file, std::uint64_t offset, const WatchOptions& options);
  // To be called after each sync.
  void synced();

  struct Watched;

 private:
  struct Forget {
    void operator()(Watched* watched) const;
  };
  std::unique_ptr<Watched, Forget> watched_;
};

}  // namespace sill::storage
