#include "coarray/options.hpp"

#include <gtest/gtest.h>

#include <map>

namespace sill::coarray {
namespace {

std::map<std::string, std::string>& variables() {
  static std::map<std::string, std::string> all;
  return all;
}

Result<Options> parse(const std::map<std::string, std::string>& given) {
  variables() = given;
  return parse_options([](const char* name) {
    const auto at = variables().find(name);
    return at == variables().end() ? std::string() : at->second;
  });
}

TEST(Options, DefaultsAreThoseOfTheTable) {
  const auto options = parse({});
  ASSERT_TRUE(options.ok());
  EXPECT_FALSE(options.value().enabled);
  EXPECT_EQ(options.value().prefix, "OpenCoarrays_");
  EXPECT_EQ(options.value().sync_interval_ms, 0u);
  EXPECT_TRUE(options.value().keeps("anything"));
}

TEST(Options, EveryVariableIsRead) {
  const auto parsed = parse({{"PCAF_ENABLED", "true"},
                             {"PCAF_PATH", "/scratch/run 1"},
                             {"PCAF_PREFIX", "p_"},
                             {"PCAF_SHAREDFILE", "true"},
                             {"PCAF_UNLINK", "true"},
                             {"PCAF_SYNCFREQ", "500"},
                             {"PCAF_SEGSIZE", "4096"},
                             {"PCAF_STRIPESIZE", "1048576"},
                             {"PCAF_STRIPECOUNT", "4"},
                             {"PCAF_WINDOW", "storage_alloc_reserve=sparse,access_style=random,write_mostly"},
                             {"PCAF_COARRAYS", "a, m::b"},
                             {"PCAF_VOLATILE", "m::b"}});
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const Options& options = parsed.value();
  EXPECT_TRUE(options.enabled && options.unlink);
  EXPECT_EQ(options.sharing, Sharing::image);
  EXPECT_EQ(options.path, "/scratch/run 1");
  EXPECT_EQ(options.prefix, "p_");
  EXPECT_EQ(options.sync_interval_ms, 500u);
  EXPECT_EQ(options.segment_size, 4096u);
  EXPECT_EQ(options.stripe_size, 1048576u);
  EXPECT_EQ(options.stripe_count, 4u);
  EXPECT_EQ(options.window.reserve, Reserve::sparse);
  EXPECT_EQ(options.window.access_style, access_random | access_write_mostly);
  EXPECT_TRUE(options.whole());
  EXPECT_TRUE(options.keeps("a"));
  EXPECT_FALSE(options.keeps("m::b"));
  EXPECT_FALSE(options.keeps("c"));
}

TEST(Options, ABadValueNamesVariableValueAndReason) {
  const std::pair<std::string, std::string> bad[] = {{"PCAF_ENABLED", "yes"},
                                                     {"PCAF_SHAREDFILE", "TRUE"},
                                                     {"PCAF_UNLINK", "0"},
                                                     {"PCAF_SYNCFREQ", "-1"},
                                                     {"PCAF_SYNCFREQ", "10ms"},
                                                     {"PCAF_SYNCFREQ", "99999999999999999999"},
                                                     {"PCAF_SYNCFREQ", "9223372036855"},
                                                     {"PCAF_SEGSIZE", "0"},
                                                     {"PCAF_STRIPESIZE", "1M"},
                                                     {"PCAF_STRIPECOUNT", "0"},
                                                     {"PCAF_STRIPECOUNT", "2001"},
                                                     {"PCAF_STRIPESIZE", "4294967296"},
                                                     {"PCAF_PREFIX", "folder/"},
                                                     {"PCAF_COARRAYS", "a,,b"},
                                                     {"PCAF_VOLATILE", ","},
                                                     {"PCAF_SEGSIZE", "9223372036854775808"},
                                                     {"PCAF_PATH", "/scratch/%r"},
                                                     {"PCAF_PATH", "/scratch/%"},
                                                     {"PCAF_WINDOW", "storage_alloc_factor=2"},
                                                     {"PCAF_WINDOW", "no_key=1"},
                                                     {"PCAF_WINDOW", "storage_alloc_unlink=true"},
                                                     {"PCAF_WINDOW", "storage_alloc_filename=/f"},
                                                     {"PCAF_WINDOW", "storage_alloc_engine=staged"}};
  for (const auto& [variable, value] : bad) {
    const auto options = parse({{variable, value}});
    ASSERT_FALSE(options.ok()) << variable << "=" << value;
    EXPECT_EQ(options.status().cause(), Cause::bad_hint);
    EXPECT_EQ(options.status().message().find(variable + "=" + value + ": "), 0u) << options.status().message();
  }
}

TEST(Options, WhatLeavesAPartInMemoryIsNotWhole) {
  EXPECT_FALSE(parse({{"PCAF_WINDOW", "storage_alloc_factor=0.5"}}).value().whole());
  EXPECT_FALSE(parse({{"PCAF_WINDOW", "storage_alloc_factor=auto"}}).value().whole());
  EXPECT_TRUE(parse({{"PCAF_WINDOW", "storage_alloc_factor=1.0"}}).value().whole());
}

TEST(Options, ThePapersSpellingCountsWhereTheOtherIsntSet) {
  EXPECT_EQ(parse({{"PCAF_STRIPEIZE", "4096"}}).value().stripe_size, 4096u);
  EXPECT_EQ(parse({{"PCAF_STRIPEIZE", "4096"}, {"PCAF_STRIPESIZE", "8192"}}).value().stripe_size, 8192u);
}

TEST(Options, AFileOfAllImagesLiesInNoFolderOfEachNode) {
  EXPECT_EQ(parse({{"PCAF_SHAREDFILE", "images"}}).value().sharing, Sharing::images);
  EXPECT_FALSE(parse({{"PCAF_SHAREDFILE", "images"}, {"PCAF_PATH", "/scratch/%h"}}).ok());
  EXPECT_FALSE(parse({{"PCAF_SHAREDFILE", "images"}, {"PCAF_PATH", "/scratch/%%%h"}}).ok());
  EXPECT_TRUE(parse({{"PCAF_SHAREDFILE", "images"}, {"PCAF_PATH", "/scratch/%%h"}}).ok());
  EXPECT_TRUE(parse({{"PCAF_SHAREDFILE", "true"}, {"PCAF_PATH", "/scratch/%h"}}).ok());
}

TEST(Options, NamesThatAreNoneHaveANearestOne) {
  EXPECT_EQ(meant_by("PCAF_ENABLE"), "PCAF_ENABLED");
  EXPECT_EQ(meant_by("PCAF_SYNCFRQ"), "PCAF_SYNCFREQ");
  EXPECT_EQ(meant_by("PCAF_STRIPE_COUNT"), "PCAF_STRIPECOUNT");
  for (const std::string_view known : {"PCAF_ENABLED", "PCAF_STRIPEIZE", "PCAF_RESTORED", "PATH"})
    EXPECT_EQ(meant_by(known), "") << known;
}

TEST(Options, RowsAreComplete) {
  for (const OptionRow& row : option_table()) {
    EXPECT_EQ(row.variable.find("PCAF_"), 0u);
    EXPECT_FALSE(row.values.empty() || row.help.empty()) << row.variable;
  }
}

}  // namespace
}  // namespace sill::coarray
