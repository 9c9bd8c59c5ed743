#pragma once
// Readers and writers of hint values that more than one table needs.
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.hpp"

namespace sill::values {

inline Status bad(std::string reason) { return {Cause::bad_hint, std::move(reason)}; }

// "a, b or c"
template <class Names>
std::string one_of(const Names& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

template <class Enum, std::size_t N>
Status read_name(std::string_view value, const std::array<std::string_view, N>& names, Enum& result) {
  for (std::size_t i = 0; i < N; ++i) {
    if (value == names[i]) {
      result = static_cast<Enum>(i);
      return {};
    }
  }
  return bad("expected " + one_of(names));
}

template <class Enum, std::size_t N>
std::string name_of(const std::array<std::string_view, N>& names, Enum value) {
  return std::string(names[static_cast<std::size_t>(value)]);
}

}  // namespace sill::values
