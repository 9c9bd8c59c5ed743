#pragma once
// Pieces of text.
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace sill {

// The parts of `text` between separators; one, empty, for an empty text.
std::vector<std::string_view> split(std::string_view text, char separator);

// `text` without blanks and tabs at both ends.
std::string_view trim(std::string_view text);

// Whether `text` is a number, and nothing else; then it is in `number`.
template <class Number>
bool read_number(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

// `number` in hexadecimal, its last `digits` digits.
std::string hex(std::uint64_t number, std::size_t digits);

// The shortest text that is read as the same number again.
std::string text_of(double number);

}  // namespace sill
