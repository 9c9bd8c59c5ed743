#pragma once
// Other programs, run to their end.
#include <string>
#include <vector>

namespace sill::test {

// Runs a program (looked up in $PATH) with its arguments and, beyond this process's environment, "NAME=value" settings.
// Returns what it wrote on standard output and error, and its exit status: 128 + the signal's number if one ended it.
struct Outcome {
  int status = 0;
  std::string output;
};
Outcome run_program(const std::vector<std::string>& words, const std::vector<std::string>& settings = {});

}  // namespace sill::test
