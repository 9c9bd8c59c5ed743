#pragma once
// Engine: keeps the bytes at an address and those of a file alike. One for each segment that a process sees, its own or
// that of a rank on the same node. base/engines.hpp lists them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/engines.hpp"
#include "base/hints.hpp"
#include "base/status.hpp"
#include "storage/file.hpp"

namespace sill::storage {

// What of a segment lies on storage.
struct Extent {
  std::byte* address = nullptr;  // of the first byte on storage
  std::uint64_t length = 0;
  std::uint64_t offset = 0;  // in the file
};

class Engine {
 public:
  virtual ~Engine() = default;

  // Brings the file to the extent's address, as the hints want it. `own`: the segment is this process's. What an engine
  // keeps of a neighbour's file, it opens for as long as it needs it: node and windows multiply to more descriptors
  // than there are. `window_name` is for messages.
  virtual Status attach(const WindowHints& hints, bool own, const std::string& window_name) = 0;
  // Gives the address back as plain memory. The bytes there are undefined.
  virtual Status detach() = 0;
  // Hides the file from this process's stores, which go to private memory instead, until it is attached anew.
  virtual Status shield() = 0;
  // Makes bytes of the extent durable. Returns how many were written, if `count`; none where that can't be told.
  virtual Result<std::optional<std::uint64_t>> sync(std::byte* begin, std::uint64_t length, bool count) = 0;
  // Passes a changed access_style on; ends the watching.
  virtual Status advise(const WindowHints& hints) = 0;
  // Has the access watched as the hints want it: it learns how it is accessed if the `node_bytes` of storage that the
  // window's ranks have on this node don't fit into memory, and is written behind. `alone`: no other process has it.
  virtual void watch(const WindowHints& hints, std::uint64_t node_bytes, bool alone) = 0;
  // To be called before the segment goes.
  virtual void unwatch() = 0;
};

// The makers, one for each row of the table.
#define SILL_ENGINE_MAKER(name, in_place, help) \
  std::unique_ptr<Engine> make_##name##_engine(std::shared_ptr<File> file, const Extent& extent);
SILL_ENGINES(SILL_ENGINE_MAKER)
#undef SILL_ENGINE_MAKER

inline std::unique_ptr<Engine> make_engine(EngineKind kind, std::shared_ptr<File> file, const Extent& extent) {
  constexpr std::array makers = {
#define SILL_ENGINE_MAKER(name, in_place, help) &make_##name##_engine,
      SILL_ENGINES(SILL_ENGINE_MAKER)
#undef SILL_ENGINE_MAKER
  };
  return makers[static_cast<std::size_t>(kind)](std::move(file), extent);
}

}  // namespace sill::storage
