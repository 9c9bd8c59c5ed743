// Every key of the table with values it takes and values it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/hints.hpp"
#include "unit/support/hints.hpp"

namespace sill {
namespace {

using Values = std::vector<std::string>;

// Text as a test's name may hold it: the key and a number.
std::string test_name(const testing::TestParamInfo<std::pair<std::string, Values>>& info) { return info.param.first; }

class BadValues : public testing::TestWithParam<std::pair<std::string, Values>> {};

TEST_P(BadValues, AreErrorsThatNameKeyValueAndReason) {
  const auto& [key, values] = GetParam();
  for (const std::string& value : values) {
    const auto hints = parse_hints({{key, value}});
    EXPECT_EQ(hints.status().cause(), Cause::bad_hint) << key << "='" << value << "'";
    const std::string start = key + "=" + value + ": ";
    EXPECT_TRUE(hints.status().message().starts_with(start)) << hints.status().message();
    EXPECT_GT(hints.status().message().size(), start.size() + 5) << "no reason: " << hints.status().message();
  }
}

const Values bad_booleans = {"", "True", "TRUE", "yes", "1", "0", " true", "true ", "truefalse"};
const Values bad_counts = {"", "0", "-2", "+1", "1.5", "4096k", "0x10", " 1", "2001", "65535", "99999999999999999999"};
const Values bad_sizes = {"", "0", "-1", "+1", "1.5", "4096k", "0x10", " 1", "4294901761", "99999999999999999999"};

INSTANTIATE_TEST_SUITE_P(
    EveryKey, BadValues,
    testing::Values(
        std::pair("alloc_type", Values{"", "Storage", "file", "storage ", "storage,memory", "memory_first", "0"}),
        std::pair("storage_alloc_filename",
                  Values{"", "/scratch/%x", "/scratch/%", "/scratch/%R", "/s/%rr%q", std::string("/s/a\0b", 6)}),
        std::pair("storage_alloc_offset", Values{"",
                                                 " ",
                                                 "-1",
                                                 "-0",
                                                 "+1",
                                                 "12abc",
                                                 "1.5",
                                                 "1.5.2",
                                                 "1e3",
                                                 "4 096",
                                                 "4,096",
                                                 " 4096",
                                                 "4096 ",
                                                 "4K",
                                                 "4KiB",
                                                 "0x1000",
                                                 "nan",
                                                 "9223372036854775808",
                                                 "18446744073709551616",
                                                 "99999999999999999999999999999999"}),
        std::pair("storage_alloc_factor",
                  Values{"",      "-0.1",   "-0",   "1.1",       "1.0000000001", "2",      "0.5x", "0.5 ",
                         " 0.5",  "0,5",    "1/2",  "50%",       "nan",          "NaN",    "inf",  "-inf",
                         "1e400", "1e-999", "Auto", "automatic", "0.5.1",        "0x1p-1", "+0.5"}),
        std::pair("storage_alloc_order", Values{"", "memory", "storage", "first", "memory-first", "MEMORY_FIRST"}),
        std::pair("storage_alloc_unlink", bad_booleans), std::pair("storage_alloc_discard", bad_booleans),
        std::pair("access_style", Values{"", ",", "random,", ",random", "random,,random", "Random", "fast",
                                         "random read_once", "sequential|random", "random,fast"}),
        std::pair("file_perm", Values{"", "0800", "8", "1000", "04755", "-1", "0o600", "600x", "rw-------", "0600 ",
                                      "u=rw", "S_IRUSR|", "S_IRUSR,S_IWUSR", "S_IRUSR|S_ISUID", "S_IRUSR|0200", "S_",
                                      "777777777777777777777"}),
        std::pair("striping_factor", bad_counts), std::pair("stripe_count", bad_counts),
        std::pair("striping_unit", bad_sizes), std::pair("stripe_size", bad_sizes),
        std::pair("storage_alloc_readonly", bad_booleans),
        std::pair("storage_alloc_reserve", Values{"", "Full", "none", "true"}),
        std::pair("storage_alloc_engine", Values{"", "mmap", "io_uring"}),
        std::pair("storage_alloc_layout", Values{"", "consecutive,overlap", "linear"}),
        std::pair("storage_alloc_learn", bad_booleans), std::pair("storage_alloc_large_pages", bad_booleans),
        std::pair("storage_alloc_write_behind", bad_booleans)),
    test_name);

// The hints of one pair.
WindowHints read(const std::string& key, const std::string& value) {
  const auto hints = parse_hints({{key, value}});
  EXPECT_TRUE(hints.ok()) << hints.status().message();
  return hints.ok() ? hints.value() : WindowHints();
}

TEST(GoodValues, AllocType) {
  EXPECT_EQ(read("alloc_type", "memory").alloc_type, AllocType::memory);
  const auto hints = parse_hints({{"alloc_type", "storage"}, {"storage_alloc_filename", "w"}});
  ASSERT_TRUE(hints.ok());
  EXPECT_EQ(hints.value().alloc_type, AllocType::storage);
}

TEST(GoodValues, FilenameKeepsItsPlaceholders) {
  EXPECT_EQ(read("storage_alloc_filename", "/s/%j/%h/w%w.%r%%").filename, "/s/%j/%h/w%w.%r%%");
  EXPECT_EQ(read("storage_alloc_filename", "with blank, comma = \xc3\xa9").filename, "with blank, comma = \xc3\xa9");
}

TEST(GoodValues, Offset) {
  EXPECT_EQ(read("storage_alloc_offset", "0").offset, 0u);
  EXPECT_EQ(read("storage_alloc_offset", "100").offset, 100u);
  EXPECT_EQ(read("storage_alloc_offset", "0042").offset, 42u);
  EXPECT_EQ(read("storage_alloc_offset", "9223372036854775807").offset, 9223372036854775807u);
}

TEST(GoodValues, Factor) {
  for (const auto& [text, share] : std::map<std::string, double>{{"0", 0.0},
                                                                 {"0.0", 0.0},
                                                                 {"1", 1.0},
                                                                 {"1.0", 1.0},
                                                                 {"0.25", 0.25},
                                                                 {".5", 0.5},
                                                                 {"1.", 1.0},
                                                                 {"5e-1", 0.5}}) {
    const Factor factor = read("storage_alloc_factor", text).factor;
    EXPECT_EQ(factor.share, share) << text;
    EXPECT_FALSE(factor.automatic) << text;
  }
  EXPECT_TRUE(read("storage_alloc_factor", "auto").factor.automatic);
}

TEST(GoodValues, Order) {
  EXPECT_EQ(read("storage_alloc_order", "memory_first").order, Order::memory_first);
  EXPECT_EQ(read("storage_alloc_order", "storage_first").order, Order::storage_first);
}

TEST(GoodValues, UnlinkAndDiscard) {
  EXPECT_TRUE(read("storage_alloc_unlink", "true").unlink);
  EXPECT_FALSE(read("storage_alloc_unlink", "false").unlink);
  EXPECT_TRUE(read("storage_alloc_discard", "true").discard);
  EXPECT_FALSE(read("storage_alloc_discard", "false").discard);
}

TEST(GoodValues, AccessStyleIsASet) {
  const std::map<std::string, unsigned> styles = {{"read_once", access_read_once},
                                                  {"write_once", access_write_once},
                                                  {"read_mostly", access_read_mostly},
                                                  {"write_mostly", access_write_mostly},
                                                  {"sequential", access_sequential},
                                                  {"random", access_random},
                                                  {"reverse_sequential", access_reverse_sequential}};
  for (const auto& [name, bit] : styles) EXPECT_EQ(read("access_style", name).access_style, bit) << name;
  EXPECT_EQ(read("access_style", "random,read_once").access_style, access_random | access_read_once);
  EXPECT_EQ(read("access_style", " random ,\twrite_mostly, random").access_style, access_random | access_write_mostly);
}

TEST(GoodValues, FilePerm) {
  EXPECT_EQ(read("file_perm", "0600").file_perm, 0600u);
  EXPECT_EQ(read("file_perm", "640").file_perm, 0640u);
  EXPECT_EQ(read("file_perm", "0777").file_perm, 0777u);
  EXPECT_EQ(read("file_perm", "0").file_perm, 0u);
  EXPECT_EQ(read("file_perm", "S_IRUSR|S_IWUSR").file_perm, 0600u);
  EXPECT_EQ(read("file_perm", "S_IRWXU | S_IRGRP | S_IROTH").file_perm, 0744u);
  EXPECT_EQ(read("file_perm", "S_IXUSR|S_IWGRP|S_IXGRP|S_IRWXG|S_IWOTH|S_IXOTH|S_IRWXO").file_perm, 0177u);
}

TEST(GoodValues, StripingByKeyAndAlias) {
  for (const char* key : {"striping_factor", "stripe_count"}) EXPECT_EQ(read(key, "4").striping_factor, 4u);
  for (const char* key : {"striping_unit", "stripe_size"}) EXPECT_EQ(read(key, "1048576").striping_unit, 1048576u);
  EXPECT_EQ(read("striping_unit", "4294901760").striping_unit, 4294901760u);
  EXPECT_EQ(read("striping_factor", "2000").striping_factor, 2000u);
  EXPECT_EQ(read("striping_factor", "-1").striping_factor, all_devices);
  EXPECT_EQ(find_hint("striping_factor")->format(read("striping_factor", "-1")), "-1");
  EXPECT_EQ(read("alloc_type", "memory").striping_factor, std::nullopt);
}

TEST(GoodValues, ReserveEngineLayout) {
  EXPECT_EQ(read("storage_alloc_reserve", "full").reserve, Reserve::full);
  EXPECT_EQ(read("storage_alloc_reserve", "sparse").reserve, Reserve::sparse);
  EXPECT_EQ(read("storage_alloc_engine", "mapped").engine, EngineKind::mapped);
  EXPECT_EQ(read("storage_alloc_engine", "staged").engine, EngineKind::staged);
  EXPECT_EQ(read("storage_alloc_layout", "consecutive").layout, Layout::consecutive);
  EXPECT_EQ(read("storage_alloc_layout", "overlap").layout, Layout::overlap);
}

TEST(HintTable, DefaultsAreThoseOfTheStruct) {
  for (const HintRow& row : hint_table()) {
    WindowHints hints;
    if (row.default_value.empty()) {
      EXPECT_EQ(row.format(hints), "") << row.key;
      continue;
    }
    EXPECT_TRUE(row.parse(row.default_value, hints).ok()) << row.key;
    EXPECT_EQ(hints, WindowHints()) << row.key;
  }
}

TEST(HintTable, HasEveryKeyOnceAndHelpOfOneLine) {
  const std::set<std::string_view> expected = {"alloc_type",
                                               "storage_alloc_filename",
                                               "storage_alloc_offset",
                                               "storage_alloc_factor",
                                               "storage_alloc_order",
                                               "file_perm",
                                               "storage_alloc_unlink",
                                               "storage_alloc_discard",
                                               "access_style",
                                               "striping_factor",
                                               "stripe_count",
                                               "striping_unit",
                                               "stripe_size",
                                               "storage_alloc_reserve",
                                               "storage_alloc_engine",
                                               "storage_alloc_layout",
                                               "storage_alloc_readonly",
                                               "storage_alloc_learn",
                                               "storage_alloc_large_pages",
                                               "storage_alloc_write_behind"};
  std::multiset<std::string_view> found;
  for (const HintRow& row : hint_table()) {
    found.insert(row.key);
    found.insert(row.aliases.begin(), row.aliases.end());
    EXPECT_FALSE(row.help.empty() || row.values.empty()) << row.key;
    EXPECT_EQ(row.help.find('\n'), row.help.npos) << row.key;
  }
  EXPECT_TRUE(std::ranges::equal(found, expected));
}

TEST(HintTable, EveryNamedValueIsTaken) {
  for (const char* key : {"alloc_type", "storage_alloc_order", "storage_alloc_unlink", "storage_alloc_discard",
                          "storage_alloc_reserve", "storage_alloc_engine", "storage_alloc_layout"}) {
    const HintRow& row = *find_hint(key);
    const std::size_t comma = row.values.find(", ");
    for (const auto value : {row.values.substr(0, comma), row.values.substr(comma + 2)}) {
      WindowHints hints;
      EXPECT_TRUE(row.parse(value, hints).ok()) << key << '=' << value;
      EXPECT_EQ(row.format(hints), value) << key;
    }
  }
}

TEST(HintTable, SaysWhatMustBeTheSameOnAllRanks) {
  const std::set<std::string_view> collective = {"alloc_type",
                                                 "storage_alloc_order",
                                                 "storage_alloc_layout",
                                                 "storage_alloc_engine",
                                                 "storage_alloc_reserve",
                                                 "storage_alloc_unlink",
                                                 "storage_alloc_discard",
                                                 "storage_alloc_readonly"};
  for (const HintRow& row : hint_table()) EXPECT_EQ(row.collective, collective.contains(row.key)) << row.key;
}

}  // namespace
}  // namespace sill
