#include "base/hints.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace sill {

const HintRow* find_hint(std::string_view key) {
  for (const HintRow& row : hint_table())
    if (row.key == key || std::ranges::find(row.aliases, key) != row.aliases.end()) return &row;
  return nullptr;
}

namespace {

// What is only read can't be deleted, and has no bytes for a part in memory.
Status check_readonly(const WindowHints& hints) {
  constexpr const char* key = "storage_alloc_readonly=true: ";
  if (!hints.readonly || hints.alloc_type != AllocType::storage) return {};
  if (hints.unlink) return {Cause::bad_hint, std::string(key) + "storage_alloc_unlink=true would delete the file"};
  if (hints.factor.automatic || hints.factor.share < 1)
    return {Cause::bad_hint, std::string(key) + "storage_alloc_factor must be 1.0, for a part in memory has no bytes"};
  return {};
}

}  // namespace

Result<WindowHints> parse_hints(const HintPairs& pairs) {
  WindowHints hints;
  for (const auto& [key, value] : pairs) {
    const HintRow* row = find_hint(key);
    if (!row) continue;
    if (const Status status = row->parse(value, hints); !status.ok())
      return Status(status.cause(), key + "=" + value + ": " + status.message());
  }
  if (hints.alloc_type == AllocType::storage && hints.filename.empty())
    return Status(Cause::missing_hint, "alloc_type=storage: storage_alloc_filename is missing");
  if (Status status = check_readonly(hints); !status.ok()) return status;
  return hints;
}

HintPairs format_hints(const WindowHints& hints) {
  HintPairs pairs;
  for (const HintRow& row : hint_table())
    if (std::string value = row.format(hints); !value.empty()) pairs.emplace_back(row.key, std::move(value));
  return pairs;
}

Result<HintPairs> parse_rule(std::string_view rule) {
  HintPairs pairs;
  if (trim(rule).empty()) return pairs;
  for (const std::string_view item : split(rule, ',')) {
    if (trim(item).empty()) return Status(Cause::bad_hint, "an item of the rule is empty");
    const std::size_t equals = item.find('=');
    if (equals == item.npos) {
      if (pairs.empty()) return Status(Cause::bad_hint, "'" + std::string(item) + "': expected key=value");
      pairs.back().second.append(1, ',').append(item);
      continue;
    }
    const std::string key(trim(item.substr(0, equals)));
    const HintRow* row = find_hint(key);
    if (!row) return Status(Cause::bad_hint, "unknown key '" + key + "'");
    if (std::ranges::any_of(pairs, [&](const auto& pair) { return pair.first == row->key; }))
      return Status(Cause::bad_hint, "key " + std::string(row->key) + " is given twice");
    pairs.emplace_back(row->key, item.substr(equals + 1));
  }
  return pairs;
}

}  // namespace sill
