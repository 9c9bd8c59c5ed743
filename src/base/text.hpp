#pragma once
// Pieces of text.
#include <string>
#include <string_view>
#include <vector>

namespace sill {

// The parts of `text` between separators; one, empty, for an empty text.
std::vector<std::string_view> split(std::string_view text, char separator);

// `text` without blanks and tabs at both ends.
std::string_view trim(std::string_view text);

}  // namespace sill
