#include "window/segment.hpp"

#include <algorithm>

namespace sill::window {

Status StoredSegment::attach(const WindowHints& hints, bool own, const std::string& window_name) {
  own_ = own;
  expect_name(!hints.unlink);
  return engine_->attach(hints, own, window_name);
}

Status StoredSegment::sync(const std::byte* begin, const std::byte* end, SyncCounts* counts) {
  begin = std::max<const std::byte*>(begin, extent_.address);
  end = std::min<const std::byte*>(end, extent_.address + extent_.length);
  if (begin >= end || file_->is_anonymous() || file_->is_readonly()) return {};
  const auto written =
      engine_->sync(extent_.address + (begin - extent_.address), static_cast<std::uint64_t>(end - begin), counts);
  if (counts && written.ok()) {
    counts->bytes += written.value().value_or(0);
    if (!written.value()) counts->bytes_known = false;
  }
  // Bytes whose file can't be found afterwards are better than none.
  const Status name = sync_name();
  Status first = written.status();
  if (own_) first.note(file_->check_there(extent_.offset + extent_.length, name_matters_));
  first.note(name);
  return first;
}

Status StoredSegment::sync_name() {
  if (name_durable_.load()) return {};
  Status status = file_->sync_folder();
  if (status.ok()) name_durable_.store(true);
  return status;
}

}  // namespace sill::window
