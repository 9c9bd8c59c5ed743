#include "base/text.hpp"

#include <gtest/gtest.h>

namespace sill {
namespace {

using Parts = std::vector<std::string_view>;

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("", ','), (Parts{""}));
  EXPECT_EQ(split("a", ','), (Parts{"a"}));
  EXPECT_EQ(split(",a,,b,", ','), (Parts{"", "a", "", "b", ""}));
}

TEST(Trim, TakesBlanksAndTabsFromBothEnds) {
  EXPECT_EQ(trim("\t a b \t"), "a b");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim("a\n"), "a\n");
}

TEST(JsonString, EscapesWhatJsonCanNotHold) {
  EXPECT_EQ(json_string(""), "\"\"");
  EXPECT_EQ(json_string("a\"b\\c\nd\x01"), "\"a\\\"b\\\\c\\u000ad\\u0001\"");
  EXPECT_EQ(json_string("\u00e9/"), "\"\u00e9/\"");
}

}  // namespace
}  // namespace sill
