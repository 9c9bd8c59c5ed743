#include "base/coarray_record.hpp"

#include <gtest/gtest.h>

namespace sill {
namespace {

const CoarrayRecord sample{"a \"program\"", "12ab", "m::x\\\n", "2.1", 4096, 3, 4, CoarrayRecord::State::kept};

std::string sidecar_of(const CoarrayRecord& record) {
  return R"({"sill": 1, "job": "7", "segments": [], "coarray": )" + to_json(record) + "}\n";
}

TEST(CoarrayRecord, IsReadAsItWasWritten) {
  const auto found = find_coarray_record(sidecar_of(sample));
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found.value().program, sample.program);
  EXPECT_EQ(found.value().build, sample.build);
  EXPECT_EQ(found.value().name, sample.name);
  EXPECT_EQ(found.value().team, sample.team);
  EXPECT_EQ(found.value().size, sample.size);
  EXPECT_EQ(found.value().image, sample.image);
  EXPECT_EQ(found.value().images, sample.images);
  EXPECT_EQ(found.value().state, sample.state);
}

TEST(CoarrayRecord, IsReplacedInItsPlace) {
  CoarrayRecord other = sample;
  other.state = CoarrayRecord::State::freed;
  other.name = "longer than before";
  const auto text = replace_coarray_record(sidecar_of(sample), other);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text.value(), sidecar_of(other));
}

TEST(CoarrayRecord, WhatIsNoneIsRefused) {
  const std::string good = sidecar_of(sample);
  for (const std::string& bad :
       {std::string(), std::string("{\"sill\": 1}"), std::string("\"coarray\": 7"), std::string("\"coarray\": {}"),
        good.substr(0, good.size() - 4), std::string("\"coarray\": {\"state\": \"other\", \"images\": 1}"),
        std::string("\"coarray\": {\"size\": -1, \"images\": 1}"), std::string("\"coarray\": {\"images\": 0}"),
        std::string("\"coarray\": {\"name\": \"\\u00zz\", \"images\": 1}"),
        std::string("\"coarray\": {\"size\": 99999999999999999999999, \"images\": 1}")}) {
    EXPECT_EQ(find_coarray_record(bad).status().cause(), Cause::bad_file) << bad;
    EXPECT_EQ(replace_coarray_record(bad, sample).status().cause(), Cause::bad_file) << bad;
  }
}

}  // namespace
}  // namespace sill
