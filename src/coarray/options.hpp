#pragma once
// The option table of persistent coarrays: every PCAF_* variable, its values, default, unit and help, in one place.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hints.hpp"
#include "base/status.hpp"

namespace sill::coarray {

// What coarrays share a file: none, all images' of one coarray, all coarrays of one image.
enum class Sharing { none, images, image };

struct Options {
  bool enabled = false;
  std::string path;  // folder, with its placeholders; "" for the working folder
  std::string prefix = "OpenCoarrays_";
  Sharing sharing = Sharing::none;
  bool unlink = false;
  std::uint64_t sync_interval_ms = 0;
  std::optional<std::uint64_t> segment_size;  // bytes
  std::optional<std::uint64_t> stripe_size;   // bytes
  std::optional<unsigned> stripe_count;
  WindowHints window;               // what PCAF_WINDOW says of the coarrays' windows
  std::vector<std::string> only;    // names of the coarrays to keep; empty: all
  std::vector<std::string> except;  // names of those not to keep

  // Whether the lists let a coarray of this name be kept.
  bool keeps(std::string_view name) const;
  // Whether all of a coarray lies on storage, so that it can come back.
  bool whole() const { return !window.factor.automatic && window.factor.share >= 1.0; }
};

struct OptionRow {
  std::string_view variable;
  std::string_view values;
  std::string_view default_value;
  std::string_view unit;
  std::string_view help;  // one line
  Status (*parse)(std::string_view value, Options& options);
  std::string_view alias = "";  // another name, which counts where the variable isn't set
};

std::span<const OptionRow> option_table();

// The value of a row's variable or alias; "" if neither is set.
std::string value_of(const OptionRow& row, std::string (*variable)(const char* name));

// The name of the row that is most like `name`, if that begins with PCAF_ and is none; else "".
std::string_view meant_by(std::string_view name);

// The options, with the value of each variable from `variable`, "" where it isn't set. Cause::bad_hint names variable,
// value and reason.
Result<Options> parse_options(std::string (*variable)(const char* name));

}  // namespace sill::coarray
