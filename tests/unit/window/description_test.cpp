#include "window/description.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/filename.hpp"

namespace sill::window {
namespace {

Placement placed(int leader, std::uint64_t offset, std::uint64_t length) {
  Placement placement;
  placement.leader = leader;
  placement.file_offset = offset;
  placement.storage_length = length;
  return placement;
}

TEST(Description, TellsWhatTheRanksOfAStoreHaveInIt) {
  const std::vector<Placement> placements = {placed(0, 0, 4096), placed(1, 7, 8), placed(0, 4096, 100)};
  const std::vector<int> world_ranks = {2, 3, 5};
  const NameFields fields{.rank = 2, .host = "", .window = "w0", .job = "a\"b\\c\nd\x01"};
  storage::Record record(0600);
  put_description(record, fields, true, 0, placements, world_ranks);
  EXPECT_EQ(*record.section("window"),
            R"({"job":"a\"b\\c\nd\u0001","created":")" + record.utc() +
                R"(","window":"w0","unlink":true,"segments":[{"rank":2,"offset":0,"size":4096},)" +
                R"({"rank":5,"offset":4096,"size":100}]})");
  put_description(record, {.rank = 0, .host = "", .window = "0", .job = "\xff"}, false, 3, placements, world_ranks);
  EXPECT_NE(record.section("window")->find(R"("segments":[])"), std::string::npos) << *record.section("window");
}

}  // namespace
}  // namespace sill::window
