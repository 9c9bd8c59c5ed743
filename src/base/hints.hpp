#pragma once
// The hint table: name, values, default, unit, aliases and help of every window hint, in one place. The parser, the
// environment rules, sill.toml, `sill hints` and docs/hints.md all come from it.
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/engines.hpp"
#include "base/status.hpp"

namespace sill {

enum class AllocType { memory, storage };
enum class Order { memory_first, storage_first };
enum class Reserve { full, sparse };
enum class Layout { consecutive, overlap };

// MPI-IO's access styles, a set.
enum AccessStyle : unsigned {
  access_none = 0,
  access_read_once = 1u << 0,
  access_write_once = 1u << 1,
  access_read_mostly = 1u << 2,
  access_write_mostly = 1u << 3,
  access_sequential = 1u << 4,
  access_reverse_sequential = 1u << 5,
  access_random = 1u << 6,
};

// The share of a segment that lies on storage, 0.0 to 1.0, or `automatic`: what does not fit in memory.
struct Factor {
  bool automatic = false;
  double share = 1.0;
};

// Of a striping_factor: as many as the file system has. Lustre's own number for it.
constexpr unsigned all_devices = 0xFFFF;

struct WindowHints {
  AllocType alloc_type = AllocType::memory;
  std::string filename;  // with its placeholders
  std::uint64_t offset = 0;
  Factor factor;
  Order order = Order::memory_first;
  bool unlink = false;
  bool discard = false;
  unsigned access_style = access_none;
  mode_t file_perm = 0600;
  std::optional<unsigned> striping_factor;     // or all_devices
  std::optional<std::uint64_t> striping_unit;  // bytes
  Reserve reserve = Reserve::full;
  EngineKind engine = EngineKind::mapped;
  Layout layout = Layout::consecutive;
  bool readonly = false;
  bool learn = true;
  bool large_pages = true;
  bool write_behind = true;
  // Not in the table, for fronts that make windows of their own:
  bool anonymous = false;    // memory that has a descriptor, so that the node's ranks can map it
  bool one_process = false;  // of all that ask for this, one has the file open
};

using HintPairs = std::vector<std::pair<std::string, std::string>>;

// One row of a table. `parse` reads a value into the hints and says what is wrong with it, without naming the key.
template <class Hints>
struct RowOf {
  std::string_view key;
  std::string_view values;              // what is accepted, for people
  std::string_view default_value = {};  // "" for none
  std::string_view unit = {};           // "" for none
  std::span<const std::string_view> aliases = {};
  std::string_view help;    // one line
  bool collective = false;  // all ranks must give the same value
  Status (*parse)(std::string_view value, Hints& hints);
  std::string (*format)(const Hints& hints);  // "" when unset
};
using HintRow = RowOf<WindowHints>;

std::span<const HintRow> hint_table();

// The row of a key or alias; nullptr for an unknown key.
const HintRow* find_hint(std::string_view key);
inline bool is_hint(const std::string& key) { return find_hint(key) != nullptr; }

// Typed hints from pairs. Unknown keys are ignored (MPI 4.1, section 10); a known key with a bad value is an error that
// names key, value and reason. `alloc_type=storage` without a file name is Cause::missing_hint; hints that contradict
// storage_alloc_readonly are Cause::bad_hint.
Result<WindowHints> parse_hints(const HintPairs& pairs);

// All hints in force as pairs, in the order of the table; what MPI_Win_get_info reports.
HintPairs format_hints(const WindowHints& hints);

// Pairs of a rule "key=value,key=value" as in SILL_WINDOWS. An item without '=' continues the value before it
// ("access_style=random,write_mostly"); an unknown key is an error here, for nobody else would use it.
Result<HintPairs> parse_rule(std::string_view rule);

}  // namespace sill
