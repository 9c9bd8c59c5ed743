// Random texts: right or nearly so at first, then mutated by bytes and by words of the grammar. The same texts in each
// run, unless SILL_FUZZ_SEED (a number) and SILL_FUZZ_MS (milliseconds for a property) ask for others, and for more.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/hints.hpp"
#include "fuzz/properties.hpp"

namespace sill::fuzz {
namespace {

using Words = std::vector<std::string>;

// Keys, named values and pieces that are special to one of the readers.
Words grammar() {
  Words words = {"=",          ",",           "\n",
                 "%r",         "%%",          "%",
                 "%h%w%j",     "[windows]\n", " = ",
                 "\"",         "'",           "\"\"\"",
                 "0o600",      "0x10",        "1e308",
                 "nan",        "inf",         "-0",
                 "-1",         "0.5",         "1.0000001",
                 "auto",       "#",           "true",
                 "false",      "{",           "}",
                 "[",          "]",           "\\",
                 "\\u0000",    "0",           "9223372036854775808",
                 "1e-400",     "4096",        "S_IRUSR|S_IWUSR",
                 "|",          "0777",        "/s/",
                 "\t",         "\r\n",        ".",
                 "1979-05-27", "_",           std::string(1, '\0'),
                 "\xff",       "\xc3\xa9",    "36 ",
                 " - ",        "\\040"};
  for (const HintRow& row : hint_table()) {
    words.emplace_back(row.key);
    words.insert(words.end(), row.aliases.begin(), row.aliases.end());
    words.emplace_back(row.default_value);
    words.emplace_back(row.values);
  }
  return words;
}

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed), words_(grammar()) {}

  std::string mutate(std::string text) {
    for (std::size_t steps = below(6) + 1; steps > 0; --steps) step(text);
    return text;
  }

  std::size_t below(std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_); }

 private:
  void step(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = below(8);
    switch (below(6)) {
      case 0: text.insert(at, 1, static_cast<char>(below(256))); break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        break;
      case 2: text.erase(at, length); break;
      case 3: text.insert(at, text.substr(below(text.size() + 1), length)); break;
      default:  // twice as often as the others: words lead further into the readers than bytes
        text.replace(at, length, words_[below(words_.size())]);
    }
  }

  std::mt19937 random_;
  Words words_;
};

unsigned long setting(const char* name, unsigned long otherwise) {
  const char* text = std::getenv(name);
  return text ? std::stoul(text) : otherwise;
}

// Feeds mutated texts to a property for about a second, and mutates further what has come before.
void feed(void (*property)(std::string_view), Words texts) {
  const std::chrono::milliseconds time(setting("SILL_FUZZ_MS", 1200));
  constexpr std::size_t most_texts = 2000;
  constexpr std::size_t largest_text = 400;
  constexpr int least_runs = 1000;
  Mutator mutator(static_cast<unsigned>(setting("SILL_FUZZ_SEED", 20180721)));
  for (const std::string& text : texts) property(text);
  const auto end = std::chrono::steady_clock::now() + time;
  int runs = 0;
  while (std::chrono::steady_clock::now() < end || runs < least_runs) {
    std::string text = mutator.mutate(texts[mutator.below(texts.size())]);
    property(text);
    ++runs;
    if (text.size() > largest_text) continue;
    if (texts.size() < most_texts) texts.push_back(std::move(text));
  }
  testing::Test::RecordProperty("runs", runs);
}

TEST(RandomText, Hints) {
  feed(check_hints,
       {"", "alloc_type=storage\nstorage_alloc_filename=/s/%r\nstorage_alloc_factor=0.5",
        "storage_alloc_offset=4096\nfile_perm=S_IRUSR|S_IWUSR\naccess_style=random,write_mostly\nstripe_count=4"});
}

TEST(RandomText, Rule) {
  feed(check_rule, {"", "alloc_type=storage,storage_alloc_filename=/s/%j/w%w.%r,access_style=random, write_mostly",
                    "storage_alloc_factor=auto,striping_unit=65536,storage_alloc_unlink=true"});
}

TEST(RandomText, Filename) { feed(check_filename, {"", "/s/%j/%h/w%w.%r%%", "%r%%r"}); }

TEST(RandomText, Toml) {
  feed(check_toml, {"", "[windows]\nalloc_type = \"storage\"\nstorage_alloc_filename = '/s/%r'\nfile_perm = 0o640\n",
                    "[windows]\nstorage_alloc_factor = 0.25\nstorage_alloc_offset = 4_096\naccess_style = 'random'\n"});
}

TEST(RandomText, Directory) { feed(check_directory, {"", "/local/%h/%j.%r%%", "/a/%w"}); }

TEST(RandomText, Mount) {
  feed(check_mount, {"", "36 27 0:40 /users /home\\040my rw,noatime shared:1 - nfs4 server:/a ro,vers=4.2",
                     "36 3 0:6 / /ro ro - tmpfs none rw", "36 - \\134"});
}

TEST(RandomText, Record) {
  feed(check_record,
       {"",
        "{\"sill\": 1, \"coarray\": {\"program\": \"p\", \"build\": \"\", \"name\": \"m::x\", \"team\": \"\", "
        "\"size\": 8, \"image\": 1, \"images\": 2, \"state\": \"kept\"}}\n",
        "{\"sill\": 1, \"window\": \"0\", \"coarrays\": [{\"program\": \"p\", \"build\": \"1f\", \"name\": \"x\", "
        "\"team\": \"2\", "
        "\"size\": 8, \"image\": 1, \"images\": 2, \"state\": \"fresh\", \"offset\": 4096}]}\n",
        "{\"sill\": 2, \"crc32\": \"3b9dfc5a\"}\n"});
}

}  // namespace
}  // namespace sill::fuzz
