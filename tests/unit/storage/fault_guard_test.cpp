// Each test ends a child by SIGBUS, or tries to: the guard is installed once for a process.
#include "storage/fault_guard.hpp"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "storage/mapping.hpp"
#include "unit/support/files.hpp"
#include "unit/support/folder.hpp"
#include "unit/support/mounts.hpp"
#include "unit/support/program.hpp"

// AddressSanitizer would answer both signals in the guard's place.
extern "C" const char* __asan_default_options();
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "handle_sigbus=0:handle_segv=0";
}

namespace sill::storage {
namespace {

constexpr int ended_by_bus = 128 + SIGBUS;

void say(const char* text) {
  if (::write(STDOUT_FILENO, text, std::strlen(text)) < 0) ::_exit(3);
}

void set_handler(void (*handler)(int), int flags = 0) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  if (::sigaction(SIGBUS, &action, nullptr) != 0) ::_exit(4);
}

// A window's page whose file was cut away under it.
class FaultGuardTest : public testing::Test {
 protected:
  struct Window {
    File file;
    Region region;
    FaultGuard guard;
  };

  Window open() {
    File file = test::open_reserved(folder_ / "w", 0, 2 * page_size());
    auto region = Region::reserve(2 * page_size());
    if (!region.ok() || !map_over(region.value().data(), 2 * page_size(), file, 0, {}).ok()) ::_exit(5);
    FaultGuard guard(region.value().data(), 2 * page_size(), "w7", file.path());
    return {std::move(file), std::move(region).value(), std::move(guard)};
  }
  void cut_and_touch(const Window& window) {
    std::filesystem::resize_file(folder_ / "w", 0);
    window.region.data()[page_size()] = std::byte{1};
  }
  // The same to a mapping that is no window.
  void fault_elsewhere() {
    const File other = test::open_reserved(folder_ / "other", 0, page_size());
    const auto region = Region::reserve(page_size());
    if (!region.ok() || !map_over(region.value().data(), page_size(), other, 0, {}).ok()) ::_exit(5);
    std::filesystem::resize_file(folder_ / "other", 0);
    region.value().data()[0] = std::byte{1};
  }
  void expect_said(const std::string& output) {
    EXPECT_EQ(std::ranges::count(output, '\n'), 1) << output;
    EXPECT_NE(output.find("w7"), std::string::npos) << output;
    EXPECT_NE(output.find(folder_ / "w"), std::string::npos) << output;
    EXPECT_NE(output.find("cut short"), std::string::npos) << output;
  }

  test::Folder folder_;
};

TEST_F(FaultGuardTest, EndsTheProgramWithOneLine) {
  const auto outcome = test::run_child([&] { cut_and_touch(open()); });
  EXPECT_EQ(outcome.status, ended_by_bus);
  expect_said(outcome.output);
}

TEST_F(FaultGuardTest, TheProgramsHandlerHasItsTurnFirst) {
  const auto outcome = test::run_child([&] {
    set_handler([](int) { say("mine|"); });
    cut_and_touch(open());
  });
  EXPECT_EQ(outcome.status, ended_by_bus);
  EXPECT_TRUE(outcome.output.starts_with("mine|")) << outcome.output;
  expect_said(outcome.output);
}

TEST_F(FaultGuardTest, AHandlerWithDetailsGetsTheAddress) {
  static const void* touched = nullptr;
  const auto outcome = test::run_child([&] {
    struct sigaction action = {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t* info, void*) { say(info->si_addr == touched ? "right|" : "wrong|"); };
    if (::sigaction(SIGBUS, &action, nullptr) != 0) ::_exit(4);
    const Window window = open();
    touched = window.region.data() + page_size();
    cut_and_touch(window);
  });
  EXPECT_EQ(outcome.status, ended_by_bus);
  EXPECT_TRUE(outcome.output.starts_with("right|")) << outcome.output;
}

TEST_F(FaultGuardTest, AHandlerMayJumpAway) {
  static sigjmp_buf escape;
  const auto outcome = test::run_child([&] {
    set_handler([](int) { siglongjmp(escape, 1); });
    const Window window = open();
    if (sigsetjmp(escape, 1) == 0) {
      cut_and_touch(window);
      ::_exit(6);
    }
    say("escaped");
  });
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "escaped");
}

TEST_F(FaultGuardTest, AHandlerThatEndsTheProgramIsObeyed) {
  const auto outcome = test::run_child([&] {
    set_handler([](int) { ::_exit(42); });
    cut_and_touch(open());
  });
  EXPECT_EQ(outcome.status, 42);
  EXPECT_EQ(outcome.output, "");
}

TEST_F(FaultGuardTest, OtherFaultsAreThePrograms) {
  const auto outcome = test::run_child([&] {
    const Window window = open();
    fault_elsewhere();
  });
  EXPECT_EQ(outcome.status, ended_by_bus);
  EXPECT_EQ(outcome.output, "");
}

TEST_F(FaultGuardTest, AFreedWindowIsNotWatched) {
  const auto outcome = test::run_child([&] {
    Window window = open();
    window.guard = FaultGuard();
    cut_and_touch(window);
  });
  EXPECT_EQ(outcome.status, ended_by_bus);
  EXPECT_EQ(outcome.output, "");
}

TEST_F(FaultGuardTest, EachWindowIsNamedByItself) {
  const auto outcome = test::run_child([&] {
    const Window first = open();
    const File other = test::open_reserved(folder_ / "other", 0, page_size());
    const auto region = Region::reserve(page_size());
    if (!region.ok() || !map_over(region.value().data(), page_size(), other, 0, {}).ok()) ::_exit(5);
    const FaultGuard guard(region.value().data(), page_size(), "w8", other.path());
    std::filesystem::resize_file(folder_ / "other", 0);
    region.value().data()[0] = std::byte{1};
  });
  EXPECT_EQ(outcome.status, ended_by_bus);
  EXPECT_NE(outcome.output.find("w8"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("w7"), std::string::npos) << outcome.output;
}

TEST_F(FaultGuardTest, AFullDeviceIsTheReasonGiven) {
  if (const auto reason = test::why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  const test::Mounted mounted(1u << 20);
  const std::size_t length = 4u << 20;
  const auto outcome = test::run_child([&] {
    const File file = test::open_reserved(mounted / "w", 0, length, Reserve::sparse);
    const auto region = Region::reserve(length);
    if (!region.ok() || !map_over(region.value().data(), length, file, 0, {}).ok()) ::_exit(5);
    const FaultGuard guard(region.value().data(), length, "w7", file.path());
    std::memset(region.value().data(), 'x', length);
  });
  EXPECT_EQ(outcome.status, ended_by_bus);
  EXPECT_NE(outcome.output.find("no space left"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find(mounted / "w"), std::string::npos) << outcome.output;
}

// sigaction as the program sees it, which libsill answers while the guard is there.
TEST_F(FaultGuardTest, KeepsTheProgramsActionForIt) {
  const auto outcome = test::run_child([&] {
    struct sigaction found = {};
    if (guarded_sigaction(SIGBUS, nullptr, &found)) ::_exit(10);
    set_handler(SIG_IGN);
    const Window window = open();
    if (!guarded_sigaction(SIGBUS, nullptr, &found) || found.sa_handler != SIG_IGN) ::_exit(11);
    struct sigaction mine = {};
    mine.sa_handler = [](int) { say("mine|"); };
    if (!guarded_sigaction(SIGBUS, &mine, &found) || found.sa_handler != SIG_IGN) ::_exit(12);
    if (!guarded_sigaction(SIGBUS, nullptr, &found) || found.sa_handler != mine.sa_handler) ::_exit(13);
    cut_and_touch(window);
  });
  EXPECT_EQ(outcome.status, ended_by_bus);
  EXPECT_TRUE(outcome.output.starts_with("mine|")) << outcome.output;
  expect_said(outcome.output);
}

TEST_F(FaultGuardTest, AHandlerForOneFaultIsUsedOnce) {
  static int calls = 0;
  static sigjmp_buf escape;
  const auto outcome = test::run_child([&] {
    set_handler(
        [](int) {
          ++calls;
          siglongjmp(escape, 1);
        },
        static_cast<int>(SA_RESETHAND));
    const Window window = open();
    if (sigsetjmp(escape, 1) == 0) cut_and_touch(window);
    say(calls == 1 ? "once|" : "again|");
    if (calls == 1) cut_and_touch(window);
  });
  EXPECT_EQ(outcome.status, ended_by_bus);
  EXPECT_TRUE(outcome.output.starts_with("once|sill")) << outcome.output;
}

// The flag that goes with the handler's type must go with the handler.
TEST_F(FaultGuardTest, AHandlerWithDetailsForOneFaultIsUsedOnce) {
  static int calls = 0;
  static sigjmp_buf escape;
  const auto outcome = test::run_child([&] {
    struct sigaction action = {};
    action.sa_flags = static_cast<int>(SA_SIGINFO | SA_RESETHAND);
    action.sa_sigaction = [](int, siginfo_t*, void*) {
      ++calls;
      siglongjmp(escape, 1);
    };
    if (::sigaction(SIGBUS, &action, nullptr) != 0) ::_exit(4);
    const Window window = open();
    if (sigsetjmp(escape, 1) == 0) cut_and_touch(window);
    struct sigaction left = {};
    if (!guarded_sigaction(SIGBUS, nullptr, &left) || left.sa_handler != SIG_DFL || (left.sa_flags & SA_SIGINFO))
      ::_exit(7);
    say(calls == 1 ? "once|" : "again|");
    if (calls == 1) cut_and_touch(window);
  });
  EXPECT_EQ(outcome.status, ended_by_bus);
  EXPECT_TRUE(outcome.output.starts_with("once|sill")) << outcome.output;
}

TEST_F(FaultGuardTest, DetailsWithoutAHandlerAreNoHandler) {
  for (const auto handler : {SIG_DFL, SIG_IGN}) {
    const auto outcome = test::run_child([&] {
      set_handler(handler, SA_SIGINFO);
      cut_and_touch(open());
    });
    EXPECT_EQ(outcome.status, ended_by_bus);
    expect_said(outcome.output);
  }
}

// As the kernel does it: a fault can't be ignored, for the program would do nothing but fault from then on.
TEST_F(FaultGuardTest, AFaultElsewhereThatIsIgnoredEndsTheProgram) {
  const auto outcome = test::run_child([&] {
    ::alarm(20);
    set_handler(SIG_IGN);
    const Window window = open();
    fault_elsewhere();
  });
  EXPECT_EQ(outcome.status, ended_by_bus);
  EXPECT_EQ(outcome.output, "");
}

// Also while the thread that it interrupts does so.
TEST_F(FaultGuardTest, AHandlerOfAnotherSignalMayAskForTheAction) {
  static std::atomic<int> calls = 0;
  const auto outcome = test::run_child([&] {
    ::alarm(60);
    const Window window = open();
    struct sigaction action = {};
    action.sa_handler = [](int) {
      struct sigaction now;
      if (guarded_sigaction(SIGBUS, nullptr, &now)) ++calls;
    };
    if (::sigaction(SIGUSR1, &action, nullptr) != 0) ::_exit(4);
    const pthread_t interrupted = ::pthread_self();
    std::thread sender([&] {
      while (calls < 2000) ::pthread_kill(interrupted, SIGUSR1);
    });
    struct sigaction now;
    while (calls < 2000) guarded_sigaction(SIGBUS, nullptr, &now);
    sender.join();
  });
  EXPECT_EQ(outcome.status, 0);
}

// A store to a window that is only read; the signal is the program's own again when the window is gone.
TEST_F(FaultGuardTest, AWindowThatIsOnlyReadIsNamed) {
  std::filesystem::resize_file(test::open_reserved(folder_ / "w", 0, page_size()).path(), page_size());
  const auto outcome = test::run_child([&] {
    struct sigaction action = {};
    action.sa_handler = [](int) { say("mine|"); };
    if (::sigaction(SIGSEGV, &action, nullptr) != 0) ::_exit(4);
    auto file = File::open({.path = folder_ / "w", .readonly = true});
    const auto region = Region::reserve(page_size());
    if (!file.ok() || !region.ok() || !map_over(region.value().data(), page_size(), file.value(), 0, {}).ok())
      ::_exit(5);
    struct sigaction found = {};
    {
      const FaultGuard passing(region.value().data(), page_size(), "w6", file.value().path(), true);
      if (!guarded_sigaction(SIGSEGV, nullptr, &found) || found.sa_handler != action.sa_handler) ::_exit(6);
    }
    if (guarded_sigaction(SIGSEGV, nullptr, &found)) ::_exit(7);
    if (::sigaction(SIGSEGV, nullptr, &found) != 0 || found.sa_handler != action.sa_handler) ::_exit(8);
    const FaultGuard guard(region.value().data(), page_size(), "w7", file.value().path(), true);
    region.value().data()[0] = std::byte{1};
  });
  EXPECT_EQ(outcome.status, 128 + SIGSEGV);
  EXPECT_TRUE(outcome.output.starts_with("mine|sill: error: window w7")) << outcome.output;
  EXPECT_NE(outcome.output.find("storage_alloc_readonly"), std::string::npos) << outcome.output;
}

// A wild pointer in a program that has such a window is the program's business.
// Another thread's windows that are only read come and go all the time.
TEST_F(FaultGuardTest, WhatIsSetWhileAWindowGoesIsNotLost) {
  const auto outcome = test::run_child([&] {
    struct sigaction actions[2] = {};
    actions[0].sa_handler = [](int) { say("first"); };
    actions[1].sa_handler = [](int) { say("second"); };
    if (::sigaction(SIGSEGV, &actions[0], nullptr) != 0) ::_exit(4);
    std::atomic<bool> over = false;
    std::thread windows([&] {
      while (!over) const FaultGuard guard(&over, sizeof over, "w", "/w", true);
    });
    int now = 0;
    for (int times = 0; times < 200000; ++times) {
      // Where no window is there, the call is the C library's, which this test doesn't race with.
      if (guarded_sigaction(SIGSEGV, &actions[1 - now], nullptr)) now = 1 - now;
      struct sigaction found = {};
      do {
        if (!guarded_sigaction(SIGSEGV, nullptr, &found)) ::sigaction(SIGSEGV, nullptr, &found);
      } while (found.sa_handler != actions[0].sa_handler && found.sa_handler != actions[1].sa_handler);
      if (found.sa_handler != actions[now].sa_handler) ::_exit(6);
    }
    over = true;
    windows.join();
    ::_exit(0);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

TEST_F(FaultGuardTest, AFaultElsewhereIsNotTheWindows) {
  const auto outcome = test::run_child([&] {
    const Window window = open();
    const FaultGuard guard(&window, 1, "w8", "/nowhere", true);
    *reinterpret_cast<volatile char*>(page_size() / 2) = 1;
  });
  EXPECT_EQ(outcome.status, 128 + SIGSEGV);
  EXPECT_EQ(outcome.output, "");
}

TEST_F(FaultGuardTest, ASignalThatSomebodySendsCanBeIgnored) {
  const auto outcome = test::run_child([&] {
    set_handler(SIG_IGN);
    const Window window = open();
    if (::raise(SIGBUS) != 0) ::_exit(8);
    say("alive");
  });
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "alive");
}

}  // namespace
}  // namespace sill::storage
