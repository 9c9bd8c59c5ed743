#pragma once
// Readers and writers of hint values that more than one table needs.
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
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

// A whole number of at least `low`, and nothing behind it.
template <class Number>
Status read_whole(std::string_view value, Number low, Number high, Number& result) {
  Number number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error == std::errc::invalid_argument || value.empty()) return bad("expected a whole number, not negative");
  if (error == std::errc::result_out_of_range || number > high) return bad("is above " + std::to_string(high));
  if (stop != end) return bad("has something other than digits in it");
  if (number < low) return bad("must be at least " + std::to_string(low));
  result = number;
  return {};
}

// Files end at the largest off_t.
constexpr std::uint64_t largest_offset = std::numeric_limits<std::int64_t>::max();

}  // namespace sill::values
