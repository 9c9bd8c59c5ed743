#include "base/coarray_options.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.hpp"
#include "base/values.hpp"

namespace sill {
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

template <class Number>
constexpr Number any = std::numeric_limits<Number>::max();

// More don't fit into the nanoseconds of clocks.
constexpr std::uint64_t longest_interval_ms = any<std::int64_t> / 1'000'000;

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

constexpr CoarrayOptionRow rows[] = {
    {"PCAF_ENABLED", "true, false", "false", "", "keep coarrays on storage from run to run",
     [](std::string_view value, CoarrayOptions& options) { return read_flag(value, options.enabled); }},
    {"PCAF_PATH", "folder", "the working folder", "", "where the files lie; the folder must exist",
     [](std::string_view value, CoarrayOptions& options) {
       options.path = value;
       return Status();
     }},
    {"PCAF_PREFIX", "text without '/'", "OpenCoarrays_", "", "what the files' names begin with",
     [](std::string_view value, CoarrayOptions& options) {
       options.prefix = value;
       return value.find('/') == value.npos ? Status() : bad("must not contain '/'; PCAF_PATH names the folder");
     }},
    {"PCAF_SHAREDFILE", "true, false", "false", "", "one file per coarray for all images, instead of one for each",
     [](std::string_view value, CoarrayOptions& options) { return read_flag(value, options.shared_file); }},
    {"PCAF_UNLINK", "true, false", "false", "", "delete the files when the program ends or deallocates the coarray",
     [](std::string_view value, CoarrayOptions& options) { return read_flag(value, options.unlink); }},
    {"PCAF_SYNCFREQ", "whole number", "0", "ms",
     "least time between two syncs to storage; 0: at every sync all and sync images",
     [](std::string_view value, CoarrayOptions& options) {
       return read_whole(value, std::uint64_t{0}, longest_interval_ms, options.sync_interval_ms);
     }},
    {"PCAF_SEGSIZE", "whole number", "", "bytes",
     "segment size of other implementations; checked, but of no effect: Sill writes what is dirty, page by page",
     [](std::string_view value, CoarrayOptions& options) { return read_size(value, options.segment_size); }},
    {"PCAF_STRIPESIZE", "whole number", "", "bytes", "stripe size of new files, where the file system has stripes",
     [](std::string_view value, CoarrayOptions& options) { return read_stripe_unit(value, options.stripe_size); }},
    {"PCAF_STRIPECOUNT", "whole number, -1", "", "",
     "devices that new files are spread over, where the file system can; -1: all",
     [](std::string_view value, CoarrayOptions& options) { return read_stripe_count(value, options.stripe_count); }},
    {"PCAF_COARRAYS", "list of names", "all", "", "the only coarrays to keep",
     [](std::string_view value, CoarrayOptions& options) { return read_names(value, options.only); }},
    {"PCAF_VOLATILE", "list of names", "none", "", "coarrays that are not kept",
     [](std::string_view value, CoarrayOptions& options) { return read_names(value, options.except); }},
};

}  // namespace

bool CoarrayOptions::keeps(std::string_view name) const {
  const bool named = only.empty() || std::ranges::find(only, name) != only.end();
  return named && std::ranges::find(except, name) == except.end();
}

std::span<const CoarrayOptionRow> coarray_option_table() { return rows; }

Result<CoarrayOptions> parse_coarray_options(std::string (*variable)(const char* name)) {
  CoarrayOptions options;
  for (const CoarrayOptionRow& row : rows) {
    const std::string value = variable(row.variable.data());
    if (value.empty()) continue;
    if (const Status status = row.parse(value, options); !status.ok())
      return Status(status.cause(), std::string(row.variable) + "=" + value + ": " + status.message());
  }
  return options;
}

}  // namespace sill
