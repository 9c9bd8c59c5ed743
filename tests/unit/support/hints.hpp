#pragma once
// Hints in tests: equality of every field, and how they are printed when a test fails.
#include <gtest/gtest.h>

#include <tuple>

#include "base/hints.hpp"

namespace sill {

inline auto fields(const WindowHints& hints) {
  return std::tie(hints.alloc_type, hints.filename, hints.offset, hints.factor.automatic, hints.factor.share,
                  hints.order, hints.unlink, hints.discard, hints.access_style, hints.file_perm, hints.striping_factor,
                  hints.striping_unit, hints.reserve, hints.engine, hints.layout, hints.readonly);
}

inline bool operator==(const WindowHints& left, const WindowHints& right) { return fields(left) == fields(right); }

inline void PrintTo(const WindowHints& hints, std::ostream* out) {
  for (const auto& [key, value] : format_hints(hints)) *out << key << '=' << value << ' ';
}

}  // namespace sill
