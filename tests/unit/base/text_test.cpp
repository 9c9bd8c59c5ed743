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

}  // namespace
}  // namespace sill
