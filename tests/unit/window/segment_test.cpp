#include "window/segment.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "unit/support/folder.hpp"
#include "unit/support/sources.hpp"

namespace sill::window {
namespace {

// Sanitizers see what a sync uses that is no more.
TEST(SegmentTest, ASyncGoesOnWhileAnotherThreadChangesHowTheSegmentIsWatched) {
  constexpr std::size_t length = storage::long_mapping;
  const test::Folder folder;
  const auto region = storage::Region::reserve(length);
  ASSERT_TRUE(region.ok());
  StoredSegment segment(test::open_reserved(folder / "w", 0, length, Reserve::sparse),
                        {.address = region.value().data(), .length = length});
  WindowHints hints;
  hints.access_style = access_write_mostly;
  ASSERT_TRUE(segment.attach(hints, true, "w").ok());
  segment.watch(hints, length, true);
  bool synced = segment.sync(nullptr).ok();  // the first one takes long
  std::atomic<bool> done = false;
  bool changed = true;
  std::thread changes([&] {
    while (!done) {
      changed = segment.advise(hints).ok() && changed;
      segment.watch(hints, length, true);
    }
  });
  for (int turn = 0; turn < 5000; ++turn) synced = segment.sync(nullptr).ok() && synced;
  done = true;
  changes.join();
  EXPECT_TRUE(changed);
  EXPECT_TRUE(synced);
  segment.unwatch();
}

}  // namespace
}  // namespace sill::window
