#include "base/versioned.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace {

using sill::hand_out;

// A structure as it began, and what became of it.
struct Former {
  std::size_t size;
  std::uint64_t one;
};
struct Later {
  std::size_t size;
  std::uint64_t one;
  std::uint64_t two;
};

TEST(Versioned, EqualSizesAreCopiedWhole) {
  const Later own = {sizeof own, 1, 2};
  Later caller = {sizeof caller, 8, 9};
  ASSERT_TRUE(hand_out("later", sizeof(Former), &own, &caller).ok());
  EXPECT_EQ(caller.size, sizeof caller);
  EXPECT_EQ(caller.one, 1U);
  EXPECT_EQ(caller.two, 2U);
}

TEST(Versioned, AFormerCallerIsNotWrittenBehind) {
  const Later own = {sizeof own, 1, 2};
  Later caller = {sizeof(Former), 8, 9};
  ASSERT_TRUE(hand_out("later", sizeof(Former), &own, &caller).ok());
  EXPECT_EQ(caller.size, sizeof(Former));
  EXPECT_EQ(caller.one, 1U);
  EXPECT_EQ(caller.two, 9U);
}

TEST(Versioned, ALaterCallerLearnsHowMuchThereIs) {
  const Former own = {sizeof own, 1};
  Later caller = {sizeof caller, 8, 9};
  ASSERT_TRUE(hand_out("later", sizeof(Former), &own, &caller).ok());
  EXPECT_EQ(caller.size, sizeof(Former));
  EXPECT_EQ(caller.one, 1U);
  EXPECT_EQ(caller.two, 9U);
}

TEST(Versioned, ASizeThatNobodySetIsRefused) {
  const Former own = {sizeof own, 1};
  for (const std::size_t size : {std::size_t{0}, sizeof(Former) - 1, std::size_t{1} << 20, SIZE_MAX}) {
    Former caller = {size, 8};
    const sill::Status status = hand_out("former", sizeof(Former), &own, &caller);
    EXPECT_EQ(status.cause(), sill::Cause::bad_argument);
    EXPECT_NE(status.message().find("set size to sizeof(former)"), std::string::npos) << status.message();
    EXPECT_EQ(caller.size, size);
    EXPECT_EQ(caller.one, 8U);
  }
}

}  // namespace
