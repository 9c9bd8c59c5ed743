// The rows of the hint table, each with the reader and the writer of its values.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/filename.hpp"
#include "base/hints.hpp"
#include "base/text.hpp"
#include "base/values.hpp"

namespace sill {
namespace {

using namespace values;

constexpr std::array<std::string_view, 2> boolean_names = {"false", "true"};
constexpr std::array<std::string_view, 2> type_names = {"memory", "storage"};
constexpr std::array<std::string_view, 2> order_names = {"memory_first", "storage_first"};
constexpr std::array<std::string_view, 2> reserve_names = {"full", "sparse"};
constexpr auto engine_names = [] {
  std::array<std::string_view, engine_rows.size()> names;
  std::ranges::transform(engine_rows, names.begin(), &EngineRow::name);
  return names;
}();
#define SILL_ENGINE_NAME(name, in_place, help) ", " #name
#define SILL_ENGINE_HELP(name, in_place, help) "; " #name ": " help
constexpr std::string_view engine_values = std::string_view(SILL_ENGINES(SILL_ENGINE_NAME)).substr(2);
constexpr std::string_view engine_help = std::string_view(SILL_ENGINES(SILL_ENGINE_HELP) ".").substr(2);
#undef SILL_ENGINE_NAME
#undef SILL_ENGINE_HELP
constexpr std::array<std::string_view, 2> layout_names = {"consecutive", "overlap"};
// In the order of the bits of AccessStyle.
constexpr std::array<std::string_view, 7> style_names = {
    "read_once", "write_once", "read_mostly", "write_mostly", "sequential", "reverse_sequential", "random"};

Status read_factor(std::string_view value, Factor& result) {
  if (value == "auto") {
    result = {.automatic = true};
    return {};
  }
  double share = 0;
  if (!read_number(value, share)) return bad("expected a number from 0.0 to 1.0, or auto");
  if (!(share >= 0.0 && share <= 1.0) || std::signbit(share)) return bad("must lie between 0.0 and 1.0, or be auto");
  result = {.automatic = false, .share = share};
  return {};
}

Status read_styles(std::string_view value, unsigned& result) {
  unsigned styles = access_none;
  for (const std::string_view item : split(value, ',')) {
    std::size_t bit = 0;
    if (!read_name(trim(item), style_names, bit).ok())
      return bad("'" + std::string(item) + "' is no access style; expected a list of " + one_of(style_names));
    styles |= 1u << bit;
  }
  result = styles;
  return {};
}

std::string write_styles(unsigned styles) {
  std::string text;
  for (std::size_t bit = 0; bit < style_names.size(); ++bit) {
    if (!(styles & 1u << bit)) continue;
    if (!text.empty()) text += ',';
    text += style_names[bit];
  }
  return text;
}

struct PermName {
  std::string_view name;
  mode_t bits;
};
constexpr std::array<PermName, 12> perm_names = {{{"S_IRWXU", 0700},
                                                  {"S_IRUSR", 0400},
                                                  {"S_IWUSR", 0200},
                                                  {"S_IXUSR", 0100},
                                                  {"S_IRWXG", 0070},
                                                  {"S_IRGRP", 0040},
                                                  {"S_IWGRP", 0020},
                                                  {"S_IXGRP", 0010},
                                                  {"S_IRWXO", 0007},
                                                  {"S_IROTH", 0004},
                                                  {"S_IWOTH", 0002},
                                                  {"S_IXOTH", 0001}}};

Status read_perm_names(std::string_view value, mode_t& result) {
  mode_t perm = 0;
  for (const std::string_view item : split(value, '|')) {
    mode_t bits = 0;
    for (const PermName& row : perm_names)
      if (trim(item) == row.name) bits = row.bits;
    if (bits == 0) return bad("'" + std::string(item) + "' is no permission; expected names such as S_IRUSR|S_IWUSR");
    perm |= bits;
  }
  result = perm;
  return {};
}

Status read_perm(std::string_view value, mode_t& result) {
  if (value.starts_with('S')) return read_perm_names(value, result);
  mode_t perm = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, perm, 8);
  if (error == std::errc::invalid_argument || stop != end)
    return bad("expected an octal number such as 0600, or names such as S_IRUSR|S_IWUSR");
  if (error != std::errc() || perm > 0777) return bad("must lie between 0 and 0777 (octal)");
  result = perm;
  return {};
}

std::string write_perm(mode_t perm) {
  return {'0', static_cast<char>('0' + (perm >> 6 & 7)), static_cast<char>('0' + (perm >> 3 & 7)),
          static_cast<char>('0' + (perm & 7))};
}

Status read_filename(std::string_view value, std::string& result) {
  if (value.empty()) return bad("the name is empty");
  if (value.find('\0') != value.npos) return bad("the name has a zero byte in it");
  if (const auto expanded = expand_filename(value, {}); !expanded.ok()) return expanded.status();
  result = value;
  return {};
}

template <class Number>
std::string write_optional(const std::optional<Number>& value) {
  return value ? std::to_string(*value) : "";
}

constexpr std::array<std::string_view, 1> factor_aliases = {"stripe_count"};
constexpr std::array<std::string_view, 1> unit_aliases = {"stripe_size"};

using Value = std::string_view;
using Hints = WindowHints;

const std::array<HintRow, 18> rows = {{
    {.key = "alloc_type",
     .values = "memory, storage",
     .default_value = "memory",
     .help = "What the window lies on.",
     .collective = true,
     .parse = [](Value value, Hints& hints) { return read_name(value, type_names, hints.alloc_type); },
     .format = [](const Hints& hints) { return name_of(type_names, hints.alloc_type); }},
    {.key = "storage_alloc_filename",
     .values = "path of a file or block device; %r rank, %h host, %w window number, %j job id, %% a percent",
     .help = "Where the storage is; required with alloc_type=storage.",
     .parse = [](Value value, Hints& hints) { return read_filename(value, hints.filename); },
     .format = [](const Hints& hints) { return hints.filename; }},
    {.key = "storage_alloc_offset",
     .values = "whole number",
     .default_value = "0",
     .unit = "bytes",
     .help = "Where the window's bytes begin in the file or device; need not be aligned.",
     .parse = [](Value value,
                 Hints& hints) { return read_whole(value, std::uint64_t{0}, largest_offset, hints.offset); },
     .format = [](const Hints& hints) { return std::to_string(hints.offset); }},
    {.key = "storage_alloc_factor",
     .values = "0.0 to 1.0, auto",
     .default_value = "1.0",
     .help = "The share of a segment that lies on storage, the rest in memory; auto: what does not fit in the memory "
             "that is left and not promised to other windows.",
     .parse = [](Value value, Hints& hints) { return read_factor(value, hints.factor); },
     .format = [](const Hints& hints) { return hints.factor.automatic ? "auto" : text_of(hints.factor.share); }},
    {.key = "storage_alloc_order",
     .values = "memory_first, storage_first",
     .default_value = "memory_first",
     .help = "Which part of a combined segment has the lower addresses.",
     .collective = true,
     .parse = [](Value value, Hints& hints) { return read_name(value, order_names, hints.order); },
     .format = [](const Hints& hints) { return name_of(order_names, hints.order); }},
    {.key = "storage_alloc_unlink",
     .values = "true, false",
     .default_value = "false",
     .help = "Delete the file when the window is freed; no effect on devices.",
     .collective = true,
     .parse = [](Value value, Hints& hints) { return read_name(value, boolean_names, hints.unlink); },
     .format = [](const Hints& hints) { return name_of(boolean_names, hints.unlink); }},
    {.key = "storage_alloc_discard",
     .values = "true, false",
     .default_value = "false",
     .help = "Skip the sync when the window is freed.",
     .collective = true,
     .parse = [](Value value, Hints& hints) { return read_name(value, boolean_names, hints.discard); },
     .format = [](const Hints& hints) { return name_of(boolean_names, hints.discard); }},
    {.key = "access_style",
     .values = "list of read_once, write_once, read_mostly, write_mostly, sequential, reverse_sequential, "
               "random",
     .help = "How the window will be used; docs/hints.md tells what each style does, and which do nothing.",
     .parse = [](Value value, Hints& hints) { return read_styles(value, hints.access_style); },
     .format = [](const Hints& hints) { return write_styles(hints.access_style); }},
    {.key = "file_perm",
     .values = "octal up to 0777, or names: S_IRUSR|S_IWUSR",
     .default_value = "0600",
     .help = "Permissions of a file that the window creates, whatever the umask.",
     .parse = [](Value value, Hints& hints) { return read_perm(value, hints.file_perm); },
     .format = [](const Hints& hints) { return write_perm(hints.file_perm); }},
    {.key = "striping_factor",
     .values = "whole number from 1 to 2000, -1",
     .unit = "devices",
     .aliases = factor_aliases,
     .help = "How many devices of a Lustre file system a new file is spread over; -1: all.",
     .parse = [](Value value, Hints& hints) { return read_stripe_count(value, hints.striping_factor); },
     .format =
         [](const Hints& hints) {
           return hints.striping_factor == all_devices ? "-1" : write_optional(hints.striping_factor);
         }},
    {.key = "striping_unit",
     .values = "whole number from 1 to 4294901760",
     .unit = "bytes",
     .aliases = unit_aliases,
     .help =
         "How many bytes of a new file lie on one device before the next one's turn; Lustre wants multiples of 65536.",
     .parse = [](Value value, Hints& hints) { return read_stripe_unit(value, hints.striping_unit); },
     .format = [](const Hints& hints) { return write_optional(hints.striping_unit); }},
    {.key = "storage_alloc_reserve",
     .values = "full, sparse",
     .default_value = "full",
     .help = "full: blocks are reserved and a full device is an error at allocation; sparse: they come with use.",
     .collective = true,
     .parse = [](Value value, Hints& hints) { return read_name(value, reserve_names, hints.reserve); },
     .format = [](const Hints& hints) { return name_of(reserve_names, hints.reserve); }},
    {.key = "storage_alloc_engine",
     .values = engine_values,
     .default_value = engine_names[0],
     .help = engine_help,
     .collective = true,
     .parse = [](Value value, Hints& hints) { return read_name(value, engine_names, hints.engine); },
     .format = [](const Hints& hints) { return name_of(engine_names, hints.engine); }},
    {.key = "storage_alloc_layout",
     .values = "consecutive, overlap",
     .default_value = "consecutive",
     .help = "Ranks that name the same file and offset lie one after another by rank, or on top of each other.",
     .collective = true,
     .parse = [](Value value, Hints& hints) { return read_name(value, layout_names, hints.layout); },
     .format = [](const Hints& hints) { return name_of(layout_names, hints.layout); }},
    {.key = "storage_alloc_readonly",
     .values = "true, false",
     .default_value = "false",
     .help = "Only read what is there: the file must exist and be long enough, and others may read it as well.",
     .collective = true,
     .parse = [](Value value, Hints& hints) { return read_name(value, boolean_names, hints.readonly); },
     .format = [](const Hints& hints) { return name_of(boolean_names, hints.readonly); }},
    {.key = "storage_alloc_learn",
     .values = "true, false",
     .default_value = "true",
     .help = "Learn from page faults how a window larger than the memory is accessed; not if access_style is given.",
     .parse = [](Value value, Hints& hints) { return read_name(value, boolean_names, hints.learn); },
     .format = [](const Hints& hints) { return name_of(boolean_names, hints.learn); }},
    {.key = "storage_alloc_large_pages",
     .values = "true, false",
     .default_value = "true",
     .help = "Read, map and write segments of 64 MiB and more by 2 MiB; not if access_style has random.",
     .parse = [](Value value, Hints& hints) { return read_name(value, boolean_names, hints.large_pages); },
     .format = [](const Hints& hints) { return name_of(boolean_names, hints.large_pages); }},
    {.key = "storage_alloc_write_behind",
     .values = "true, false",
     .default_value = "true",
     .help = "Write out what was filled before the next sync: beyond memory, or if access_style is write_once, "
             "write_mostly or sequential.",
     .parse = [](Value value, Hints& hints) { return read_name(value, boolean_names, hints.write_behind); },
     .format = [](const Hints& hints) { return name_of(boolean_names, hints.write_behind); }},
}};

}  // namespace

std::span<const HintRow> hint_table() { return rows; }

}  // namespace sill
