// Each test runs in children: a process is in one record, that of the job it belongs to.
#include "storage/promises.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "storage/mapping.hpp"
#include "unit/support/program.hpp"

namespace sill::storage {
namespace {

constexpr std::uint64_t mib = 1u << 20;

// A job of its own for each test; nothing of it may be left in shared memory.
class Promises : public testing::Test {
 protected:
  void SetUp() override {
    job_ = "unit-" + std::to_string(::getpid()) + testing::UnitTest::GetInstance()->current_test_info()->name();
    ASSERT_EQ(::setenv("SILL_JOB_ID", job_.c_str(), 1), 0);
  }
  void TearDown() override {
    EXPECT_FALSE(std::filesystem::exists(file()));
    ASSERT_EQ(::unsetenv("SILL_JOB_ID"), 0);
  }
  std::string file() const { return "/dev/shm/sill-" + std::to_string(::geteuid()) + "-" + job_; }

  std::string job_;
};

// Ends as programs end, with what is called at exit.
[[noreturn]] void end(bool right) { std::exit(right ? 0 : 1); }

TEST_F(Promises, CountUntilTheyAreTouchedOrGone) {
  const auto outcome = test::run_child([] {
    Promise first(3 * mib);
    if (promised_memory() != 3 * mib) end(false);
    {
      const Promise second(5 * mib);
      if (promised_memory() != 8 * mib) end(false);
    }
    if (promised_memory() != 3 * mib) end(false);
    auto region = Region::reserve(3 * mib);
    if (!region.ok()) end(false);
    first.lies_at(region.value().data());
    for (std::uint64_t at = 0; at < 2 * mib; at += page_size()) region.value().data()[at] = std::byte{1};
    // Large pages may have brought more.
    end(promised_memory() <= mib);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

TEST_F(Promises, OfOtherProcessesCountAsLongAsTheseLive) {
  const auto outcome = test::run_child([] {
    int ready[2];
    if (::pipe(ready) != 0) end(false);
    const Promise mine(mib);
    const pid_t other = ::fork();
    if (other == 0) {
      char program[4096] = {};
      const ssize_t length = ::readlink("/proc/self/exe", program, sizeof program - 1);
      if (length <= 0 || ::dup2(ready[1], STDOUT_FILENO) < 0) ::_exit(9);
      ::execl(program, program, "--gtest_also_run_disabled_tests",
              "--gtest_filter=PromisesOther.DISABLED_ChildWaitsToBeKilled", static_cast<char*>(nullptr));
      ::_exit(9);
    }
    ::close(ready[1]);
    // Its own text comes after what the test framework says.
    std::string said;
    char letter = 0;
    while (said.find("promised\n") == said.npos && ::read(ready[0], &letter, 1) == 1) said += letter;
    const bool counted = promised_memory() == 5 * mib;
    if (::kill(other, SIGKILL) != 0 || ::waitpid(other, nullptr, 0) != other) end(false);
    end(counted && promised_memory() == mib);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

TEST_F(Promises, StayWhenAChildOfForkEnds) {
  const auto outcome = test::run_child([&] {
    const Promise mine(mib);
    const pid_t child = ::fork();
    if (child == 0) end(true);
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0) end(false);
    std::uint64_t noted = 0;  // by the first process of the record
    std::ifstream(file(), std::ios::binary).read(reinterpret_cast<char*>(&noted), sizeof noted);
    end(noted == mib);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

// The other process of the test before.
TEST(PromisesOther, DISABLED_ChildWaitsToBeKilled) {
  const Promise other(4 * mib);
  if (::write(STDOUT_FILENO, "promised\n", 9) != 9) ::_exit(9);
  for (;;) ::pause();
}

}  // namespace
}  // namespace sill::storage
