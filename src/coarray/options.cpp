#include "coarray/options.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/filename.hpp"
#include "base/text.hpp"
#include "base/values.hpp"

namespace sill::coarray {
namespace {

using values::bad;
using values::read_stripe_count;
using values::read_stripe_unit;
using values::read_whole;

Status read_flag(std::string_view value, bool& result) {
  if (value != "true" && value != "false") return bad("expected true or false");
  result = value == "true";
  return {};
}

// More don't fit into the nanoseconds of clocks.
constexpr std::uint64_t longest_interval_ms = std::numeric_limits<std::int64_t>::max() / 1'000'000;

Status read_size(std::string_view value, std::optional<std::uint64_t>& result) {
  std::uint64_t size = 0;
  Status status = read_whole(value, std::uint64_t{1}, values::largest_offset, size);
  if (status.ok()) result = size;
  return status;
}

Status read_names(std::string_view value, std::vector<std::string>& result) {
  for (const std::string_view item : split(value, ',')) {
    const std::string_view name = trim(item);
    if (name.empty()) return bad("has an empty name in its list");
    result.emplace_back(name);
  }
  return {};
}

Status read_path(std::string_view value, std::string& result) {
  for (std::size_t at = value.find('%'); at != value.npos; at = value.find('%', at + 2))
    if (at + 1 == value.size() || std::string_view("hj%").find(value[at + 1]) == std::string_view::npos)
      return bad("expected %h (the node's name), %j (the job's) or %% (a percent sign) where it has '%'");
  result = value;
  return {};
}

// Of the rest coarrays decide by themselves, or by variables of their own.
constexpr std::string_view window_keys[] = {"storage_alloc_factor",
                                            "storage_alloc_order",
                                            "access_style",
                                            "file_perm",
                                            "striping_factor",
                                            "striping_unit",
                                            "storage_alloc_reserve",
                                            "storage_alloc_learn",
                                            "storage_alloc_large_pages",
                                            "storage_alloc_write_behind"};

Status read_window(std::string_view value, WindowHints& result) {
  const auto pairs = parse_rule(value);
  if (!pairs.ok()) return pairs.status();
  for (const auto& pair : pairs.value())
    if (std::ranges::find(window_keys, find_hint(pair.first)->key) == std::end(window_keys))
      return bad(pair.first + " is not for PCAF_WINDOW: coarrays decide it themselves");
  auto hints = parse_hints(pairs.value());
  if (hints.ok()) result = std::move(hints).value();
  return hints.status();
}

// Of a path that read_path() took.
bool differs_between_nodes(const std::string& path) {
  return expand_filename(path, {}).value() != expand_filename(path, {0, "n", "", ""}).value();
}

// In the order of Sharing.
constexpr std::array<std::string_view, 3> sharing_names = {"false", "images", "true"};

constexpr OptionRow rows[] = {
    {"PCAF_ENABLED", "true, false", "false", "", "keep coarrays on storage from run to run",
     [](std::string_view value, Options& options) { return read_flag(value, options.enabled); }},
    {"PCAF_PATH", "folder", "the working folder", "",
     "where the files lie; the folder must exist; %h is the node's name, %j the job's, %% a percent sign",
     [](std::string_view value, Options& options) { return read_path(value, options.path); }},
    {"PCAF_PREFIX", "text without '/'", "OpenCoarrays_", "", "what the files' names begin with",
     [](std::string_view value, Options& options) {
       options.prefix = value;
       return value.find('/') == value.npos ? Status() : bad("must not contain '/'; PCAF_PATH names the folder");
     }},
    {"PCAF_SHAREDFILE", "true, false, images", "false", "",
     "true: one file for each image that holds all its coarrays; images: one file for each coarray that holds all "
     "images",
     [](std::string_view value, Options& options) { return values::read_name(value, sharing_names, options.sharing); }},
    {"PCAF_UNLINK", "true, false", "false", "", "delete the files when the program ends or deallocates the coarray",
     [](std::string_view value, Options& options) { return read_flag(value, options.unlink); }},
    {"PCAF_SYNCFREQ", "whole number", "0", "ms",
     "least time between two syncs to storage; 0: at every sync all and sync images",
     [](std::string_view value, Options& options) {
       return read_whole(value, std::uint64_t{0}, longest_interval_ms, options.sync_interval_ms);
     }},
    {"PCAF_SEGSIZE", "whole number", "", "bytes",
     "segment size of other implementations; checked, but of no effect: Sill writes what is dirty, page by page",
     [](std::string_view value, Options& options) { return read_size(value, options.segment_size); }},
    {"PCAF_STRIPESIZE", "whole number", "", "bytes",
     "stripe size of new files, where the file system has stripes; also PCAF_STRIPEIZE",
     [](std::string_view value, Options& options) { return read_stripe_unit(value, options.stripe_size); },
     "PCAF_STRIPEIZE"},
    {"PCAF_STRIPECOUNT", "whole number, -1", "", "",
     "devices that new files are spread over, where the file system can; -1: all",
     [](std::string_view value, Options& options) { return read_stripe_count(value, options.stripe_count); }},
    {"PCAF_WINDOW", "list of key=value", "", "",
     "hints for the windows of kept coarrays, as SILL_WINDOWS has them: storage_alloc_factor, storage_alloc_order, "
     "storage_alloc_reserve, storage_alloc_learn, storage_alloc_large_pages, storage_alloc_write_behind, access_style, "
     "file_perm, striping_factor, striping_unit",
     [](std::string_view value, Options& options) { return read_window(value, options.window); }},
    {"PCAF_COARRAYS", "list of names", "all", "", "the only coarrays to keep",
     [](std::string_view value, Options& options) { return read_names(value, options.only); }},
    {"PCAF_VOLATILE", "list of names", "none", "", "coarrays that are not kept",
     [](std::string_view value, Options& options) { return read_names(value, options.except); }},
};

// How many characters must be put in, taken out or changed to make one text of the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char c : a) {
    std::size_t diagonal = row[0]++;
    for (std::size_t i = 0; i < b.size(); ++i) {
      const std::size_t changed = diagonal + (b[i] == c ? 0 : 1);
      diagonal = row[i + 1];
      row[i + 1] = std::min({changed, row[i] + 1, row[i + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

bool Options::keeps(std::string_view name) const {
  const bool named = only.empty() || std::ranges::find(only, name) != only.end();
  return named && std::ranges::find(except, name) == except.end();
}

std::span<const OptionRow> option_table() { return rows; }

std::string value_of(const OptionRow& row, std::string (*variable)(const char* name)) {
  std::string value = variable(row.variable.data());
  return value.empty() && !row.alias.empty() ? variable(row.alias.data()) : value;
}

std::string_view meant_by(std::string_view name) {
  constexpr std::string_view told_to_programs = "PCAF_RESTORED";
  if (!name.starts_with("PCAF_") || name == told_to_programs) return "";
  const auto is_it = [&](const OptionRow& row) { return row.variable == name || row.alias == name; };
  if (std::ranges::any_of(rows, is_it)) return "";
  return std::ranges::min(rows, {}, [&](const OptionRow& row) { return distance(row.variable, name); }).variable;
}

Result<Options> parse_options(std::string (*variable)(const char* name)) {
  Options options;
  for (const OptionRow& row : rows) {
    const std::string value = value_of(row, variable);
    if (value.empty()) continue;
    if (const Status status = row.parse(value, options); !status.ok())
      return Status(status.cause(), std::string(row.variable) + "=" + value + ": " + status.message());
  }
  if (options.sharing == Sharing::images && differs_between_nodes(options.path))
    return Status(Cause::bad_hint, "PCAF_PATH=" + options.path +
                                       ": a file of all images (PCAF_SHAREDFILE=images) can't lie in a folder of each "
                                       "node; take %h out");
  return options;
}

}  // namespace sill::coarray
