#include "base/split_hints.hpp"

#include <gtest/gtest.h>

#include "base/filename.hpp"

namespace sill {
namespace {

TEST(SplitHints, BadValuesAreErrorsThatNameKeyValueAndReason) {
  const HintPairs bad = {{"nbhd_common_dirname", ""},
                         {"nbhd_common_dirname", "/a/%x"},
                         {"nbhd_common_dirname", "/a/%"},
                         {"nbhd_common_dirname", "/a/%w"},
                         {"nbhd_common_dirname", "/%%/%h%w"},
                         {"nbhd_method", ""},
                         {"nbhd_method", "Auto"},
                         {"nbhd_method", "auto "},
                         {"nbhd_method", "exhaustive,auto"}};
  for (const auto& [key, value] : bad) {
    const auto hints = parse_split_hints({{key, value}});
    EXPECT_EQ(hints.status().cause(), Cause::bad_hint) << key << "='" << value << "'";
    const std::string start = key + "=" + value + ": ";
    EXPECT_TRUE(hints.status().message().starts_with(start)) << hints.status().message();
    EXPECT_GT(hints.status().message().size(), start.size() + 5);
  }
}

TEST(SplitHints, GoodValuesAreTakenAndOtherKeysIgnored) {
  const auto hints = parse_split_hints(
      {{"nbhd_common_dirname", "/local/%h/%%w"}, {"nbhd_method", "heuristic"}, {"alloc_type", "nonsense"}});
  ASSERT_TRUE(hints.ok()) << hints.status().message();
  EXPECT_EQ(hints.value().directory, "/local/%h/%%w");
  EXPECT_EQ(hints.value().method, SplitMethod::heuristic);
  EXPECT_EQ(parse_split_hints({}).value().method, SplitMethod::automatic);
}

TEST(SplitHints, EveryMethodOfTheTableIsTaken) {
  for (const char* name : {"auto", "exhaustive", "heuristic", "fingerprint"}) {
    const auto hints = parse_split_hints({{"nbhd_method", name}});
    ASSERT_TRUE(hints.ok()) << name;
    EXPECT_EQ(method_name(hints.value().method), name);
  }
}

TEST(SplitHints, TheTableHasHelpAndDefaultsOfTheStruct) {
  for (const SplitRow& row : split_hint_table()) {
    EXPECT_FALSE(row.help.empty() || row.values.empty()) << row.key;
    EXPECT_EQ(row.format({}), row.default_value) << row.key;
    EXPECT_EQ(find_hint(row.key), nullptr) << row.key << " is no hint of windows";
  }
}

TEST(SplitHints, DirectoriesAreExpandedLikeFileNames) {
  const NameFields fields = {.rank = 7, .host = "n1", .window = "3", .job = "j"};
  EXPECT_EQ(expand_directory("/l/%h/%r/%j/%%w", fields).value(), "/l/n1/7/j/%w");
  EXPECT_FALSE(expand_directory("/l/%w", fields).ok());
}

}  // namespace
}  // namespace sill
