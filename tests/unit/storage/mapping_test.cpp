#include "storage/mapping.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "storage/page_cache.hpp"
#include "unit/support/advice.hpp"
#include "unit/support/files.hpp"
#include "unit/support/folder.hpp"
#include "unit/support/mounts.hpp"

namespace sill::storage {
namespace {

using test::Folder;
using test::open_file;
using test::open_reserved;
using test::read_text;

constexpr std::uint64_t mib = 1u << 20;

// Address space with `file` mapped over it from `offset` on.
Region map(const File& file, std::uint64_t offset, std::size_t length, unsigned access_style = access_none) {
  auto region = Region::reserve(round_up(length, page_size()));
  EXPECT_TRUE(region.ok()) << region.status().message();
  const Status status = map_over(region.value().data(), length, file, offset, {access_style});
  EXPECT_TRUE(status.ok()) << status.message();
  return std::move(region).value();
}

std::uint64_t dirty_bytes(const File& file) {
  const auto use = cache_use(file, 0, file.size_at_open() + (1ull << 40));
  return use ? use->dirty : UINT64_MAX;
}

TEST(Rounding, GoesToMultiples) {
  EXPECT_EQ(round_up(0, 4096), 0u);
  EXPECT_EQ(round_up(1, 4096), 4096u);
  EXPECT_EQ(round_up(4096, 4096), 4096u);
  EXPECT_EQ(round_down(4095, 4096), 0u);
  EXPECT_EQ(round_down(8191, 4096), 4096u);
}

TEST(Region, IsZeroedMemoryOfItsOwn) {
  auto region = Region::reserve(3 * page_size());
  ASSERT_TRUE(region.ok());
  std::byte* const data = region.value().data();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % page_size(), 0u);
  EXPECT_EQ(data[3 * page_size() - 1], std::byte{0});
  data[0] = std::byte{1};
  const Region moved = std::move(region).value();
  EXPECT_EQ(moved.data(), data);
  EXPECT_EQ(moved.data()[0], std::byte{1});
}

TEST(Region, MayBeEmptyAndRefusesTheImpossible) {
  const auto empty = Region::reserve(0);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty.value().data(), nullptr);
  EXPECT_EQ(Region::reserve(std::size_t{1} << 62).status().cause(), Cause::no_memory);
}

TEST(Region, OccupiesOnlyWhatIsFree) {
  std::byte* place = nullptr;
  {
    auto first = Region::reserve(4 * page_size());
    ASSERT_TRUE(first.ok());
    place = first.value().data();
    EXPECT_FALSE(Region::occupy(place + page_size(), page_size()).ok());
    EXPECT_EQ(place[page_size()], std::byte{0}) << "what was there is there still";
  }
  const auto there = Region::occupy(place, page_size());
  ASSERT_TRUE(there.ok()) << there.status().message();
  EXPECT_EQ(there.value().data(), place);
  EXPECT_EQ(mapping_end(place), place + page_size());
}

TEST(MappingEnd, IsThatOfTheOneAroundAnAddress) {
  const Folder folder;
  const File file = open_reserved(folder / "w", 0, 4 * page_size());
  const Region region = map(file, 0, 4 * page_size());  // of a file, so not joined with its neighbours
  EXPECT_EQ(mapping_end(region.data()), region.data() + 4 * page_size());
  EXPECT_EQ(mapping_end(region.data() + 3 * page_size() + 5), region.data() + 4 * page_size());
  EXPECT_EQ(mapping_end(nullptr), nullptr);
}

TEST(MapOver, StoresGoIntoTheFile) {
  const Folder folder;
  const std::size_t length = page_size() + 100;  // ends inside a page
  const File file = open_reserved(folder / "w", page_size(), length);
  const Region region = map(file, page_size(), length);
  std::memset(region.data(), 'x', length);
  EXPECT_EQ(read_text(folder / "w"), std::string(page_size(), '\0') + std::string(length, 'x'));
}

TEST(MapOver, ShowsWhatIsInTheFile) {
  const Folder folder;
  test::write_text(folder / "w", "bytes");
  const Region region = map(open_file(folder / "w"), 0, 5);
  EXPECT_EQ(std::memcmp(region.data(), "bytes", 5), 0) << "also after the file is closed";
}

TEST(MapOver, TwoViewsOfAFileAreOneMemory) {
  const Folder folder;
  const File file = open_reserved(folder / "w", 0, page_size());
  const Region first = map(file, 0, page_size());
  const Region second = map(open_file(folder / "w"), 0, page_size());
  first.data()[17] = std::byte{42};
  EXPECT_EQ(second.data()[17], std::byte{42});
}

TEST(MapOver, TakesEveryAccessStyle) {
  const Folder folder;
  const File file = open_reserved(folder / "w", 0, page_size());
  for (unsigned styles = 0; styles < 1u << 7; ++styles) {
    const Region region = map(file, 0, page_size(), styles);
    EXPECT_EQ(region.data()[0], std::byte{0});
  }
}

TEST(MapOver, SaysWhichFileCouldNotBeMapped) {
  const Folder folder;
  const File file = open_reserved(folder / "w", 0, page_size());
  const auto region = Region::reserve(page_size());
  ASSERT_TRUE(region.ok());
  const Status status = map_over(region.value().data(), page_size(), file, 1, {});
  EXPECT_FALSE(status.ok()) << "an offset inside a page";
  EXPECT_NE(status.message().find(folder / "w"), std::string::npos) << status.message();
}

TEST(UnmapOver, PutsMemoryInThePlaceOfTheFile) {
  const Folder folder;
  const File file = open_reserved(folder / "w", 0, 2 * page_size());
  const Region region = map(file, 0, 2 * page_size());
  std::memset(region.data(), 'x', 2 * page_size());
  ASSERT_TRUE(unmap_over(region.data(), page_size()).ok());
  EXPECT_EQ(region.data()[0], std::byte{0});
  EXPECT_EQ(region.data()[page_size()], std::byte{'x'});
  region.data()[0] = std::byte{'y'};
  EXPECT_EQ(read_text(folder / "w"), std::string(2 * page_size(), 'x'));
}

TEST(SyncMapping, LeavesNothingDirty) {
  const Folder folder;
  const File file = open_reserved(folder / "w", 0, mib);
  const Region region = map(file, 0, mib);
  std::memset(region.data(), 'x', mib);
  if (dirty_bytes(file) == UINT64_MAX) GTEST_SKIP() << "needs cachestat (Linux 6.5)";
  if (dirty_bytes(file) == 0) GTEST_SKIP() << "needs a temporary folder on a disk, to have something dirty";
  const Status status = sync_mapping(region.data(), mib, file.path());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(dirty_bytes(file), 0u);
}

TEST(SyncMapping, TakesAnyRangeInsideTheMapping) {
  const Folder folder;
  const File file = open_reserved(folder / "w", 0, 4 * page_size());
  const Region region = map(file, 0, 4 * page_size());
  EXPECT_TRUE(sync_mapping(region.data() + 100, page_size(), file.path()).ok());
  EXPECT_TRUE(sync_mapping(region.data() + 4 * page_size() - 1, 1, file.path()).ok());
  EXPECT_TRUE(sync_mapping(region.data(), 0, file.path()).ok());
}

// One dirty byte in a large folio dirties it whole; access_style=random keeps folios small.
TEST(SyncMapping, RandomStyleDirtiesPagesNotMore) {
  const Folder folder;
  constexpr std::size_t length = 64 * mib;
  const File file = open_reserved(folder / "w", 0, length);
  const Region region = map(file, 0, length, access_random);
  const std::size_t pages = length / page_size();
  for (std::size_t page = 0; page < pages; ++page) region.data()[page * page_size()] = std::byte{1};
  ASSERT_TRUE(sync_mapping(region.data(), length, file.path()).ok());
  std::mt19937 random(1);
  const std::size_t touched = pages / 100;
  for (std::size_t i = 0; i < touched; ++i) region.data()[random() % pages * page_size()] = std::byte{2};
  const std::uint64_t dirty = dirty_bytes(file);
  if (dirty == UINT64_MAX) GTEST_SKIP() << "needs cachestat (Linux 6.5)";
  if (dirty == 0) GTEST_SKIP() << "needs a temporary folder on a disk, to have something dirty";
  EXPECT_LE(dirty, touched * page_size() * 12 / 10);
}

// The device's image lies on a tmpfs that is too small for what the file system promised: writing back must fail.
TEST(SyncMapping, ADeviceThatFailsIsAnError) {
  if (const auto reason = test::why_no_loop_devices(); !reason.empty()) GTEST_SKIP() << reason;
  const test::Mounted small(8 * mib);
  const test::LoopDevice device(small.path(), 64 * mib);
  const test::Mounted mounted(device, "ext2");
  constexpr std::size_t length = 16 * mib;
  const File file = open_reserved(mounted / "w", 0, length, Reserve::sparse);
  const Region region = map(file, 0, length);
  std::memset(region.data(), 'x', length);
  const Status status = sync_mapping(region.data(), length, file.path());
  EXPECT_TRUE(status.cause() == Cause::io || status.cause() == Cause::no_space) << status.message();
  EXPECT_NE(status.message().find(mounted / "w"), std::string::npos) << status.message();
}

TEST(SyncMapping, WorksOnADevice) {
  if (const auto reason = test::why_no_loop_devices(); !reason.empty()) GTEST_SKIP() << reason;
  const Folder folder;
  const test::LoopDevice device(folder.path(), mib);
  {
    const File file = open_file(device.path());
    const Region region = map(file, 4 * page_size(), page_size());
    std::memcpy(region.data(), "on the device", 13);
    ASSERT_TRUE(sync_mapping(region.data(), page_size(), file.path()).ok());
  }
  EXPECT_EQ(read_text(folder / "device.image").substr(4 * page_size(), 13), "on the device");
}

TEST(Mapping, PrivatePagesKeepTheirStoresFromTheFile) {
  const Folder folder;
  const File file = open_reserved(folder / "w", 0, 2 * page_size());
  const Region shared = map(file, 0, 2 * page_size());
  shared.data()[5] = std::byte{1};
  const Region shielded = map(file, 0, 2 * page_size());
  ASSERT_TRUE(map_private(shielded.data(), 2 * page_size(), file, 0).ok());
  EXPECT_EQ(shielded.data()[5], std::byte{1});
  shielded.data()[5] = std::byte{7};
  EXPECT_EQ(shared.data()[5], std::byte{1});
  ASSERT_TRUE(map_over(shielded.data(), 2 * page_size(), file, 0, {}).ok());
  EXPECT_EQ(shielded.data()[5], std::byte{1}) << "the private store is gone";
}

TEST(Mapping, AnonymousMemoryIsSharedThroughItsPath) {
  auto memory = File::anonymous();
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  Claim claim(std::move(memory).value());
  const File& file = *claim.file();
  ASSERT_TRUE(claim.reserve({0, page_size()}, Reserve::sparse).ok());
  const auto peer = File::open_peer(file.path(), file.identity());
  ASSERT_TRUE(peer.ok()) << peer.status().message();
  const Region mine = map(file, 0, page_size());
  const Region theirs = map(peer.value(), 0, page_size());
  mine.data()[9] = std::byte{3};
  EXPECT_EQ(theirs.data()[9], std::byte{3});
  EXPECT_TRUE(claim.lock({0, page_size()}).ok());
  EXPECT_TRUE(file.sync_folder().ok());
  EXPECT_TRUE(file.remove().ok());
}

TEST(Mapping, LargePagesFitLongMappingsThatAreCongruent) {
  auto* const address = reinterpret_cast<std::byte*>(6 * large_page);
  EXPECT_TRUE(takes_large_pages(address, long_mapping, 0));
  EXPECT_TRUE(takes_large_pages(address + page_size(), long_mapping, 4 * large_page + page_size()));
  EXPECT_FALSE(takes_large_pages(address, long_mapping - 1, 0));
  EXPECT_FALSE(takes_large_pages(address + page_size(), long_mapping, 0));
}

TEST(Mapping, LargePagesAreAskedForUnlessTheAccessIsRandom) {
  const Folder folder;
  const File file = open_reserved(folder / "w", 0, page_size());
  const Region region = map(file, 0, page_size());
  ASSERT_TRUE(advise(region.data(), page_size(), {access_none, true}).ok());
  if (!test::has_flag(region.data(), page_size(), "hg")) GTEST_SKIP() << "a kernel without large pages";
  ASSERT_TRUE(advise(region.data(), page_size(), {access_random, true}).ok());
  EXPECT_FALSE(test::has_flag(region.data(), page_size(), "hg"));
  EXPECT_TRUE(test::has_flag(region.data(), page_size(), "rr"));
}

TEST(Mapping, WhatIsCleanGoesOutOfMemory) {
  const Folder folder;
  const File file = open_reserved(folder / "w", 0, 4 * page_size());
  const Region region = map(file, 0, 4 * page_size());
  region.data()[0] = std::byte{1};
  if (dirty_bytes(file) == UINT64_MAX) GTEST_SKIP() << "the kernel doesn't tell what is in memory (cachestat)";
  ASSERT_TRUE(sync_mapping(region.data(), 4 * page_size(), file.path()).ok());
  EXPECT_GT(cache_use(file, 0, 4 * page_size())->resident, 0u);
  forget_clean(region.data(), 4 * page_size(), file, 0);
  EXPECT_EQ(cache_use(file, 0, 4 * page_size())->resident, 0u);
  EXPECT_EQ(region.data()[0], std::byte{1}) << "and comes back";
}

TEST(Mapping, LargePagesAreBrokenUpWhereTheyAre) {
  const Folder folder;
  const File file = open_reserved(folder / "w", 0, long_mapping);
  auto region = Region::reserve(long_mapping, large_page);
  ASSERT_TRUE(region.ok());
  std::byte* const begin = region.value().data();
  ASSERT_TRUE(map_over(begin, long_mapping, file, 0, {access_none, true}).ok());
  std::memset(begin, 1, long_mapping);
  const auto dirty_after_a_byte = [&] {
    EXPECT_TRUE(sync_mapping(begin, long_mapping, file.path()).ok());
    begin[0] = std::byte{2};
    return dirty_bytes(file);
  };
  if (const auto dirty = dirty_after_a_byte(); dirty <= page_size() || dirty == UINT64_MAX)
    GTEST_SKIP() << "a file system without large pages, or a kernel that doesn't tell what is dirty (cachestat)";
  EXPECT_TRUE(sync_mapping(begin, long_mapping, file.path()).ok());
  break_large_pages(begin, long_mapping);
  EXPECT_EQ(cache_use(file, 0, long_mapping)->resident, long_mapping);
  EXPECT_EQ(dirty_after_a_byte(), page_size());
}

}  // namespace
}  // namespace sill::storage
