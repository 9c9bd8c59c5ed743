#pragma once
// File names with placeholders, as users write them.
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace sill {

// What stands for the placeholders of a file name.
struct NameFields {
  int rank = 0;
  std::string host;
  std::string window;  // number of a window, "m" and a number for MPI_Alloc_mem
  std::string job;
};

// `pattern` with %r %h %w %j %% replaced; another letter after % is an error.
Result<std::string> expand_filename(std::string_view pattern, const NameFields& fields);

// The pattern that expands to `path` itself.
std::string escape_filename(std::string_view path);

}  // namespace sill
