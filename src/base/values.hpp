#pragma once
// Readers and writers of hint values that more than one table needs.
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/hints.hpp"
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

// What Lustre can be told: numbers of devices up to its LOV_MAX_STRIPE_COUNT, bytes in 32 bits, by 64 KiB.
constexpr unsigned largest_stripe_count = 2000;
constexpr std::uint64_t largest_stripe_unit = 0xFFFF0000;

// -1 is all devices.
inline Status read_stripe_count(std::string_view value, std::optional<unsigned>& result) {
  unsigned count = all_devices;
  const Status status = value == "-1" ? Status() : read_whole(value, 1u, largest_stripe_count, count);
  if (status.ok()) result = count;
  return status;
}

inline Status read_stripe_unit(std::string_view value, std::optional<std::uint64_t>& result) {
  std::uint64_t bytes = 0;
  const Status status = read_whole(value, std::uint64_t{1}, largest_stripe_unit, bytes);
  if (status.ok()) result = bytes;
  return status;
}

// Files end at the largest off_t.
constexpr std::uint64_t largest_offset = std::numeric_limits<std::int64_t>::max();

}  // namespace sill::values
