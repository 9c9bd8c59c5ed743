#include "window/segment.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "storage/mapping.hpp"
#include "storage/page_cache.hpp"
#include "storage/staging.hpp"

namespace sill::window {
namespace {

struct Pages {
  std::byte* address;
  std::size_t length;
  std::uint64_t offset;
};

// The whole pages around an extent: its first page may begin before it.
Pages pages_of(const StoredSegment::Extent& extent) {
  const std::uint64_t lead = extent.offset % storage::page_size();
  return {extent.address - lead, extent.length + lead, extent.offset - lead};
}

storage::Usage usage_of(const WindowHints& hints, const Pages& pages) {
  const bool large = hints.large_pages && storage::takes_large_pages(pages.address, pages.length, pages.offset);
  return {hints.access_style, large};
}

}  // namespace

Status StoredSegment::attach(const WindowHints& hints, bool own, const std::string& window_name) {
  own_ = own;
  expect_name(!hints.unlink);
  if (extent_.staged && own) return storage::read_in(source_, extent_.offset, extent_.address, extent_.length);
  Status status;
  if (!extent_.staged) {
    if (source_.fd() < 0) {
      auto again = opened_again();
      if (!again.ok()) return again.status();
      source_ = std::move(again).value();
    }
    const Pages pages = pages_of(extent_);
    status = storage::map_over(pages.address, pages.length, source_, pages.offset, usage_of(hints, pages));
    if (status.ok())
      guard_ = storage::FaultGuard(pages.address, pages.length, window_name, source_.path(), source_.is_readonly());
  }
  if (!own) source_.close();
  return status;
}

Status StoredSegment::detach() {
  if (extent_.staged) return {};
  const Pages pages = pages_of(extent_);
  unwatch();
  guard_ = {};
  return storage::unmap_over(pages.address, pages.length);
}

Status StoredSegment::shield() {
  if (extent_.staged) return {Cause::unsupported, source_.path() + ": a staged segment can't be shielded"};
  const Pages pages = pages_of(extent_);
  unwatch();
  return storage::map_private(pages.address, pages.length, source_, pages.offset);
}

Status StoredSegment::advise(const WindowHints& hints) {
  if (extent_.staged) return {};
  const Pages pages = pages_of(extent_);
  unwatch();
  return storage::advise(pages.address, pages.length, usage_of(hints, pages));
}

void StoredSegment::watch(const WindowHints& hints, std::uint64_t node_bytes, bool alone) {
  if (extent_.staged) return;
  const Pages pages = pages_of(extent_);
  storage::Care care;
  care.learn = hints.learn && hints.access_style == access_none;
  care.write_behind = hints.write_behind && !hints.readonly && !(hints.access_style & access_random);
  // Whether what is stored will be stored again before the next sync, faults don't tell.
  care.write_mostly = hints.access_style & (access_write_once | access_write_mostly | access_sequential);
  care.large_pages = usage_of(hints, pages).large_pages;
  care.alone = alone;
  care.node_bytes = node_bytes;
  const std::lock_guard lock(watch_mutex_);
  watch_ = {};
  watched_.reset();
  if (!storage::Watch::wanted(pages.length, care)) return;
  if (source_.fd() < 0) {
    auto again = opened_again();
    if (!again.ok()) return log(LogLevel::info, again.status().message() + "; not watched");
    watched_ = std::move(again).value();
  }
  watch_ = storage::Watch(pages.address, pages.length, watched_ ? *watched_ : source_, pages.offset, care);
}

void StoredSegment::unwatch() {
  const std::lock_guard lock(watch_mutex_);
  watch_ = {};
  watched_.reset();
}

Status StoredSegment::sync(const std::byte* begin, const std::byte* end, SyncCounts* counts) {
  begin = std::max<const std::byte*>(begin, extent_.address);
  end = std::min<const std::byte*>(end, extent_.address + extent_.length);
  if (begin >= end || source_.is_anonymous() || source_.is_readonly()) return {};
  std::byte* const first = extent_.address + (begin - extent_.address);
  const auto length = static_cast<std::uint64_t>(end - begin);
  // Bytes whose file can't be found afterwards are better than none.
  const Status bytes = extent_.staged ? sync_staged(first, length, counts) : sync_mapped(first, length, counts);
  const Status name = sync_name();
  const Status there = own_ ? source_.check_there(extent_.offset + extent_.length, name_matters_) : Status();
  for (const Status& status : {bytes, there, name})
    if (!status.ok()) return status;
  return {};
}

Status StoredSegment::sync_name() {
  if (name_durable_.load()) return {};
  Status status = source_.sync_folder();
  if (status.ok()) name_durable_.store(true);
  return status;
}

Status StoredSegment::sync_staged(std::byte* begin, std::uint64_t length, SyncCounts* counts) {
  std::optional<storage::Source> again;
  if (source_.fd() < 0) {
    auto opened = opened_again();
    if (!opened.ok()) return opened.status();
    again = std::move(opened).value();
  }
  const auto offset = extent_.offset + static_cast<std::uint64_t>(begin - extent_.address);
  const auto written = storage::write_out(again ? *again : source_, offset, begin, length);
  if (written.ok() && counts) counts->bytes += written.value();
  return written.status();
}

Status StoredSegment::sync_mapped(std::byte* begin, std::uint64_t length, SyncCounts* counts) {
  const auto offset = extent_.offset + static_cast<std::uint64_t>(begin - extent_.address);
  const auto before = counts ? storage::cache_use(source_, offset, length) : std::nullopt;
  Status status = storage::sync_mapping(begin, length, source_.path());
  {
    const std::lock_guard lock(watch_mutex_);
    watch_.synced();
  }
  if (!counts || !status.ok()) return status;
  if (before)
    counts->bytes += before->dirty;
  else
    counts->bytes_known = false;
  return status;
}

}  // namespace sill::window
