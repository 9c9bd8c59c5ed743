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

TEST(Number, IsAllOfTheText) {
  int number = 0;
  EXPECT_TRUE(read_number("-12", number));
  EXPECT_EQ(number, -12);
  for (const char* text : {"", " 1", "1 ", "1x", "99999999999"}) EXPECT_FALSE(read_number(text, number)) << text;
  double share = 0;
  EXPECT_TRUE(read_number("0.25", share));
  EXPECT_EQ(text_of(share), "0.25");
}

TEST(Hex, HasSoManyDigits) {
  EXPECT_EQ(hex(0xAB, 2), "ab");
  EXPECT_EQ(hex(0xAB, 8), "000000ab");
  EXPECT_EQ(hex(UINT64_MAX, 16), std::string(16, 'f'));
  EXPECT_EQ(hex(0, 0), "");
}

}  // namespace
}  // namespace sill
