#include "base/coarray_record.hpp"

#include <gtest/gtest.h>

namespace sill {
namespace {

const CoarrayRecord sample{"a \"program\"", "12ab", "m::x\\\n", "2.1", 4096, 3, 4, CoarrayRecord::State::kept};

std::string sidecar_of(const CoarrayRecord& record) {
  return R"({"sill": 1, "job": "7", "segments": [], "coarray": )" + to_json(record) + "}\n";
}

TEST(CoarrayRecord, IsReadAsItWasWritten) {
  const auto found = find_coarray_records(sidecar_of(sample));
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(found.value().size(), 1u);
  const CoarrayRecord& record = found.value().front();
  EXPECT_EQ(record.program, sample.program);
  EXPECT_EQ(record.build, sample.build);
  EXPECT_EQ(record.name, sample.name);
  EXPECT_EQ(record.team, sample.team);
  EXPECT_EQ(record.size, sample.size);
  EXPECT_EQ(record.image, sample.image);
  EXPECT_EQ(record.images, sample.images);
  EXPECT_EQ(record.state, sample.state);
  EXPECT_FALSE(record.offset);
}

TEST(CoarrayRecord, IsReplacedInItsPlace) {
  CoarrayRecord other = sample;
  other.state = CoarrayRecord::State::freed;
  other.name = "longer than before";
  const auto text = replace_coarray_records(sidecar_of(sample), {other});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text.value(), sidecar_of(other));
}

CoarrayRecord at(const std::string& name, std::uint64_t offset, std::uint64_t size) {
  CoarrayRecord record = sample;
  record.name = name;
  record.offset = offset;
  record.size = size;
  return record;
}

std::string list_of(const std::string& records) {
  return R"({"sill": 1, "job": "7", "segments": [], "coarrays": [)" + records + "]}\n";
}

TEST(CoarrayRecord, AListIsReadAndReplaced) {
  const CoarrayRecord a = at("m::a", 0, 10);
  const CoarrayRecord b = at("b", 8192, 20);
  const std::string none = list_of("");
  const std::string two = list_of(to_json(a) + ", " + to_json(b));
  EXPECT_TRUE(find_coarray_records(none).value().empty());
  const auto found = find_coarray_records(two);
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(found.value().size(), 2u);
  EXPECT_EQ(found.value()[1].name, "b");
  EXPECT_EQ(found.value()[1].offset, 8192u);
  EXPECT_EQ(replace_coarray_records(none, {a, b}).value(), two);
  EXPECT_EQ(replace_coarray_records(two, {}).value(), none);
  EXPECT_FALSE(find_coarray_records(two.substr(0, two.size() - 4)).ok());
  EXPECT_FALSE(find_coarray_records(list_of(to_json(sample))).ok()) << "no offset";
  EXPECT_FALSE(find_coarray_records(sidecar_of(a)).ok()) << "an offset in a file of its own";
}

TEST(CoarrayRecord, ThePlaceOfANewOneMeetsNoOther) {
  const std::vector<CoarrayRecord> two = {at("b", 8192, 20), at("a", 0, 10)};
  EXPECT_EQ(free_offset({}, 100, 4096, 0), 0u);
  EXPECT_EQ(free_offset(two, 4096, 4096, 0), 4096u) << "between them";
  EXPECT_EQ(free_offset(two, 4097, 4096, 0), 12288u) << "behind them";
  EXPECT_EQ(free_offset(two, 1, 1 << 21, 0), 1u << 21);
  EXPECT_EQ(free_offset(two, 1, 4096, 4097), 12288u);
}

TEST(CoarrayRecord, WhatIsNoneIsRefused) {
  const std::string good = sidecar_of(sample);
  for (const std::string& bad :
       {std::string(), std::string("{\"sill\": 1}"), std::string("\"coarray\": 7"), std::string("\"coarray\": {}"),
        good.substr(0, good.size() - 4), std::string("\"coarray\": {\"state\": \"other\", \"images\": 1}"),
        std::string("\"coarray\": {\"size\": -1, \"images\": 1}"), std::string("\"coarray\": {\"images\": 0}"),
        std::string("\"coarray\": {\"name\": \"\\u00zz\", \"images\": 1}"),
        std::string("\"coarray\": {\"size\": 99999999999999999999999, \"images\": 1}")}) {
    EXPECT_EQ(find_coarray_records(bad).status().cause(), Cause::bad_file) << bad;
    EXPECT_EQ(replace_coarray_records(bad, {sample}).status().cause(), Cause::bad_file) << bad;
  }
}

}  // namespace
}  // namespace sill
