#pragma once
// The table [windows] of a sill.toml.
#include <string>

#include "base/hints.hpp"
#include "base/status.hpp"

namespace sill {

// The hints of [windows] as checked pairs, in the order of the keys' names; empty without that table. Messages name
// path and line. Anything else in the file is an error: a misspelt table must not go unseen.
Result<HintPairs> parse_toml_rules(const std::string& text, const std::string& path);

}  // namespace sill
