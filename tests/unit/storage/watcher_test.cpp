#include "storage/watcher.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "storage/mapping.hpp"
#include "storage/page_cache.hpp"
#include "unit/support/advice.hpp"
#include "unit/support/files.hpp"
#include "unit/support/folder.hpp"

namespace sill::storage {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t bytes = std::size_t{1} << 30;

class WatcherTest : public testing::Test {
 protected:
  static void limit_memory(std::size_t most) {
    ASSERT_EQ(::setenv("SILL_MEMORY_LIMIT", std::to_string(most).c_str(), 1), 0);
  }
  void TearDown() override { ASSERT_EQ(::unsetenv("SILL_MEMORY_LIMIT"), 0); }

  // Touches single pages at random places until the kernel has been told, or the time is up.
  bool touch_until_advised(std::chrono::seconds limit, std::size_t length = bytes) {
    std::mt19937_64 random(3);
    const auto end = std::chrono::steady_clock::now() + limit;
    volatile std::byte* pages = region_.data();
    for (unsigned turn = 1; std::chrono::steady_clock::now() < end; ++turn) {
      (void)pages[random() % length];
      if (turn % 8 == 0 && test::has_flag(region_.data(), length, "rr")) return true;
      if (turn % 64 == 0) forget_pages();
    }
    return false;
  }

  // What little memory would do.
  void forget_pages() {
    ASSERT_EQ(::madvise(region_.data(), bytes, MADV_DONTNEED), 0);
    ASSERT_EQ(::posix_fadvise(file_.fd(), 0, 0, POSIX_FADV_DONTNEED), 0);
  }

  test::Folder folder_;
  File file_ = test::open_reserved(folder_ / "large", 0, bytes);
  Region region_ = [&] {
    auto region = Region::reserve(bytes);
    if (!region.ok() || !map_over(region.value().data(), bytes, file_, 0, {}).ok()) throw std::bad_alloc();
    return std::move(region).value();
  }();
};

TEST_F(WatcherTest, TellsTheKernelOfRandomAccess) {
  limit_memory(bytes / 4);
  const Watch watch(region_.data(), bytes, file_, 0, {.learn = true, .node_bytes = bytes});
  EXPECT_TRUE(touch_until_advised(30s));
}

TEST_F(WatcherTest, ShortMappingsLearnToo) {
  limit_memory(bytes / 4);
  constexpr std::size_t length = long_mapping - (4u << 20);
  const Watch watch(region_.data(), length, file_, 0, {.learn = true, .node_bytes = bytes});
  EXPECT_TRUE(touch_until_advised(30s, length));
}

TEST_F(WatcherTest, LeavesAloneWhatFitsIntoMemory) {
  limit_memory(4 * bytes);
  const Watch watch(region_.data(), bytes, file_, 0, {.learn = true, .node_bytes = bytes});
  EXPECT_FALSE(touch_until_advised(1s));
}

TEST_F(WatcherTest, WritesBehindWhatIsFilled) {
  const Watch watch(region_.data(), bytes, file_, 0, {.write_behind = true, .write_mostly = true});
  const auto dirty = [&] { return cache_use(file_, 0, bytes).value_or(CacheUse{}).dirty; };
  if (!cache_use(file_, 0, bytes)) GTEST_SKIP() << "the kernel doesn't tell what is dirty (cachestat)";
  constexpr std::size_t filled = bytes / 2;
  const auto end = std::chrono::steady_clock::now() + 30s;
  std::memset(region_.data(), 7, filled);
  // The watcher looks when pages fault: those behind what was filled are only read.
  for (std::size_t at = filled; dirty() > filled / 4 && std::chrono::steady_clock::now() < end; at += page_size()) {
    if (at >= bytes) at = filled;
    if (at == filled) forget_pages();
    (void)static_cast<volatile std::byte*>(region_.data())[at];
  }
  EXPECT_LE(dirty(), filled / 4);
}

TEST_F(WatcherTest, EndsBeforeTheMappingDoes) {
  limit_memory(bytes / 4);
  for (int turn = 0; turn < 100; ++turn) {
    Watch watch(region_.data(), bytes, file_, 0, {.learn = true, .write_behind = true, .node_bytes = bytes});
    Watch moved = std::move(watch);
    region_.data()[static_cast<std::size_t>(turn) * page_size() * 999] = std::byte{1};
  }
}

}  // namespace
}  // namespace sill::storage
