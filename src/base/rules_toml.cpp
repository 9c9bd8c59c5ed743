#include "base/rules_toml.hpp"

#include <algorithm>
#include <array>
#include <charconv>

// toml++ 3 asserts (or, under clang with NDEBUG, assumes) that a key begins well before it has looked: "[=" ends a
// program or is undefined. Without that, it goes on to its own error message.
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace sill {
namespace {

std::string text_of(double number) {
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return {buffer.data(), end};
}

// TOML's 0o600 is a number, file_perm octal text; a decimal number would silently mean something else.
Result<std::string> perm_text(const toml::value<std::int64_t>& number) {
  if ((number.flags() & toml::value_flags::format_as_octal) == toml::value_flags::none) {
    return Status(Cause::bad_hint, "write file_perm as 0o600 or as \"0600\"");
  }
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number.get(), 8);
  return std::string(buffer.data(), end);
}

Result<std::string> text_of(std::string_view key, const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* flag = node.as_boolean()) return std::string(flag->get() ? "true" : "false");
  if (const auto* number = node.as_integer()) {
    return key == "file_perm" ? perm_text(*number) : std::to_string(number->get());
  }
  if (const auto* number = node.as_floating_point()) return text_of(number->get());
  return Status(Cause::bad_hint, std::string(key) + ": expected a text, a number or true or false");
}

// Adds the checked pair of one line; messages without the place.
Status add_pair(std::string_view key, const toml::node& node, HintPairs& pairs) {
  const HintRow* row = find_hint(key);
  if (!row) return {Cause::bad_hint, "unknown key '" + std::string(key) + "'"};
  Result<std::string> text = text_of(row->key, node);
  if (!text.ok()) return text.status();
  if (std::ranges::any_of(pairs, [&](const auto& pair) { return pair.first == row->key; })) {
    return {Cause::bad_hint, "key " + std::string(row->key) + " is given twice"};
  }
  WindowHints unused;
  if (const Status status = row->parse(text.value(), unused); !status.ok()) {
    return {status.cause(), std::string(key) + "=" + text.value() + ": " + status.message()};
  }
  pairs.emplace_back(row->key, std::move(text).value());
  return {};
}

std::string place(const std::string& path, const toml::source_region& source) {
  return path + ":" + std::to_string(source.begin.line) + ": ";
}

}  // namespace

Result<HintPairs> parse_toml_rules(const std::string& text, const std::string& path) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return Status(Cause::bad_hint, place(path, error.source()) + std::string(error.description()));
  }
  HintPairs pairs;
  for (const auto& [name, node] : parsed.table()) {
    const toml::table* windows = node.as_table();
    if (name.str() != "windows" || !windows) {
      return Status(Cause::bad_hint, place(path, name.source()) + "unknown entry '" + std::string(name.str()) +
                                         "'; expected the table [windows]");
    }
    for (const auto& [key, value] : *windows) {
      if (const Status status = add_pair(key.str(), value, pairs); !status.ok()) {
        return Status(status.cause(), place(path, key.source()) + status.message());
      }
    }
  }
  return pairs;
}

}  // namespace sill
