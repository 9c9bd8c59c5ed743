#include "base/text.hpp"

#include <array>

namespace sill {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == text.npos) return parts;
    begin = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string hex(std::uint64_t number, std::size_t digits) {
  std::string text(digits, '0');
  for (std::size_t at = digits; at > 0; number >>= 4) text[--at] = "0123456789abcdef"[number & 15];
  return text;
}

std::string text_of(double number) {
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return {buffer.data(), end};
}

}  // namespace sill
