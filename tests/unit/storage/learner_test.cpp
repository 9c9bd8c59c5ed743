#include "storage/learner.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "storage/mapping.hpp"
#include "unit/support/folder.hpp"
#include "unit/support/sources.hpp"

namespace sill::storage {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t bytes = std::size_t{1} << 30;

// Whether the kernel was told of random access for any part of [begin, begin + bytes): "rr" of /proc/self/smaps.
bool advised_random(const std::byte* begin) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0;
    char dash = 0;
    std::istringstream start(line);
    if (line.find('-') < line.find(' ') && start >> std::hex >> from >> dash)
      inside =
          from >= reinterpret_cast<std::uintptr_t>(begin) && from < reinterpret_cast<std::uintptr_t>(begin) + bytes;
    if (inside && line.starts_with("VmFlags:") && line.find(" rr") != line.npos) return true;
  }
  return false;
}

class LearnerTest : public testing::Test {
 protected:
  static void limit_memory(std::size_t most) {
    ASSERT_EQ(::setenv("SILL_MEMORY_LIMIT", std::to_string(most).c_str(), 1), 0);
  }
  void TearDown() override { ASSERT_EQ(::unsetenv("SILL_MEMORY_LIMIT"), 0); }

  // Touches single pages at random places until the kernel has been told, or the time is up.
  bool touch_until_advised(std::chrono::seconds limit) {
    std::mt19937_64 random(3);
    const auto end = std::chrono::steady_clock::now() + limit;
    volatile std::byte* pages = region_.data();
    for (unsigned turn = 1; std::chrono::steady_clock::now() < end; ++turn) {
      (void)pages[random() % bytes];
      if (turn % 8 == 0 && advised_random(region_.data())) return true;
      if (turn % 64 == 0) forget_pages();
    }
    return false;
  }

  // What little memory would do.
  void forget_pages() {
    ASSERT_EQ(::madvise(region_.data(), bytes, MADV_DONTNEED), 0);
    ASSERT_EQ(::posix_fadvise(source_.fd(), 0, 0, POSIX_FADV_DONTNEED), 0);
  }

  test::Folder folder_;
  Source source_ = test::open_reserved(folder_ / "large", 0, bytes);
  Region region_ = [&] {
    auto region = Region::reserve(bytes);
    if (!region.ok() || !map_over(region.value().data(), bytes, source_, 0, access_none).ok()) throw std::bad_alloc();
    return std::move(region).value();
  }();
};

TEST_F(LearnerTest, TellsTheKernelOfRandomAccess) {
  limit_memory(bytes / 4);
  const Learning learning(region_.data(), bytes, source_, 0, bytes);
  EXPECT_TRUE(touch_until_advised(30s));
}

TEST_F(LearnerTest, LeavesAloneWhatFitsIntoMemory) {
  limit_memory(4 * bytes);
  const Learning learning(region_.data(), bytes, source_, 0, bytes);
  EXPECT_FALSE(touch_until_advised(1s));
}

TEST_F(LearnerTest, EndsBeforeTheMappingDoes) {
  limit_memory(bytes / 4);
  for (int turn = 0; turn < 100; ++turn) {
    Learning learning(region_.data(), bytes, source_, 0, bytes);
    Learning moved = std::move(learning);
    region_.data()[static_cast<std::size_t>(turn) * page_size() * 999] = std::byte{1};
  }
}

}  // namespace
}  // namespace sill::storage
