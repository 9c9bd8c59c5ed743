// The mapped engine: the file's pages are the segment.
#include <mutex>
#include <utility>

#include "base/log.hpp"
#include "storage/engine.hpp"
#include "storage/fault_guard.hpp"
#include "storage/mapping.hpp"
#include "storage/page_cache.hpp"
#include "storage/watcher.hpp"

namespace sill::storage {
namespace {

class MappedEngine : public Engine {
 public:
  MappedEngine(std::shared_ptr<File> file, const Extent& extent)
      : file_(std::move(file)), extent_(extent), lead_(extent.offset % page_size()) {}

  Status attach(const WindowHints& hints, bool own, const std::string& window_name) override {
    if (file_->fd() < 0) {
      auto again = file_->opened_again();
      if (!again.ok()) return again.status();
      *file_ = std::move(again).value();
    }
    Status status = map_over(address(), length(), *file_, offset(), usage(hints));
    if (status.ok()) guard_ = FaultGuard(address(), length(), window_name, file_->path(), file_->is_readonly());
    if (!own) file_->close();
    return status;
  }

  Status detach() override {
    unwatch();
    guard_ = {};
    return unmap_over(address(), length());
  }

  Status shield() override {
    unwatch();
    return map_private(address(), length(), *file_, offset());
  }

  Result<std::optional<std::uint64_t>> sync(std::byte* begin, std::uint64_t length, bool count) override {
    const auto offset = extent_.offset + static_cast<std::uint64_t>(begin - extent_.address);
    const auto before = count ? cache_use(*file_, offset, length) : std::nullopt;
    Status status = sync_mapping(begin, length, file_->path());
    const std::lock_guard lock(watch_mutex_);
    watch_.synced();
    if (!status.ok()) return status;
    return before ? std::optional(before->dirty) : std::nullopt;
  }

  Status advise(const WindowHints& hints) override {
    unwatch();
    return storage::advise(address(), length(), usage(hints));
  }

  void watch(const WindowHints& hints, std::uint64_t node_bytes, bool alone) override {
    WatchOptions options;
    options.learn = hints.learn && hints.access_style == access_none;
    options.write_behind = hints.write_behind && !hints.readonly && !(hints.access_style & access_random);
    // Whether what is stored will be stored again before the next sync, faults don't tell.
    options.write_mostly = hints.access_style & (access_write_once | access_write_mostly | access_sequential);
    options.large_pages = usage(hints).large_pages;
    options.alone = alone;
    options.node_bytes = node_bytes;
    const std::lock_guard lock(watch_mutex_);
    watch_ = {};
    watched_.reset();
    if (!Watch::wanted(length(), options)) return;
    if (file_->fd() < 0) {
      auto again = file_->opened_again();
      if (!again.ok()) return log(LogLevel::info, again.status().message() + "; not watched");
      watched_ = std::move(again).value();
    }
    watch_ = Watch(address(), length(), watched_ ? *watched_ : *file_, offset(), options);
  }

  void unwatch() override {
    const std::lock_guard lock(watch_mutex_);
    watch_ = {};
    watched_.reset();
  }

 private:
  // The whole pages around the extent: its first page may begin before it.
  std::byte* address() const { return extent_.address - lead_; }
  std::uint64_t length() const { return extent_.length + lead_; }
  std::uint64_t offset() const { return extent_.offset - lead_; }
  Usage usage(const WindowHints& hints) const {
    return {hints.access_style, hints.large_pages && takes_large_pages(address(), length(), offset())};
  }

  std::shared_ptr<File> file_;  // open if this process owns the segment
  Extent extent_;
  std::uint64_t lead_;
  FaultGuard guard_;
  std::mutex watch_mutex_;       // a sync on one thread may go on while another changes the access style
  std::optional<File> watched_;  // a neighbour's file, as long as it is watched
  Watch watch_;
};

}  // namespace

std::unique_ptr<Engine> make_mapped_engine(std::shared_ptr<File> file, const Extent& extent) {
  return std::make_unique<MappedEngine>(std::move(file), extent);
}

}  // namespace sill::storage
