#pragma once
// One rank's storage as this process sees it: its own, or that of a rank on the same node.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/hints.hpp"
#include "base/status.hpp"
#include "storage/fault_guard.hpp"
#include "storage/mapping.hpp"
#include "storage/source.hpp"
#include "storage/watcher.hpp"

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
  struct Extent {
    std::byte* address = nullptr;  // of the first byte on storage
    std::uint64_t length = 0;
    std::uint64_t offset = 0;  // in the source
    bool staged = false;
    bool restored = false;  // the store held bytes here before
  };
  StoredSegment(storage::Source source, const Extent& extent) : source_(std::move(source)), extent_(extent) {}

  // Brings the store to the extent's address: pages for a mapped one; its bytes for a staged one, if this process owns
  // it. A neighbour's is open only while it is needed: node and windows multiply to more descriptors than there are.
  Status attach(const WindowHints& hints, bool own, const std::string& window_name);
  // Puts anonymous memory back in place of a mapped extent.
  Status detach();
  // Hides a mapped extent from this process's stores, which go to private pages instead, until it is attached anew.
  Status shield();
  // Makes the bytes of [begin, end) that lie in the extent durable, and counts them if asked to. An error also if the
  // extent is this process's own and its file is deleted, replaced or cut by now.
  Status sync(const std::byte* begin, const std::byte* end, SyncCounts* counts);
  Status sync(SyncCounts* counts) { return sync(extent_.address, extent_.address + extent_.length, counts); }
  // Whether a sync is an error if the file has another name, or none: not where it is deleted at the end anyway.
  void expect_name(bool expected) { name_matters_ = expected; }
  // Passes a changed access_style on; ends the watching.
  Status advise(const WindowHints& hints);
  // Has the mapping watched as the hints want it: it learns how it is accessed if the `node_bytes` of storage that the
  // window's ranks on this node map don't fit into memory, and is written behind. `alone`: no other process maps it.
  void watch(const WindowHints& hints, std::uint64_t node_bytes, bool alone);
  // To be called before the mapping goes.
  void unwatch();

  // Open if this process owns the extent.
  storage::Source& source() { return source_; }
  const Extent& extent() const { return extent_; }

 private:
  Status sync_mapped(std::byte* begin, std::uint64_t length, SyncCounts* counts);
  Status sync_staged(std::byte* begin, std::uint64_t length, SyncCounts* counts);
  // Makes the file's name durable, once.
  Status sync_name();

  Result<storage::Source> opened_again() const {
    return storage::Source::open_peer(source_.path(), source_.identity(), source_.is_readonly());
  }

  storage::Source source_;
  Extent extent_;
  bool own_ = false;
  std::atomic<bool> name_matters_ = true;  // the file isn't deleted at the end
  storage::FaultGuard guard_;
  std::mutex watch_mutex_;                  // a sync on one thread may go on while another changes the access style
  std::optional<storage::Source> watched_;  // a neighbour's source, as long as it is watched
  storage::Watch watch_;
  std::atomic<bool> name_durable_{false};
};

}  // namespace sill::window
