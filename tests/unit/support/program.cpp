#include "unit/support/program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
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

void fail_calls(int number, unsigned second_argument, int error) {
  constexpr unsigned second = offsetof(seccomp_data, args[1]) + (std::endian::native == std::endian::big ? 4 : 0);
  constexpr auto load = static_cast<unsigned short>(BPF_LD | BPF_W | BPF_ABS);
  constexpr auto jump_if_equal = static_cast<unsigned short>(BPF_JMP | BPF_JEQ | BPF_K);
  constexpr auto answer = static_cast<unsigned short>(BPF_RET | BPF_K);
  std::array filter = {
      sock_filter{load, 0, 0, offsetof(seccomp_data, nr)},
      sock_filter{jump_if_equal, 0, 3, static_cast<unsigned>(number)},
      sock_filter{load, 0, 0, second},
      sock_filter{jump_if_equal, 0, 1, second_argument},
      sock_filter{answer, 0, 0, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)},
      sock_filter{answer, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(124);
}

Outcome run_program(const std::vector<std::string>& words, const std::vector<std::string>& settings) {
  return run_child([&] { become(words, settings); });
}

}  // namespace sill::test
