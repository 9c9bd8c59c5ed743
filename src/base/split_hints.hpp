#pragma once
// The hints of MPI_Comm_split_type: which directory, and how to find out who shares it.
#include <span>
#include <string>
#include <string_view>

#include "base/filename.hpp"
#include "base/hints.hpp"

namespace sill {

// In the order of sill.h's SILL_SPLIT_ values.
enum class SplitMethod : int { automatic, exhaustive, heuristic, fingerprint };

struct SplitHints {
  std::string directory;  // with its placeholders
  SplitMethod method = SplitMethod::automatic;
};

using SplitRow = RowOf<SplitHints>;
std::span<const SplitRow> split_hint_table();

// Typed hints from pairs. Unknown keys are ignored; a bad value is an error that names key, value and reason.
Result<SplitHints> parse_split_hints(const HintPairs& pairs);

// The name of a method, as nbhd_method has it.
std::string_view method_name(SplitMethod method);

// The directory of a pattern: %r rank, %h host, %j job id.
Result<std::string> expand_directory(std::string_view pattern, const NameFields& fields);

}  // namespace sill
