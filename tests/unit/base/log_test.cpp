// The level is read once for a process, so each test logs in a child.
#include "base/log.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

namespace sill {
namespace {

class Log : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// Logs one line of each level in a program with SILL_LOG=`level`, and ends it.
[[noreturn]] void log_all(const char* level) {
  if (level ? ::setenv("SILL_LOG", level, 1) != 0 : ::unsetenv("SILL_LOG") != 0) ::exit(1);
  log(LogLevel::error, "E");
  log(LogLevel::warn, "W");
  log(LogLevel::info, "I");
  log(LogLevel::debug, "D");
  log(LogLevel::off, "never");
  ::exit(0);
}

testing::ExitedWithCode good(0);

TEST_F(Log, WarnsUnlessAskedForMore) { EXPECT_EXIT(log_all(nullptr), good, "^sill error: E\nsill warn: W\n$"); }

TEST_F(Log, EveryLevelShowsItselfAndTheGraverOnes) {
  EXPECT_EXIT(log_all("off"), good, "^$");
  EXPECT_EXIT(log_all("error"), good, "^sill error: E\n$");
  EXPECT_EXIT(log_all("warn"), good, "^sill error: E\nsill warn: W\n$");
  EXPECT_EXIT(log_all("info"), good, "^sill error: E\nsill warn: W\nsill info: I\n$");
  EXPECT_EXIT(log_all("debug"), good, "^sill error: E\nsill warn: W\nsill info: I\nsill debug: D\n$");
}

TEST_F(Log, ABadLevelIsSaidOnce) {
  EXPECT_EXIT(log_all("loud"), good, "^sill warn: SILL_LOG=loud: expected [^\n]*\nsill error: E\nsill warn: W\n$");
}

TEST_F(Log, ShowsTheRankOnceItIsKnown) {
  EXPECT_EXIT((set_log_rank(12), log_all("error")), good, "^sill\\[12\\] error: E\n$");
}

TEST_F(Log, AMessageIsOneLine) {
  EXPECT_EXIT((log(LogLevel::error, "a\nb\tc\x1b[31m"), ::exit(0)), good, "^sill error: a b c \\[31m\n$");
}

TEST_F(Log, KeepsErrnoAndSurvivesAClosedStandardError) {
  const auto log_to_nowhere = [] {
    if (::close(STDERR_FILENO) != 0) ::exit(1);
    errno = ENOSPC;
    log(LogLevel::error, "nobody reads this");
    ::exit(errno == ENOSPC ? 0 : 2);
  };
  EXPECT_EXIT(log_to_nowhere(), good, "");
}

TEST_F(Log, EnabledSaysWhatWouldBeWritten) {
  const auto ask = [] {
    if (::setenv("SILL_LOG", "info", 1) != 0) ::exit(1);
    const bool right = log_enabled(LogLevel::info) && !log_enabled(LogLevel::debug) && !log_enabled(LogLevel::off);
    ::exit(right ? 0 : 2);
  };
  EXPECT_EXIT(ask(), good, "");
}

}  // namespace
}  // namespace sill
