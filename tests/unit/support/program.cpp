#include "unit/support/program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace sill::test {
namespace {

void become(const std::vector<std::string>& words, const std::vector<std::string>& settings) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  for (const std::string& setting : settings) {
    if (::putenv(const_cast<char*>(setting.c_str())) != 0) ::_exit(126);
  }
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

Outcome run_child(const std::function<void()>& body) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    if (::dup2(ends[1], STDOUT_FILENO) < 0 || ::dup2(ends[1], STDERR_FILENO) < 0) ::_exit(125);
    body();
    ::_exit(0);
  }
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

Outcome run_program(const std::vector<std::string>& words, const std::vector<std::string>& settings) {
  return run_child([&] { become(words, settings); });
}

}  // namespace sill::test
