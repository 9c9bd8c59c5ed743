#include "fuzz/properties.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/config.hpp"
#include "base/filename.hpp"
#include "base/hints.hpp"
#include "base/mounts.hpp"
#include "base/rules_toml.hpp"
#include "base/split_hints.hpp"
#include "base/text.hpp"
#include "coarray/record.hpp"

namespace sill::fuzz {
namespace {

void require(bool condition, const char* property, std::string_view text) {
  if (condition) return;
  std::fprintf(stderr, "violated: %s, by %zu bytes:\n%.*s\n", property, text.size(), static_cast<int>(text.size()),
               text.data());
  std::abort();
}

void require_reason(const Status& status, std::string_view text) {
  require(!status.message().empty(), "a refusal says why", text);
  require(status.cause() == Cause::bad_hint || status.cause() == Cause::missing_hint, "a refusal has its cause", text);
}

// Accepted hints are within their ranges, and formatting loses nothing.
void require_sound(const WindowHints& hints, std::string_view text) {
  require(hints.factor.share >= 0 && hints.factor.share <= 1, "the factor lies between 0 and 1", text);
  require(hints.file_perm <= 0777, "file_perm has permission bits only", text);
  require(hints.access_style < 1u << 7, "access_style has known bits only", text);
  require(hints.striping_factor.value_or(1) > 0 && hints.striping_unit.value_or(1) > 0, "striping is positive", text);
  const HintPairs once = format_hints(hints);
  const auto again = parse_hints(once);
  require(again.ok(), "what is formatted can be read", text);
  require(format_hints(again.value()) == once, "reading what is formatted changes nothing", text);
  require(again.value().factor.share == hints.factor.share, "the factor keeps every bit", text);
}

void require_table_keys(const HintPairs& pairs, std::string_view text) {
  for (const auto& [key, value] : pairs) {
    const HintRow* row = find_hint(key);
    require(row && row->key == key, "keys are those of the table", text);
    const auto same_key = [&](const auto& pair) { return pair.first == row->key; };
    require(std::ranges::count_if(pairs, same_key) == 1, "a key comes once", text);
  }
}

}  // namespace

void check_hints(std::string_view text) {
  HintPairs pairs;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t equals = std::min(line.find('='), line.size());
    pairs.emplace_back(line.substr(0, equals), line.substr(std::min(equals + 1, line.size())));
  }
  const auto hints = parse_hints(pairs);
  if (!hints.ok()) return require_reason(hints.status(), text);
  require_sound(hints.value(), text);
}

void check_rule(std::string_view text) {
  const auto pairs = parse_rule(text);
  if (!pairs.ok()) return require_reason(pairs.status(), text);
  require_table_keys(pairs.value(), text);
  const auto rules = read_rules(std::string(text), "", "");
  if (!rules.ok()) return require_reason(rules.status(), text);
  const auto hints = parse_hints(rules.value());
  if (!hints.ok()) return require(hints.status().cause() == Cause::missing_hint, "checked rules are good hints", text);
  require_sound(hints.value(), text);
}

void check_filename(std::string_view text) {
  const NameFields fields = {.rank = 7, .host = "host", .window = "0", .job = "job"};
  const auto path = expand_filename(text, fields);
  const auto hints = parse_hints({{"storage_alloc_filename", std::string(text)}});
  if (!path.ok()) {
    require(!hints.ok(), "a name that can't be expanded is no hint", text);
    return require_reason(path.status(), text);
  }
  const bool possible = !text.empty() && text.find('\0') == text.npos;
  require(hints.ok() == possible, "a name that can be expanded is a hint", text);
  // Doubling every percent sign takes the meaning out of a name, so that the name itself comes back.
  std::string escaped;
  for (const char c : path.value()) escaped += c == '%' ? "%%" : std::string(1, c);
  const auto back = expand_filename(escaped, fields);
  require(back.ok() && back.value() == path.value(), "an escaped name comes back", text);
}

void check_toml(std::string_view text) {
  const auto pairs = parse_toml_rules(std::string(text), "/c/sill.toml");
  if (!pairs.ok()) {
    require(pairs.status().message().starts_with("/c/sill.toml:"), "a refusal names path and line", text);
    return require_reason(pairs.status(), text);
  }
  require_table_keys(pairs.value(), text);
  const auto hints = parse_hints(pairs.value());
  if (!hints.ok()) return require(hints.status().cause() == Cause::missing_hint, "checked rules are good hints", text);
  require_sound(hints.value(), text);
}

void check_directory(std::string_view text) {
  const NameFields fields = {.rank = 7, .host = "host", .window = "0", .job = "job"};
  const auto hints = parse_split_hints({{"nbhd_common_dirname", std::string(text)}});
  const auto path = expand_directory(text, fields);
  require(hints.ok() == (path.ok() && !text.empty()), "a name that can be expanded is a hint", text);
  if (!hints.ok()) return require_reason(hints.status(), text);
  require(hints.value().directory == text, "a hint keeps its placeholders", text);
  require(path.value() == expand_filename(text, fields).value(), "a directory is expanded like a file", text);
}

void check_mount(std::string_view text) {
  const auto mount = parse_mount(text);
  if (!mount) return;
  const std::size_t length =
      mount->root.size() + mount->point.size() + mount->options.size() + mount->type.size() + mount->source.size();
  require(length < text.size(), "fields are no longer than the line", text);
  require(mount->options.find(' ') == std::string::npos, "options have no blanks", text);
  require(mount->has_option(mount->options.substr(0, mount->options.find(','))), "a mount has its options", text);
}

void check_record(std::string_view text) {
  const auto refused = [&](const Status& status) {
    require(status.cause() == Cause::bad_file, "a refusal has its cause", text);
    require(!status.message().empty(), "a refusal says why", text);
  };
  auto record = storage::Record::parse(text);
  if (!record.ok()) return refused(record.status());
  const auto again = storage::Record::parse(record.value().text());
  require(again.ok() && again.value().text() == record.value().text(), "what is written can be read", text);
  const auto coarrays = coarray::coarrays_in(record.value());
  if (!coarrays.ok()) return refused(coarrays.status());
  coarray::put_coarrays(record.value(), coarrays.value());
  const auto same = coarray::coarrays_in(storage::Record::parse(record.value().text()).value());
  require(same.ok() && same.value() == coarrays.value(), "writing changes nothing", text);
}

}  // namespace sill::fuzz
