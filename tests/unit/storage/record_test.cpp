#include "storage/record.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iomanip>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "storage/claim.hpp"
#include "unit/support/files.hpp"
#include "unit/support/folder.hpp"
#include "unit/support/mounts.hpp"
#include "unit/support/program.hpp"

namespace sill::storage {
namespace {

namespace fs = std::filesystem;
using test::Folder;
using test::open_file;
using test::read_text;

constexpr std::string_view section = R"({"job":"123","segments":[{"rank":0}]})";

Record sample(mode_t perm = 0600) {
  Record record(perm);
  record.put("window", std::string(section));
  return record;
}

std::string long_list(char letter, std::size_t length) {
  std::string json = "[\"";
  json.append(length, letter);
  return json + "\"]";
}

std::ptrdiff_t count_files(const std::string& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

TEST(Record, IsOneLineOfJsonThatIsReadAsItWasWritten) {
  const Folder folder;
  const File file = open_file(folder / "w");
  EXPECT_FALSE(Record::read(file.path()).value()) << "none is no error";
  Record written = sample(0640);
  written.put("other", "[1,2]");
  ASSERT_TRUE(written.write(file, true).ok());
  EXPECT_EQ(count_files(folder.path()), 2) << "the file and its record, nothing else";
  const std::string text = read_text(folder / "w.sill");
  EXPECT_TRUE(std::regex_match(
      text, std::regex(R"(\{"sill": 2, "crc32": "[0-9a-f]{8}", "window": \{.*\}, "other": \[1,2\]\}\n)")))
      << text;
  const auto read = Record::read(file.path());
  ASSERT_TRUE(read.ok() && read.value()) << read.status().message();
  EXPECT_EQ(*read.value()->section("window"), section);
  EXPECT_EQ(*read.value()->section("other"), "[1,2]");
  EXPECT_EQ(read.value()->section("none"), nullptr);
  EXPECT_EQ(read.value()->text(), text);
}

TEST(Record, ReplacesAnOlderOneAndKeepsItsPermissionsAndTime) {
  const Folder folder;
  for (const std::string& older :
       {"{\"sill\": 1, " + std::string(5000, 'x'), std::string("{\"sill\":2}"), std::string()}) {
    const File file = open_file(folder / "w");
    test::write_text(folder / "w.sill", older);
    ASSERT_TRUE(sample(0640).write(file, false).ok());
    EXPECT_EQ(*Record::read(file.path()).value()->section("window"), section);
    auto again = Record::read(file.path()).value();
    const auto time = again->time();
    again->put("window", "{}");
    ASSERT_TRUE(again->write(file, true).ok());
    again = Record::read(file.path()).value();
    EXPECT_EQ(again->time().tv_nsec, time.tv_nsec);
    EXPECT_EQ(*again->section("window"), "{}");
    EXPECT_EQ(fs::status(folder / "w.sill").permissions(), fs::perms(0640));
    EXPECT_EQ(count_files(folder.path()), 2);
  }
}

TEST(Record, IsRenewedWithTheSectionsOfAnOlderOneUnlessTheFileIsNew) {
  const Folder folder;
  const File file = open_file(folder / "w");
  EXPECT_EQ(Record::renew(file, false, 0600).value().section("window"), nullptr);
  ASSERT_TRUE(sample(0640).write(file, false).ok());
  Record record = Record::renew(file, false, 0600).value();
  EXPECT_EQ(*record.section("window"), section);
  ASSERT_TRUE(record.write(file, false).ok());
  EXPECT_EQ(fs::status(folder / "w.sill").permissions(), fs::perms(0600));
  EXPECT_EQ(Record::renew(file, true, 0600).value().section("window"), nullptr);
  test::write_text(folder / "w.sill", "");
  EXPECT_EQ(Record::renew(file, false, 0600).value().section("window"), nullptr) << "nothing was written yet";
  test::write_text(folder / "w.sill", "{\"sill\": 3}");
  EXPECT_EQ(Record::renew(file, false, 0600).status().cause(), Cause::bad_file) << "it may mean something to others";
}

TEST(Record, IsChangedInPlace) {
  const Folder folder;
  const File file = open_file(folder / "w");
  const auto put = [](Record& record) {
    record.put("other", "[1]");
    return Status();
  };
  EXPECT_EQ(change_record(file, put).cause(), Cause::no_such_file);
  ASSERT_TRUE(sample().write(file, false).ok());
  ASSERT_TRUE(change_record(file, put).ok());
  const auto refuse = [](Record& record) {
    record.drop("other");
    return Status(Cause::bad_file, "refused");
  };
  EXPECT_EQ(change_record(file, refuse).message(), "refused");
  EXPECT_EQ(*Record::read(file.path()).value()->section("other"), "[1]");
  EXPECT_EQ(*Record::read(file.path()).value()->section("window"), section);
}

TEST(Record, OfFormat1IsRead) {
  const auto record =
      Record::parse(R"({"sill": 1, "job": "7", "created": "2026-11-20T11:32:38.250Z", "window": "0", "unlink": false, )"
                    R"("segments": [{"rank": 0, "offset": 0, "size": 10}], "coarray": {"name": "x"}})");
  ASSERT_TRUE(record.ok()) << record.status().message();
  EXPECT_EQ(*record.value().section("coarray"), R"({"name":"x"})");
  EXPECT_EQ(*record.value().section("window"),
            R"({"job":"7","created":"2026-11-20T11:32:38.250Z","window":"0","unlink":false,)"
            R"("segments":[{"rank":0,"offset":0,"size":10}]})");
}

TEST(Record, WhatIsNoneIsRefused) {
  const std::string good = sample().text();
  ASSERT_TRUE(Record::parse(good).ok());
  for (const std::string& bad :
       {std::string(), std::string("{\"sill\": 2}"), std::string("{\"sill\": \"1\"}"), std::string("{\"sill\": 1"),
        good.substr(0, good.size() - 1), std::string(good).replace(good.find("123"), 3, "124"), good + "\n",
        std::string(good).replace(24, 1, "?")}) {
    const auto record = Record::parse(bad);
    EXPECT_EQ(record.status().cause(), Cause::bad_file) << bad;
    EXPECT_NE(record.status().message().find("damaged"), std::string::npos) << record.status().message();
  }
  const auto newer = Record::parse(std::string(good).replace(9, 1, "3"));
  EXPECT_EQ(newer.status().cause(), Cause::bad_file);
  EXPECT_NE(newer.status().message().find("format 3, of a newer Sill"), std::string::npos) << newer.status().message();
}

TEST(Record, WritersOfOneRecordDontMix) {
  const Folder folder;
  const File file = open_file(folder / "w");
  std::vector<std::thread> writers;
  for (const char letter : {'a', 'b'})
    writers.emplace_back([&, letter] {
      Record record(0600);
      record.put("of", long_list(letter, 20000));
      for (int i = 0; i < 100; ++i) EXPECT_TRUE(record.write(file, false).ok());
    });
  ASSERT_TRUE(sample().write(file, false).ok());
  for (int i = 0; i < 200; ++i) {
    const auto read = Record::read(file.path());
    EXPECT_TRUE(read.ok() && read.value()) << read.status().message();
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(count_files(folder.path()), 2);
}

// A user's file, another window's file: whatever has the name by chance.
TEST(Record, LeavesFilesThatAreNoRecords) {
  const Folder folder;
  test::write_text(folder / "old", "");
  for (const std::string& text : {std::string("mine"), std::string("{\"sill\""), std::string(5000, '\0')}) {
    for (const char* name : {"old", "new"}) {
      const File file = open_file(folder / name);
      const std::string path = folder / (name + std::string(".sill"));
      test::write_text(path, text);
      const struct timespec long_ago[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
      ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), long_ago, 0), 0);
      const Status status = sample().write(file, false);
      EXPECT_EQ(status.cause(), Cause::bad_file);
      EXPECT_NE(status.message().find(path), std::string::npos) << status.message();
      note_sync(file);
      remove_record(file);
      ASSERT_TRUE(fs::exists(path));
      EXPECT_EQ(read_text(path), text);
      struct stat found;
      ASSERT_EQ(::stat(path.c_str(), &found), 0);
      EXPECT_EQ(found.st_mtime, 1000);
      fs::remove(path);
      fs::remove(folder / "new");
    }
  }
}

TEST(Record, LeavesWhatIsNoFile) {
  const Folder folder;
  const File file = open_file(folder / "w");
  ASSERT_EQ(::mkfifo((folder / "w.sill").c_str(), 0600), 0);
  EXPECT_EQ(sample().write(file, false).cause(), Cause::bad_file);
  remove_record(file);
  EXPECT_TRUE(fs::is_fifo(folder / "w.sill"));
  fs::remove(folder / "w.sill");
  fs::create_directory(folder / "w.sill");
  EXPECT_EQ(sample().write(file, false).cause(), Cause::bad_file);
  remove_record(file);
  EXPECT_TRUE(fs::is_directory(folder / "w.sill"));
}

TEST(Record, HasTheTimeThatItTellsUntilASync) {
  const Folder folder;
  const File file = open_file(folder / "w");
  const Record record = sample();
  ASSERT_TRUE(record.write(file, false).ok());
  struct stat found;
  ASSERT_EQ(::stat((folder / "w.sill").c_str(), &found), 0);
  EXPECT_EQ(found.st_mtim.tv_sec, record.time().tv_sec);
  EXPECT_EQ(found.st_mtim.tv_nsec, record.time().tv_nsec);
  std::tm parts{};
  ::gmtime_r(&found.st_mtim.tv_sec, &parts);
  std::ostringstream expected;
  expected << std::put_time(&parts, "%Y-%m-%dT%H:%M:%S.") << std::setw(3) << std::setfill('0')
           << found.st_mtim.tv_nsec / 1000000 << "Z";
  EXPECT_EQ(record.utc(), expected.str());
  EXPECT_EQ(found.st_mtim.tv_nsec % 1000000, 0);
}

TEST(Record, IsTouchedBySyncs) {
  const Folder folder;
  const File file = open_file(folder / "w");
  ASSERT_TRUE(sample().write(file, false).ok());
  const struct timespec long_ago[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (folder / "w.sill").c_str(), long_ago, 0), 0);
  const std::time_t before = std::time(nullptr);
  note_sync(file);
  struct stat found;
  ASSERT_EQ(::stat((folder / "w.sill").c_str(), &found), 0);
  EXPECT_GE(found.st_mtime, before - 1);
}

TEST(Record, IsRemovedAndMayBeMissing) {
  const Folder folder;
  const File file = open_file(folder / "w");
  ASSERT_TRUE(sample().write(file, false).ok());
  remove_record(file);
  EXPECT_FALSE(fs::exists(folder / "w.sill"));
  EXPECT_TRUE(fs::exists(folder / "w"));
  remove_record(file);
  note_sync(file);
  EXPECT_EQ(count_files(folder.path()), 1);
}

TEST(RemoveFile, TakesTheRecordAlong) {
  const Folder folder;
  File file = open_file(folder / "w");
  ASSERT_TRUE(sample().write(file, false).ok());
  EXPECT_TRUE(remove_file(file).ok());
  EXPECT_EQ(count_files(folder.path()), 0);
}

TEST(RemoveFile, LeavesBothToAnotherWindow) {
  const Folder folder;
  Claim first = test::open_claim(folder / "w");
  ASSERT_TRUE(first.lock({0, 10}).ok());
  ASSERT_TRUE(sample().write(*first.file(), false).ok());
  Claim second = test::open_claim(folder / "w");
  ASSERT_TRUE(second.lock({10, 10}).ok());
  EXPECT_TRUE(remove_file(*first.file()).ok());
  EXPECT_EQ(count_files(folder.path()), 2);
  first.file()->unlock();
  EXPECT_TRUE(remove_file(*second.file()).ok());
  EXPECT_EQ(count_files(folder.path()), 0);
}

TEST(RemoveFile, LeavesBothWhenThePathLeadsElsewhere) {
  const Folder folder;
  File file = open_file(folder / "w");
  fs::remove(folder / "w");
  const File other = open_file(folder / "w");
  ASSERT_TRUE(sample().write(other, false).ok());
  EXPECT_EQ(remove_file(file).cause(), Cause::bad_file);
  EXPECT_EQ(count_files(folder.path()), 2);
}

TEST(Record, AFullFileSystemIsAnErrorThatLeavesNothing) {
  if (const auto reason = test::why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  const test::Mounted mounted(1u << 20);
  const File file = test::open_reserved(mounted / "w", 0, mounted.free_bytes());
  const Status status = sample().write(file, false);
  EXPECT_EQ(status.cause(), Cause::no_space) << status.message();
  EXPECT_EQ(count_files(mounted.path()), 1);
}

TEST(Record, BehindTheFileSizeLimitIsAnErrorAndNoSignal) {
  const Folder folder;
  const File file = open_file(folder / "w");
  const auto outcome = test::run_child([&] {
    const rlimit limit = {10, 10};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    ::_exit(sample().write(file, false).cause() == Cause::no_space ? 0 : 3);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_FALSE(fs::exists(folder / "w.sill"));
}

TEST(Record, DoesNotFollowALinkInItsPlace) {
  const Folder folder;
  const File file = open_file(folder / "w");
  test::write_text(folder / "precious", "{\"sill\": keep");
  fs::create_symlink(folder / "precious", folder / "w.sill");
  EXPECT_EQ(sample().write(file, false).cause(), Cause::bad_file);
  remove_record(file);
  EXPECT_TRUE(fs::is_symlink(folder / "w.sill"));
  EXPECT_EQ(read_text(folder / "precious"), "{\"sill\": keep");
}

TEST(Record, DevicesHaveNone) {
  if (const auto reason = test::why_no_loop_devices(); !reason.empty()) GTEST_SKIP() << reason;
  const Folder folder;
  const test::LoopDevice device(folder.path(), 1u << 20);
  const File file = open_file(device.path());
  EXPECT_TRUE(sample().write(file, false).ok());
  EXPECT_EQ(sample().write(file, true).cause(), Cause::unsupported) << "nobody may rely on what isn't there";
  EXPECT_EQ(Record::renew(file, false, 0600).value().section("window"), nullptr);
  EXPECT_FALSE(fs::exists(device.path() + ".sill"));
}

TEST(Record, WhatDoesNotFitLeavesTheOldOneWhole) {
  const Folder folder;
  const File file = open_file(folder / "w");
  ASSERT_TRUE(sample().write(file, false).ok());
  Record longer = sample();
  longer.put("other", long_list('x', 100));
  const auto outcome = test::run_child([&] {
    const auto size = static_cast<rlim_t>(fs::file_size(folder / "w.sill"));
    const rlimit limit = {size + 10, size + 10};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    errno = ENOENT;  // of an earlier call
    ::_exit(longer.write(file, true).cause() == Cause::no_space ? 0 : 3);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(*Record::read(file.path()).value()->section("window"), section);
  EXPECT_EQ(count_files(folder.path()), 2);
}

TEST(Record, AnUnlinkedFileTakesItsRecordAlong) {
  const Folder folder;
  File file = open_file(folder / "w");
  ASSERT_TRUE(sample().write(file, false).ok());
  Claim claim(std::move(file));
  ASSERT_TRUE(claim.reserve({0, 4096}, Reserve::full).ok());
  ASSERT_TRUE(claim.lock({0, 4096}).ok());
  EXPECT_TRUE(unlink_file(*claim.file()).ok());
  EXPECT_EQ(count_files(folder.path()), 0);
}

}  // namespace
}  // namespace sill::storage
