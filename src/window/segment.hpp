#pragma once
// One rank's storage as this process sees it: its own, or that of a rank on the same node.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/hints.hpp"
#include "base/status.hpp"
#include "storage/engine.hpp"
#include "storage/file.hpp"

namespace sill::window {

// What this process did to make a segment durable; bytes, nanoseconds.
struct SyncCounts {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> count{0};
  std::atomic<std::uint64_t> nanoseconds{0};
  std::atomic<bool> bytes_known{true};
};

class StoredSegment {
 public:
  StoredSegment(std::shared_ptr<storage::File> file, EngineKind engine, const storage::Extent& extent)
      : file_(std::move(file)), engine_(storage::make_engine(engine, file_, extent)), extent_(extent) {}

  // Brings the store to the extent's address. The file of a segment that isn't this process's `own` is closed then.
  Status attach(const WindowHints& hints, bool own, const std::string& window_name);
  // Makes the bytes of [begin, end) that lie in the extent durable, and counts them if asked to. An error also if the
  // extent is this process's own and its file is deleted, replaced or cut by now.
  Status sync(const std::byte* begin, const std::byte* end, SyncCounts* counts);
  Status sync(SyncCounts* counts) { return sync(extent_.address, extent_.address + extent_.length, counts); }
  // Whether a sync is an error if the file has another name, or none: not where it is deleted at the end anyway.
  void expect_name(bool expected) { name_matters_ = expected; }

  // Whatever else is to be done with the segment's bytes.
  storage::Engine& engine() { return *engine_; }
  // Open if this process owns the extent.
  storage::File& file() { return *file_; }
  const storage::Extent& extent() const { return extent_; }
  // Whether the file held bytes here before, of a segment that is this process's own.
  bool restored() const { return own_ && file_->size_at_open() > extent_.offset; }

 private:
  // Makes the file's name durable, once.
  Status sync_name();

  std::shared_ptr<storage::File> file_;
  std::unique_ptr<storage::Engine> engine_;
  storage::Extent extent_;
  bool own_ = false;
  std::atomic<bool> name_matters_ = true;  // the file isn't deleted at the end
  std::atomic<bool> name_durable_{false};
};

}  // namespace sill::window
