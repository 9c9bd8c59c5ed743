#include "base/filename.hpp"

#include <gtest/gtest.h>

#include <climits>

namespace sill {
namespace {

const NameFields some_fields = {.rank = 3, .host = "node07", .window = "m2", .job = "123.server"};

NameFields with_job(const std::string& job) {
  NameFields fields = some_fields;
  fields.job = job;
  return fields;
}

TEST(ExpandFilename, ReplacesEveryPlaceholder) {
  const auto path = expand_filename("/s/%j/%h/w%w.%r", some_fields);
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(path.value(), "/s/123.server/node07/wm2.3");
}

TEST(ExpandFilename, LeavesOtherTextAlone) {
  for (const char* name : {"", "/s/file", "a b", "r%%r", "%%%%"}) {
    const auto path = expand_filename(name, {});
    ASSERT_TRUE(path.ok()) << name;
    EXPECT_EQ(path.value().find("%%"), std::string(name) == "%%%%" ? 0u : std::string::npos) << name;
  }
  EXPECT_EQ(expand_filename("100%%r", some_fields).value(), "100%r");
}

TEST(ExpandFilename, DoesNotExpandWhatItInserted) { EXPECT_EQ(expand_filename("%j", with_job("%r")).value(), "%r"); }

TEST(EscapeFilename, ExpandsToWhatItWas) {
  for (const char* path : {"", "/s/file", "/s/100%", "%r%%w"})
    EXPECT_EQ(expand_filename(escape_filename(path), some_fields).value(), path);
}

TEST(ExpandFilename, TakesTheLargestRank) {
  NameFields largest;
  largest.rank = INT_MAX;
  EXPECT_EQ(expand_filename("%r", largest).value(), "2147483647");
}

TEST(ExpandFilename, RefusesOtherLetters) {
  for (const char* name : {"%", "a%", "%x", "%R", "% r", "%%%", "%5r", "%\xc3\xa9"}) {
    EXPECT_EQ(expand_filename(name, some_fields).status().cause(), Cause::bad_hint) << name;
  }
}

TEST(ExpandFilename, RefusesFieldsThatLeadElsewhere) {
  EXPECT_EQ(expand_filename("/s/%j", with_job("../../etc")).status().cause(), Cause::bad_hint);
  NameFields zero_byte;
  zero_byte.host = std::string("a\0b", 3);
  EXPECT_EQ(expand_filename("/s/%h", zero_byte).status().cause(), Cause::bad_hint);
  EXPECT_TRUE(expand_filename("/s/%r", with_job("../../etc")).ok()) << "the field isn't used";
}

}  // namespace
}  // namespace sill
