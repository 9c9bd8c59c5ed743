#include "base/machine.hpp"

#include <gtest/gtest.h>

namespace sill {
namespace {

TEST(Machine, HasANameAndANumber) {
  EXPECT_EQ(boot_id().size(), 36u);
  EXPECT_NE(machine_identity(), 0u);
}

}  // namespace
}  // namespace sill
