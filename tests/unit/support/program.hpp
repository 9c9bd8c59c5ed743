#pragma once
// Other programs, and children of this one, run to their end.
#include <functional>
#include <string>
#include <vector>

namespace sill::test {

// What a child wrote on standard output and error, and its exit status: 128 + the signal's number if one ended it.
struct Outcome {
  int status = 0;
  std::string output;
};

// Runs `body` in a copy of this process; returning from it gives status 0. Nothing is flushed, checked or reported.
Outcome run_child(const std::function<void()>& body);

// From now on, this process's calls of a number (__NR_...) with this second argument fail with `error`: as on systems
// that lack something. For children only, it can't be taken back.
void fail_calls(int number, unsigned second_argument, int error);

// Runs a program (looked up in $PATH) with its arguments and, beyond this process's environment, "NAME=value" settings.
Outcome run_program(const std::vector<std::string>& words, const std::vector<std::string>& settings = {});

}  // namespace sill::test
