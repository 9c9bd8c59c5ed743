#include "unit/support/program.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace sill::test {
namespace {

[[noreturn]] void become(const std::vector<std::string>& words, const std::vector<std::string>& settings, int output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  bool ready = ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(output, STDERR_FILENO) >= 0;
  for (const std::string& setting : settings) ready = ready && ::putenv(const_cast<char*>(setting.c_str())) == 0;
  if (ready) ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

Outcome run_program(const std::vector<std::string>& words, const std::vector<std::string>& settings) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) become(words, settings, ends[1]);
  EXPECT_EQ(::close(ends[1]), 0);
  Outcome outcome;
  std::array<char, 4096> buffer;
  for (ssize_t count; (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    outcome.output.append(buffer.data(), static_cast<std::size_t>(count));
  }
  EXPECT_EQ(::close(ends[0]), 0);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  outcome.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return outcome;
}

}  // namespace sill::test
