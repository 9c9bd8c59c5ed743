#include "base/split_hints.hpp"

#include <algorithm>
#include <array>

#include "base/values.hpp"

namespace sill {
namespace {

constexpr std::array<std::string_view, 4> method_names = {"auto", "exhaustive", "heuristic", "fingerprint"};

// A directory has no window, so its name can't have a window's number.
bool has_window_number(std::string_view pattern) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] != '%') continue;
    if (pattern[++i] == 'w') return true;
  }
  return false;
}

Status read_directory(std::string_view value, std::string& result) {
  if (value.empty()) return values::bad("the name is empty");
  if (const auto expanded = expand_directory(value, {}); !expanded.ok()) return expanded.status();
  result = value;
  return {};
}

const std::array<SplitRow, 2> rows = {{
    {.key = "nbhd_common_dirname",
     .values = "path of a directory; %r rank, %h host, %j job id, %% a percent",
     .help = "The new communicator has the ranks that see the same directory, whatever its name is for them.",
     .parse = [](std::string_view value, SplitHints& hints) { return read_directory(value, hints.directory); },
     .format = [](const SplitHints& hints) { return hints.directory; }},
    {.key = "nbhd_method",
     .values = "auto, exhaustive, heuristic, fingerprint",
     .default_value = "auto",
     .help = "auto: exact, at most a file for each store; exhaustive: a file for each rank; heuristic: everybody or "
             "the node; fingerprint: no files, by what the system tells.",
     .collective = true,
     .parse = [](std::string_view value,
                 SplitHints& hints) { return values::read_name(value, method_names, hints.method); },
     .format = [](const SplitHints& hints) { return std::string(method_name(hints.method)); }},
}};

}  // namespace

std::span<const SplitRow> split_hint_table() { return rows; }

Result<SplitHints> parse_split_hints(const HintPairs& pairs) {
  SplitHints hints;
  for (const auto& [key, value] : pairs) {
    const auto row = std::ranges::find(rows, std::string_view(key), &SplitRow::key);
    if (row == rows.end()) continue;
    if (const Status status = row->parse(value, hints); !status.ok())
      return Status(status.cause(), key + "=" + value + ": " + status.message());
  }
  return hints;
}

std::string_view method_name(SplitMethod method) { return method_names[static_cast<std::size_t>(method)]; }

Result<std::string> expand_directory(std::string_view pattern, const NameFields& fields) {
  if (has_window_number(pattern)) return Status(Cause::bad_hint, "'%w' is the number of a window; there is none here");
  return expand_filename(pattern, fields);
}

}  // namespace sill
