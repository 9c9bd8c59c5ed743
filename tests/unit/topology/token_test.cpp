#include "topology/token.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>

#include "unit/support/folder.hpp"
#include "unit/support/mounts.hpp"
#include "unit/support/program.hpp"

namespace sill::topology {
namespace {

constexpr SplitId id = {0x0123456789abcdef, 0xfedcba9876543210};

Directory open(const std::string& path) {
  auto directory = Directory::open(path);
  EXPECT_TRUE(directory.ok() && directory.value()) << path;
  return *std::move(directory).value();
}

std::size_t entries(const std::string& path) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator()));
}

// Both parts of a task, one rank after another.
void prepare(Traces& traces, Task task, int rank) {
  const Status status = traces.prepare(task, rank);
  EXPECT_TRUE(status.ok()) << status.message();
}
Answer finish(Traces& traces, Task task, int rank) {
  const auto answer = traces.finish(task, rank);
  EXPECT_TRUE(answer.ok()) << answer.status().message();
  return answer.ok() ? answer.value() : Answer{};
}

TEST(Traces, ATokenIsSeenByOthersAndGoneAfterwards) {
  Operations spent;
  Operations others;
  const test::Folder folder;
  const Directory directory = open(folder.path());
  Traces maker(directory, id, spent);
  Traces second(directory, id, others);
  Traces other(directory, id, others);
  prepare(other, Task::look, 5);
  EXPECT_EQ(finish(other, Task::look, 5).outcome, Outcome::nothing);
  prepare(maker, Task::create, 3);
  prepare(second, Task::create, 4);
  EXPECT_EQ(finish(maker, Task::create, 3).outcome, Outcome::made);
  EXPECT_EQ(finish(second, Task::create, 4).outcome, Outcome::found);
  EXPECT_EQ(finish(second, Task::create, 4).maker, 3);
  EXPECT_EQ(finish(other, Task::look, 5).maker, 3);
  EXPECT_EQ(entries(folder.path()), 1u);
  second.remove();
  EXPECT_EQ(entries(folder.path()), 1u) << "only its maker removes a token";
  maker.remove();
  EXPECT_EQ(entries(folder.path()), 0u);
  EXPECT_EQ(spent.creates, 1u);
  EXPECT_EQ(spent.looks, 0u);
  EXPECT_EQ(spent.removes, 1u);
  EXPECT_EQ(others.creates, 0u);
}

TEST(Traces, SplitsDoNotSeeEachOther) {
  Operations spent;
  const test::Folder folder;
  const Directory directory = open(folder.path());
  Traces one(directory, id, spent);
  Traces two(directory, {1, 2}, spent);
  prepare(one, Task::create, 3);
  EXPECT_EQ(finish(two, Task::look, 0).outcome, Outcome::nothing);
  const auto first = random_split_id();
  const auto second = random_split_id();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first.value(), second.value());
}

TEST(Traces, AreRemovedWithTheirObject) {
  Operations spent;
  const test::Folder folder;
  const Directory directory = open(folder.path());
  for (const Task task : {Task::create, Task::list}) {
    {
      Traces traces(directory, id, spent);
      prepare(traces, task, 0);
      EXPECT_EQ(entries(folder.path()), 1u);
    }
    EXPECT_EQ(entries(folder.path()), 0u);
  }
}

TEST(Traces, AListHasTheLowestRank) {
  Operations spent;
  Operations others;
  const test::Folder folder;
  const Directory directory = open(folder.path());
  Traces one(directory, id, spent);
  Traces two(directory, id, others);
  prepare(one, Task::list, 12);
  prepare(two, Task::list, 7);
  EXPECT_EQ(finish(one, Task::list, 12).maker, 7);
  EXPECT_EQ(finish(two, Task::list, 7).maker, 7);
  one.remove();
  EXPECT_EQ(entries(folder.path()), 1u);
  two.remove();
  EXPECT_EQ(entries(folder.path()), 0u);
  EXPECT_EQ(spent.creates, 2u) << "the folder and the file";
  EXPECT_EQ(others.removes, 2u);
}

TEST(Traces, ADirectoryThatIsGoneIsSaid) {
  Operations spent;
  const test::Folder folder;
  std::filesystem::create_directory(folder / "gone");
  const Directory directory = open(folder / "gone");
  std::filesystem::remove(folder / "gone");
  for (const Task task : {Task::create, Task::list}) {
    Traces traces(directory, id, spent);
    prepare(traces, task, 0);
    EXPECT_EQ(finish(traces, task, 0).outcome, Outcome::gone);
  }
}

TEST(Traces, WhatCanNotBeMadeIsRefused) {
  Operations spent;
  Operations others;
  if (const auto reason = test::why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  test::Mounted mounted(1u << 20);
  const Directory writable = open(mounted.path());
  Traces token(writable, id, spent);
  prepare(token, Task::create, 3);
  mounted.make_read_only();
  const Directory directory = open(mounted.path());
  Traces same(directory, id, spent);
  prepare(same, Task::create, 4);
  EXPECT_EQ(finish(same, Task::create, 4).maker, 3) << "what others made is seen";
  for (const Task task : {Task::create, Task::list}) {
    Traces traces(directory, {1, 2}, others);
    prepare(traces, task, 0);
    EXPECT_EQ(finish(traces, task, 0).outcome, Outcome::refused);
    EXPECT_EQ(others.creates, 0u);
  }
  ASSERT_EQ(::mount(nullptr, mounted.path().c_str(), nullptr, MS_REMOUNT, nullptr), 0) << "so that it can be removed";
}

// Every i-node of the file system is used up.
TEST(Traces, AFullFileSystemRefuses) {
  Operations spent;
  if (const auto reason = test::why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  const test::Mounted mounted(1u << 20);
  ASSERT_EQ(::mount(nullptr, mounted.path().c_str(), nullptr, MS_REMOUNT, "nr_inodes=10"), 0);
  int files = 0;
  for (;; ++files) {
    const int fd = ::open((mounted / std::to_string(files)).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) break;
    ::close(fd);
  }
  EXPECT_EQ(errno, ENOSPC);
  const Directory directory = open(mounted.path());
  for (const Task task : {Task::create, Task::list}) {
    Traces traces(directory, id, spent);
    prepare(traces, task, 0);
    EXPECT_EQ(finish(traces, task, 0).outcome, Outcome::refused);
    traces.remove();
    EXPECT_EQ(entries(mounted.path()), static_cast<std::size_t>(files));
  }
}

void make_older(const std::string& path, std::time_t seconds) {
  const timespec time{std::time(nullptr) - seconds, 0};
  const timespec times[] = {time, time};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
}

TEST(Traces, OfJobsThatWereKilledAreCleaned) {
  const test::Folder folder;
  const std::string digits = "0123456789abcdef0123456789abcde";
  const std::string file = folder / (".sill-split-" + digits + "0");
  const std::string link = folder / (".sill-split-" + digits + "1");
  const std::string whole = folder / (".sill-split-" + digits + "2");
  const std::string young = folder / (".sill-split-" + digits + "3");
  const std::string foreign = folder / ".sill-split-mine";
  test::write_text(file, "");
  std::filesystem::create_symlink("4", link);
  test::write_text(whole + "/0", "");
  test::write_text(whole + "/17", "");
  std::filesystem::create_symlink("4", young);
  test::write_text(foreign, "");
  for (const std::string& path : {file, link, whole, foreign}) make_older(path, 2 * 3600);
  make_older(young, 60);
  Operations operations;
  remove_old_traces(open(folder.path()), std::time(nullptr), operations);
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(file)));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(link)));
  EXPECT_FALSE(std::filesystem::exists(whole));
  EXPECT_TRUE(std::filesystem::is_symlink(young));
  EXPECT_TRUE(std::filesystem::exists(foreign));
  EXPECT_EQ(operations.removes, 5u);
}

TEST(Traces, WithoutSymbolicLinksATokenIsAFolder) {
  Operations spent;
  Operations others;
  const test::Folder folder;
  const auto outcome = test::run_child([&] {
    const Directory directory = open(folder.path());
    test::fail_calls(__NR_symlinkat, static_cast<unsigned>(directory.fd()), EPERM);
    Traces maker(directory, id, spent);
    Traces second(directory, id, others);
    prepare(maker, Task::create, 3);
    prepare(second, Task::create, 4);
    const bool right = finish(maker, Task::create, 3).outcome == Outcome::made &&
                       finish(second, Task::create, 4).maker == 3 && entries(folder.path()) == 1;
    second.remove();
    const bool kept = entries(folder.path()) == 1;
    maker.remove();
    ::_exit(right && kept && entries(folder.path()) == 0 ? 0 : 1);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

TEST(Traces, AreToldFromOtherNames) {
  const std::string digits(32, 'a');
  EXPECT_TRUE(is_trace(".sill-split-" + digits));
  for (const std::string& name :
       {".sill-split-" + digits + "a", ".sill-split-" + digits.substr(1), "sill-split-" + digits,
        ".sill-split-" + digits.substr(1) + "A", std::string(), digits})
    EXPECT_FALSE(is_trace(name)) << name;
}

}  // namespace
}  // namespace sill::topology
