#include "base/rules_toml.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sill {
namespace {

// The value of one key in [windows]; "(none)" without it.
std::string value_of(const std::string& line, const std::string& key) {
  const auto pairs = parse_toml_rules("[windows]\n" + line + "\n", "sill.toml");
  EXPECT_TRUE(pairs.ok()) << pairs.status().message();
  if (!pairs.ok()) return "(error)";
  const auto found = std::ranges::find(pairs.value(), key, &HintPairs::value_type::first);
  return found == pairs.value().end() ? "(none)" : found->second;
}

TEST(TomlRules, ReadEveryTypeOfValue) {
  EXPECT_EQ(value_of("alloc_type = 'storage'", "alloc_type"), "storage");
  EXPECT_EQ(value_of("storage_alloc_offset = 4_096", "storage_alloc_offset"), "4096");
  EXPECT_EQ(value_of("storage_alloc_offset = 0x1000", "storage_alloc_offset"), "4096");
  EXPECT_EQ(value_of("storage_alloc_factor = 0.25", "storage_alloc_factor"), "0.25");
  EXPECT_EQ(value_of("storage_alloc_factor = 1", "storage_alloc_factor"), "1");
  EXPECT_EQ(value_of("storage_alloc_factor = 'auto'", "storage_alloc_factor"), "auto");
  EXPECT_EQ(value_of("storage_alloc_unlink = true", "storage_alloc_unlink"), "true");
  EXPECT_EQ(value_of("storage_alloc_filename = '/s/a,b=c'", "storage_alloc_filename"), "/s/a,b=c");
  // A letter of two bytes where blanks are skipped.
  EXPECT_EQ(value_of("storage_alloc_filename = \"\"\"/s/\\\n \xc3\xa9\"\"\"", "storage_alloc_filename"), "/s/\xc3\xa9");
}

TEST(TomlRules, NameKeysByTheirTableName) { EXPECT_EQ(value_of("stripe_count = 4", "striping_factor"), "4"); }

TEST(TomlRules, PermissionsAreOctalOrRefused) {
  EXPECT_EQ(value_of("file_perm = 0o640", "file_perm"), "640");
  EXPECT_EQ(value_of("file_perm = '0640'", "file_perm"), "0640");
  const auto decimal = parse_toml_rules("[windows]\nfile_perm = 420\n", "sill.toml");
  EXPECT_EQ(decimal.status().cause(), Cause::bad_hint);
  EXPECT_NE(decimal.status().message().find("0o600"), std::string::npos) << decimal.status().message();
}

TEST(TomlRules, EmptyTextAndTableGiveNone) {
  for (const char* text : {"", "# nothing\n", "[windows]\n"}) {
    const auto pairs = parse_toml_rules(text, "sill.toml");
    ASSERT_TRUE(pairs.ok()) << pairs.status().message();
    EXPECT_TRUE(pairs.value().empty());
  }
}

TEST(TomlRules, ErrorsNamePathLineAndReason) {
  const std::pair<const char*, const char*> texts[] = {
      {"[windows]\n\nalloc_typ = 'storage'\n", "/c/sill.toml:3: unknown key 'alloc_typ'"},
      {"[windows]\nstorage_alloc_factor = 1.5\n", "/c/sill.toml:2: storage_alloc_factor=1.5: must lie between"},
      {"[windows]\nstorage_alloc_factor = nan\n", "/c/sill.toml:2: storage_alloc_factor=nan: must lie between"},
      {"[windows]\nstorage_alloc_offset = -4096\n", "/c/sill.toml:2: storage_alloc_offset=-4096: "},
      {"[windows]\nstorage_alloc_offset = 1.5\n", "/c/sill.toml:2: "},
      {"[windows]\nstorage_alloc_filename = \"a\\u0000b\"\n", "/c/sill.toml:2: "},
      {"[windows]\naccess_style = ['random']\n", "/c/sill.toml:2: access_style: expected a text"},
      {"[windows]\nalloc_type = 1979-05-27\n", "/c/sill.toml:2: alloc_type: expected a text"},
      {"[windows]\nstriping_unit = 4096\nstripe_size = 4096\n", "striping_unit is given twice"},
      {"[window]\nalloc_type = 'storage'\n", "/c/sill.toml:1: unknown entry 'window'"},
      {"windows = 3\n", "/c/sill.toml:1: unknown entry 'windows'"},
      {"[windows]\nalloc_type = storage\n", "/c/sill.toml:2: "},
      {"[windows]\nalloc_type = 'memory'\nalloc_type = 'storage'\n", "/c/sill.toml:3: "},
      {"[windows\n", "/c/sill.toml:1: "},
      {"[=]\n", "/c/sill.toml:1: "},
      {"[windows]\n\"\xc3\xa9\" = 1\n", "/c/sill.toml:2: unknown key '\xc3\xa9'"},
      {"[windows]\nalloc_type = \xc3\xa9\n", "/c/sill.toml:2: "},
      {"[windows]\nalloc_type = 1\"\xd1\x91\"\n", "/c/sill.toml:2: "},
      {"[windows]\n\xe3\x81\x82 = 1\n", "/c/sill.toml:2: "},
      {"[[[\n", "/c/sill.toml:1: "},
      {"[\n", "/c/sill.toml:1: "},
      {"\xff\xfe", "/c/sill.toml:1: "}};
  for (const auto& [text, reason] : texts) {
    const auto pairs = parse_toml_rules(text, "/c/sill.toml");
    EXPECT_EQ(pairs.status().cause(), Cause::bad_hint) << text;
    EXPECT_NE(pairs.status().message().find(reason), std::string::npos) << text << pairs.status().message();
  }
}

}  // namespace
}  // namespace sill
