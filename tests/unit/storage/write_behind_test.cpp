#include "storage/write_behind.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sill::storage {
namespace {

constexpr std::uint64_t chunk = 1000;
constexpr double second = 1;

// A mapping of eight chunks, of which the program dirties some.
class WriteBehindTest : public testing::Test {
 protected:
  void fill(std::size_t begin, std::size_t end) {
    for (std::size_t index = begin; index < end; ++index) chunks_[index].dirty = chunk;
  }
  // How many chunks are written out, by which they become clean.
  std::size_t look(double seconds = second) {
    std::size_t count = 0;
    for (const auto& run : behind_.look(chunks_, seconds))
      for (std::size_t index = run.begin; index < run.end; ++index, ++count) {
        EXPECT_GT(chunks_[index].dirty, 0u) << index;
        chunks_[index].dirty = 0;
      }
    return count;
  }
  void sync() {
    for (auto& one : chunks_) one.dirty = 0;
    behind_.synced();
  }
  // A program that fills everything twice between two syncs.
  std::size_t fill_twice() {
    std::size_t written = 0;
    for (int time = 0; time < 2; ++time) {
      fill(0, 8);
      written += look() + look();
    }
    sync();
    return written;
  }

  std::vector<WriteBehind::Chunk> chunks_ = std::vector<WriteBehind::Chunk>(8, {chunk, 0});
  WriteBehind behind_{8};
};

TEST_F(WriteBehindTest, WritesWhatWasFullInTheSampleBefore) {
  fill(2, 3);
  EXPECT_EQ(look(), 0u);
  EXPECT_EQ(look(), 1u);
  EXPECT_EQ(look(), 0u);
}

TEST_F(WriteBehindTest, WritesWhatTheProgramHasGoneOnFrom) {
  fill(0, 3);
  EXPECT_EQ(look(), 2u);
  chunks_[3].dirty = 1;
  EXPECT_EQ(look(), 1u);
}

TEST_F(WriteBehindTest, JoinsNeighborsIntoRuns) {
  fill(0, 2);
  fill(4, 7);
  chunks_[2].dirty = 1;
  const auto runs = behind_.look(chunks_, second);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].begin, 0u);
  EXPECT_EQ(runs[0].end, 2u);
  EXPECT_EQ(runs[1].begin, 4u);
  EXPECT_EQ(runs[1].end, 6u);
}

TEST_F(WriteBehindTest, LeavesHalfFullChunks) {
  chunks_[2].dirty = chunk / 2;
  EXPECT_EQ(look() + look() + look(), 0u);
}

TEST_F(WriteBehindTest, WritesEachChunkOnceBetweenTwoSyncs) { EXPECT_EQ(fill_twice(), 8u); }

TEST_F(WriteBehindTest, LeavesProgramsAloneThatWriteAgain) {
  EXPECT_EQ(fill_twice(), 8u);
  std::size_t written = 0;
  for (int turn = 0; turn < 256; ++turn) written += fill_twice();
  EXPECT_GT(written, 0u) << "now and then it tries again";
  EXPECT_LT(written, 256u * 8 / 10);
}

TEST_F(WriteBehindTest, GoesOnWithProgramsThatWriteOnce) {
  for (int turn = 0; turn < 10; ++turn) {
    fill(0, 8);
    EXPECT_EQ(look() + look(), 8u) << turn;
    sync();
  }
}

TEST_F(WriteBehindTest, TakesNoTouchForAFilling) {
  constexpr double moment = 1e-9;  // no core stores 8 kB in it
  fill(0, 8);
  EXPECT_EQ(look(moment), 0u);
  EXPECT_EQ(look(), 0u);
  sync();
  fill(0, 8);
  EXPECT_EQ(look() + look(), 8u) << "the next interval is a new one";
}

}  // namespace
}  // namespace sill::storage
