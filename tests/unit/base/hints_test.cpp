#include "base/hints.hpp"

#include <gtest/gtest.h>

#include "unit/support/hints.hpp"

namespace sill {
namespace {

TEST(ParseHints, ReadingOnlyContradictsWhatWrites) {
  const HintPairs reading = {
      {"alloc_type", "storage"}, {"storage_alloc_filename", "/s/w"}, {"storage_alloc_readonly", "true"}};
  EXPECT_TRUE(parse_hints(reading).ok());
  for (const auto& [key, value] : HintPairs{
           {"storage_alloc_unlink", "true"}, {"storage_alloc_factor", "0.99"}, {"storage_alloc_factor", "auto"}}) {
    HintPairs pairs = reading;
    pairs.emplace_back(key, value);
    const Status status = parse_hints(pairs).status();
    EXPECT_EQ(status.cause(), Cause::bad_hint) << key;
    EXPECT_NE(status.message().find(key), std::string::npos) << status.message();
  }
}

TEST(ParseHints, NothingGivesTheDefaults) {
  const auto hints = parse_hints({});
  ASSERT_TRUE(hints.ok());
  EXPECT_EQ(hints.value(), WindowHints());
}

TEST(ParseHints, IgnoresUnknownKeysWhateverTheirValue) {
  const auto hints = parse_hints({{"no_locks", "maybe"}, {"storage_alloc_colour", ""}, {"", ""}, {"ALLOC_TYPE", "x"}});
  ASSERT_TRUE(hints.ok());
  EXPECT_EQ(hints.value(), WindowHints());
}

TEST(ParseHints, StorageNeedsAFileName) {
  const auto hints = parse_hints({{"alloc_type", "storage"}, {"storage_alloc_factor", "0.5"}});
  EXPECT_EQ(hints.status().cause(), Cause::missing_hint);
  EXPECT_NE(hints.status().message().find("storage_alloc_filename"), std::string::npos);
}

TEST(ParseHints, MemoryNeedsNoFileNameButGoodValues) {
  EXPECT_TRUE(parse_hints({{"alloc_type", "memory"}, {"storage_alloc_factor", "0.5"}}).ok());
  EXPECT_EQ(parse_hints({{"alloc_type", "memory"}, {"storage_alloc_factor", "half"}}).status().cause(),
            Cause::bad_hint);
}

TEST(ParseHints, TheLastOfAKeyAndItsAliasCountsAndAllAreChecked) {
  const auto hints = parse_hints({{"striping_factor", "4"}, {"stripe_count", "8"}});
  ASSERT_TRUE(hints.ok());
  EXPECT_EQ(hints.value().striping_factor, 8u);
  EXPECT_FALSE(parse_hints({{"striping_factor", "x"}, {"stripe_count", "8"}}).ok());
}

TEST(FormatHints, GivesEveryHintInForceInTheOrderOfTheTable) {
  const HintPairs expected = {{"alloc_type", "storage"},
                              {"storage_alloc_filename", "/s/w%w.%r"},
                              {"storage_alloc_offset", "4096"},
                              {"storage_alloc_factor", "0.25"},
                              {"storage_alloc_order", "storage_first"},
                              {"storage_alloc_unlink", "true"},
                              {"storage_alloc_discard", "true"},
                              {"access_style", "write_mostly,random"},
                              {"file_perm", "0640"},
                              {"striping_factor", "4"},
                              {"striping_unit", "65536"},
                              {"storage_alloc_reserve", "sparse"},
                              {"storage_alloc_engine", "staged"},
                              {"storage_alloc_layout", "overlap"},
                              {"storage_alloc_readonly", "false"},
                              {"storage_alloc_learn", "false"},
                              {"storage_alloc_large_pages", "false"},
                              {"storage_alloc_write_behind", "false"}};
  const auto hints = parse_hints(expected);
  ASSERT_TRUE(hints.ok()) << hints.status().message();
  EXPECT_EQ(format_hints(hints.value()), expected);
}

TEST(FormatHints, LeavesOutWhatIsUnset) {
  for (const auto& [key, value] : format_hints({})) {
    EXPECT_NE(value, "") << key;
    EXPECT_FALSE(key == "access_style" || key == "striping_factor" || key == "storage_alloc_filename") << key;
  }
  WindowHints automatic;
  automatic.factor.automatic = true;
  EXPECT_EQ(find_hint("storage_alloc_factor")->format(automatic), "auto");
}

TEST(FindHint, KnowsKeysAndAliasesOnly) {
  EXPECT_EQ(find_hint("stripe_size"), find_hint("striping_unit"));
  EXPECT_EQ(find_hint("stripe_size")->key, "striping_unit");
  EXPECT_EQ(find_hint("alloc_shared_noncontig"), nullptr);
  EXPECT_EQ(find_hint(""), nullptr);
}

TEST(ParseRule, EmptyTextIsNoRule) {
  for (const char* text : {"", "  ", "\t"}) {
    const auto pairs = parse_rule(text);
    ASSERT_TRUE(pairs.ok());
    EXPECT_TRUE(pairs.value().empty());
  }
}

TEST(ParseRule, SplitsAtCommasAndNamesKeysByTheirTableName) {
  const auto pairs = parse_rule("alloc_type=storage, storage_alloc_filename=/s/a=b%r,stripe_count=4");
  ASSERT_TRUE(pairs.ok()) << pairs.status().message();
  EXPECT_EQ(pairs.value(),
            (HintPairs{{"alloc_type", "storage"}, {"storage_alloc_filename", "/s/a=b%r"}, {"striping_factor", "4"}}));
}

TEST(ParseRule, APartWithoutEqualsContinuesTheValue) {
  const auto pairs = parse_rule("access_style=random, write_mostly,file_perm=0640");
  ASSERT_TRUE(pairs.ok()) << pairs.status().message();
  EXPECT_EQ(pairs.value(), (HintPairs{{"access_style", "random, write_mostly"}, {"file_perm", "0640"}}));
}

TEST(ParseRule, RefusesWhatNobodyElseWouldRead) {
  const std::pair<const char*, const char*> rules[] = {
      {"storage", "expected key=value"},
      {"alloc_typ=storage", "unknown key 'alloc_typ'"},
      {"alloc_type=storage,=x", "unknown key ''"},
      {"alloc_type=storage,", "empty"},
      {",alloc_type=storage", "empty"},
      {"alloc_type=storage,,file_perm=0600", "empty"},
      {"alloc_type=storage,alloc_type=memory", "twice"},
      {"striping_unit=4096,stripe_size=4096", "striping_unit is given twice"}};
  for (const auto& [rule, reason] : rules) {
    const auto pairs = parse_rule(rule);
    EXPECT_EQ(pairs.status().cause(), Cause::bad_hint) << rule;
    EXPECT_NE(pairs.status().message().find(reason), std::string::npos) << pairs.status().message();
  }
}

}  // namespace
}  // namespace sill
