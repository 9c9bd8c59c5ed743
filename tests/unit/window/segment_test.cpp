#include "window/segment.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "storage/mapping.hpp"
#include "unit/support/files.hpp"
#include "unit/support/folder.hpp"

namespace sill::window {
namespace {

namespace fs = std::filesystem;
using test::Folder;
using test::open_reserved;
using test::read_text;

constexpr std::size_t length = 10'000;

std::shared_ptr<storage::File> shared(storage::File file) { return std::make_shared<storage::File>(std::move(file)); }

// Sanitizers see what a sync uses that is no more.
TEST(SegmentTest, ASyncGoesOnWhileAnotherThreadChangesHowTheSegmentIsWatched) {
  constexpr std::size_t many = storage::long_mapping;
  const test::Folder folder;
  const auto region = storage::Region::reserve(many);
  ASSERT_TRUE(region.ok());
  StoredSegment segment(shared(open_reserved(folder / "w", 0, many, Reserve::sparse)), EngineKind::mapped,
                        {.address = region.value().data(), .length = many});
  WindowHints hints;
  hints.access_style = access_write_mostly;
  ASSERT_TRUE(segment.attach(hints, true, "w").ok());
  segment.engine().watch(hints, many, true);
  bool synced = segment.sync(nullptr).ok();  // the first one takes long
  std::atomic<bool> done = false;
  bool changed = true;
  std::thread changes([&] {
    while (!done) {
      changed = segment.engine().advise(hints).ok() && changed;
      segment.engine().watch(hints, many, true);
    }
  });
  for (int turn = 0; turn < 5000; ++turn) synced = segment.sync(nullptr).ok() && synced;
  done = true;
  changes.join();
  EXPECT_TRUE(changed);
  EXPECT_TRUE(synced);
  segment.engine().unwatch();
}

TEST(Segment, BytesAreWrittenEvenIfTheirFileCanNotBeFound) {
  const Folder folder;
  fs::create_directory(folder / "sub");
  storage::File file = open_reserved(folder / "sub/w", 0, length);
  fs::create_hard_link(folder / "sub/w", folder / "another name");
  std::vector<std::byte> memory(length);
  StoredSegment segment(shared(std::move(file)), EngineKind::staged, {memory.data(), length, 0});
  ASSERT_TRUE(segment.attach({}, true, "0").ok());
  std::memset(memory.data(), 'x', length);
  fs::remove_all(folder / "sub");
  const Status status = segment.sync(nullptr);
  EXPECT_EQ(status.cause(), Cause::no_such_file);
  EXPECT_NE(status.message().find(folder / "sub/w"), std::string::npos) << status.message();
  EXPECT_EQ(read_text(folder / "another name"), std::string(length, 'x'));
}

TEST(Segment, OfANeighbourKeepsNoDescriptor) {
  const Folder folder;
  auto region = storage::Region::reserve(length);
  ASSERT_TRUE(region.ok());
  std::byte* const mapped = region.value().data();
  StoredSegment neighbours(shared(open_reserved(folder / "w", 0, length)), EngineKind::mapped, {mapped, length, 0});
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(neighbours.attach({}, false, "0").ok());
    EXPECT_LT(neighbours.file().fd(), 0);
    std::memset(mapped, 'a' + round, length);
    EXPECT_TRUE(neighbours.sync(nullptr).ok());
    EXPECT_EQ(read_text(folder / "w"), std::string(length, static_cast<char>('a' + round)));
    ASSERT_TRUE(neighbours.engine().detach().ok());
  }
  std::vector<std::byte> copy(length, std::byte{'s'});
  StoredSegment staged(shared(open_reserved(folder / "w", 0, length)), EngineKind::staged, {copy.data(), length, 0});
  ASSERT_TRUE(staged.attach({}, false, "0").ok());
  EXPECT_LT(staged.file().fd(), 0);
  EXPECT_TRUE(staged.sync(nullptr).ok());
  EXPECT_EQ(read_text(folder / "w"), std::string(length, 's'));
}

}  // namespace
}  // namespace sill::window
