#include "storage/access_pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace sill::storage {
namespace {

constexpr std::size_t chunks = 128;
constexpr std::uint64_t chunk_pages = 512;

// A mapping of which a part is in memory, page by page; what was read first goes first.
class Memory {
 public:
  explicit Memory(std::uint64_t read_ahead) : read_ahead_(read_ahead), pattern_(chunks, chunk_pages, read_ahead) {}

  // One fault: what the kernel brings in with the advice of the moment.
  void touch(std::uint64_t page) {
    if (in_memory_[page]) return;
    const bool alone = pattern_.advice() == Advice::random;
    const std::uint64_t begin = alone ? page : page / read_ahead_ * read_ahead_;
    for (std::uint64_t at = begin; at < begin + (alone ? 1 : read_ahead_); ++at) bring(at);
  }

  Advice look() { return pattern_.look(resident_); }

 private:
  void bring(std::uint64_t page) {
    if (in_memory_[page]) return;
    in_memory_[page] = true;
    ++resident_[page / chunk_pages];
    order_.push_back(page);
    if (order_.size() - gone_ <= in_memory_.size() / 2) return;
    const std::uint64_t oldest = order_[gone_++];
    in_memory_[oldest] = false;
    --resident_[oldest / chunk_pages];
  }

  std::uint64_t read_ahead_;
  AccessPattern pattern_;
  std::vector<bool> in_memory_ = std::vector<bool>(chunks * chunk_pages);
  std::vector<std::uint64_t> resident_ = std::vector<std::uint64_t>(chunks);  // pages in memory, by chunk
  std::vector<std::uint64_t> order_;
  std::size_t gone_ = 0;
};

// Kernels read ahead 128 KiB to 8 MiB.
class AccessPatternTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  // Samples until the advice is `wanted`, with so many single accesses between two of them; 1000 if it never is.
  int samples_of_random(Advice wanted, int accesses) {
    for (int sample = 1; sample < 1000; ++sample) {
      for (int i = 0; i < accesses; ++i) memory_.touch(draw_(random_));
      if (memory_.look() == wanted) return sample;
    }
    return 1000;
  }

  // The same with `pages` in a row.
  int samples_of_stream(Advice wanted, int pages) {
    for (int sample = 1; sample < 1000; ++sample) {
      for (int i = 0; i < pages; ++i) memory_.touch(at_++ % (chunks * chunk_pages));
      if (memory_.look() == wanted) return sample;
    }
    return 1000;
  }

  Memory memory_{GetParam()};
  std::mt19937 random_{7};
  std::uniform_int_distribution<std::uint64_t> draw_{0, chunks* chunk_pages - 1};
  std::uint64_t at_ = 0;
};

TEST_P(AccessPatternTest, FindsSingleAccesses) {
  EXPECT_LE(samples_of_random(Advice::random, 2), 10);
  EXPECT_EQ(samples_of_random(Advice::normal, 100), 1000) << "and stays with it";
}

TEST_P(AccessPatternTest, LeavesStreamsAlone) { EXPECT_EQ(samples_of_stream(Advice::random, 3000), 1000); }

TEST_P(AccessPatternTest, FindsAStreamAfterSingleAccesses) {
  ASSERT_LT(samples_of_random(Advice::random, 2), 1000);
  EXPECT_LE(samples_of_stream(Advice::normal, 300), 10);
}

TEST_P(AccessPatternTest, TakesSegmentsInRandomOrderForStreams) {
  constexpr std::uint64_t segment = 8 * chunk_pages;
  for (int sample = 0; sample < 100; ++sample) {
    const std::uint64_t begin = draw_(random_) / segment * segment;
    for (std::uint64_t page = begin; page < begin + segment; ++page) memory_.touch(page);
    ASSERT_EQ(memory_.look(), Advice::normal) << sample;
  }
}

INSTANTIATE_TEST_SUITE_P(ReadAhead, AccessPatternTest, testing::Values(32, 256, 2048));

TEST(AccessPattern, FollowsOthersUntilItHasStreamed) {
  AccessPattern pattern(chunks, chunk_pages, 32);
  pattern.follow_random();
  EXPECT_EQ(pattern.advice(), Advice::random);
  std::vector<std::uint64_t> resident(chunks);
  for (std::size_t chunk = 0; chunk < chunks && pattern.advice() == Advice::random; ++chunk) {
    resident[chunk] = chunk_pages;
    pattern.look(resident);
  }
  EXPECT_EQ(pattern.advice(), Advice::normal);
  pattern.follow_random();
  EXPECT_EQ(pattern.advice(), Advice::normal);
}

}  // namespace
}  // namespace sill::storage
