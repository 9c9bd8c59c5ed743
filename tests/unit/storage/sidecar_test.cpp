#include "storage/sidecar.hpp"

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

const Sidecar two_ranks = {
    .job = "123", .window = "w0", .unlink = true, .segments = {{.rank = 0, .offset = 0, .size = 4096}, {3, 4096, 100}}};

// The text with the time of creation left out.
std::string without_time(const std::string& text) {
  return std::regex_replace(text, std::regex("\"created\": \"\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z\", "),
                            "");
}

std::ptrdiff_t count_files(const std::string& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

TEST(Sidecar, IsOneLineOfJson) {
  const Folder folder;
  const File file = open_file(folder / "w");
  ASSERT_TRUE(write_sidecar(file, two_ranks, 0640).ok());
  EXPECT_EQ(without_time(read_text(folder / "w.sill")),
            "{\"sill\": 1, \"job\": \"123\", \"window\": \"w0\", \"unlink\": true, \"segments\": "
            "[{\"rank\": 0, \"offset\": 0, \"size\": 4096}, {\"rank\": 3, \"offset\": 4096, \"size\": 100}]}\n");
  EXPECT_EQ(count_files(folder.path()), 2) << "the file and its sidecar, nothing else";
}

TEST(Sidecar, EscapesWhatJsonCanNotHold) {
  const Folder folder;
  const File file = open_file(folder / "w");
  Sidecar odd = two_ranks;
  odd.job = "a\"b\\c\nd\x01";
  odd.segments.clear();
  ASSERT_TRUE(write_sidecar(file, odd, 0600).ok());
  const std::string text = read_text(folder / "w.sill");
  EXPECT_NE(text.find("\"job\": \"a\\\"b\\\\c\\u000ad\\u0001\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"segments\": []}"), std::string::npos) << text;
}

TEST(Sidecar, ReplacesAnOlderOne) {
  const Folder folder;
  for (const std::string& older :
       {"{\"sill\": 1, " + std::string(5000, 'x'), std::string("{\"sill\":2}"), std::string()}) {
    const File file = open_file(folder / "w");
    test::write_text(folder / "w.sill", older);
    ASSERT_TRUE(write_sidecar(file, two_ranks, 0600).ok());
    EXPECT_TRUE(read_text(folder / "w.sill").ends_with("\"size\": 100}]}\n")) << read_text(folder / "w.sill");
    EXPECT_EQ(read_text(folder / "w.sill").find('x'), std::string::npos);
  }
}

// A user's file, another window's file: whatever has the name by chance.
TEST(Sidecar, LeavesFilesThatAreNoSidecars) {
  const Folder folder;
  test::write_text(folder / "old", "");
  for (const std::string& text : {std::string("mine"), std::string("{\"sill\""), std::string(5000, '\0')}) {
    for (const char* name : {"old", "new"}) {
      const File file = open_file(folder / name);
      const std::string path = folder / (name + std::string(".sill"));
      test::write_text(path, text);
      const struct timespec long_ago[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
      ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), long_ago, 0), 0);
      const Status status = write_sidecar(file, two_ranks, 0600);
      EXPECT_EQ(status.cause(), Cause::bad_file);
      EXPECT_NE(status.message().find(path), std::string::npos) << status.message();
      touch_sidecar(file);
      remove_sidecar(file);
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

TEST(Sidecar, LeavesWhatIsNoFile) {
  const Folder folder;
  const File file = open_file(folder / "w");
  ASSERT_EQ(::mkfifo((folder / "w.sill").c_str(), 0600), 0);
  EXPECT_EQ(write_sidecar(file, two_ranks, 0600).cause(), Cause::bad_file);
  remove_sidecar(file);
  EXPECT_TRUE(fs::is_fifo(folder / "w.sill"));
  fs::remove(folder / "w.sill");
  fs::create_directory(folder / "w.sill");
  EXPECT_EQ(write_sidecar(file, two_ranks, 0600).cause(), Cause::bad_file);
  remove_sidecar(file);
  EXPECT_TRUE(fs::is_directory(folder / "w.sill"));
}

TEST(Sidecar, HasTheTimeThatItTellsUntilASync) {
  const Folder folder;
  const File file = open_file(folder / "w");
  ASSERT_TRUE(write_sidecar(file, two_ranks, 0600).ok());
  struct stat found;
  ASSERT_EQ(::stat((folder / "w.sill").c_str(), &found), 0);
  std::tm parts{};
  ::gmtime_r(&found.st_mtim.tv_sec, &parts);
  std::ostringstream expected;
  expected << std::put_time(&parts, "%Y-%m-%dT%H:%M:%S.") << std::setw(3) << std::setfill('0')
           << found.st_mtim.tv_nsec / 1000000 << "Z\"";
  EXPECT_NE(read_text(folder / "w.sill").find("\"created\": \"" + expected.str()), std::string::npos) << expected.str();
  EXPECT_EQ(found.st_mtim.tv_nsec % 1000000, 0);
}

TEST(Sidecar, IsTouchedBySyncs) {
  const Folder folder;
  const File file = open_file(folder / "w");
  ASSERT_TRUE(write_sidecar(file, two_ranks, 0600).ok());
  const struct timespec long_ago[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (folder / "w.sill").c_str(), long_ago, 0), 0);
  const std::time_t before = std::time(nullptr);
  touch_sidecar(file);
  struct stat found;
  ASSERT_EQ(::stat((folder / "w.sill").c_str(), &found), 0);
  EXPECT_GE(found.st_mtime, before - 1);
}

TEST(Sidecar, IsRemovedAndMayBeMissing) {
  const Folder folder;
  const File file = open_file(folder / "w");
  ASSERT_TRUE(write_sidecar(file, two_ranks, 0600).ok());
  remove_sidecar(file);
  EXPECT_FALSE(fs::exists(folder / "w.sill"));
  EXPECT_TRUE(fs::exists(folder / "w"));
  remove_sidecar(file);
  touch_sidecar(file);
  EXPECT_EQ(count_files(folder.path()), 1);
}

TEST(RemoveFile, TakesTheSidecarAlong) {
  const Folder folder;
  File file = open_file(folder / "w");
  ASSERT_TRUE(write_sidecar(file, two_ranks, 0600).ok());
  EXPECT_TRUE(remove_file(file).ok());
  EXPECT_EQ(count_files(folder.path()), 0);
}

TEST(RemoveFile, LeavesBothToAnotherWindow) {
  const Folder folder;
  Claim first = test::open_claim(folder / "w");
  ASSERT_TRUE(first.lock({0, 10}).ok());
  ASSERT_TRUE(write_sidecar(*first.file(), two_ranks, 0600).ok());
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
  ASSERT_TRUE(write_sidecar(other, two_ranks, 0600).ok());
  EXPECT_EQ(remove_file(file).cause(), Cause::bad_file);
  EXPECT_EQ(count_files(folder.path()), 2);
}

TEST(Sidecar, AFullFileSystemIsAnErrorThatLeavesNothing) {
  if (const auto reason = test::why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  const test::Mounted mounted(1u << 20);
  const File file = test::open_reserved(mounted / "w", 0, mounted.free_bytes());
  const Status status = write_sidecar(file, two_ranks, 0600);
  EXPECT_EQ(status.cause(), Cause::no_space) << status.message();
  EXPECT_EQ(count_files(mounted.path()), 1);
}

TEST(Sidecar, BehindTheFileSizeLimitIsAnErrorAndNoSignal) {
  const Folder folder;
  const File file = open_file(folder / "w");
  const auto outcome = test::run_child([&] {
    const rlimit limit = {10, 10};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    ::_exit(write_sidecar(file, two_ranks, 0600).cause() == Cause::no_space ? 0 : 3);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_FALSE(fs::exists(folder / "w.sill"));
}

TEST(Sidecar, DoesNotFollowALinkInItsPlace) {
  const Folder folder;
  const File file = open_file(folder / "w");
  test::write_text(folder / "precious", "{\"sill\": keep");
  fs::create_symlink(folder / "precious", folder / "w.sill");
  EXPECT_EQ(write_sidecar(file, two_ranks, 0600).cause(), Cause::bad_file);
  remove_sidecar(file);
  EXPECT_TRUE(fs::is_symlink(folder / "w.sill"));
  EXPECT_EQ(read_text(folder / "precious"), "{\"sill\": keep");
}

TEST(Sidecar, DevicesHaveNone) {
  if (const auto reason = test::why_no_loop_devices(); !reason.empty()) GTEST_SKIP() << reason;
  const Folder folder;
  const test::LoopDevice device(folder.path(), 1u << 20);
  const File file = open_file(device.path());
  EXPECT_TRUE(write_sidecar(file, two_ranks, 0600).ok());
  EXPECT_FALSE(fs::exists(device.path() + ".sill"));
}

TEST(Sidecar, SaysWhichCoarrayAFileHolds) {
  const Folder folder;
  EXPECT_FALSE(read_coarray_records(folder / "w").value()) << "no sidecar is no error";
  const File file = open_file(folder / "w");
  Sidecar sidecar = two_ranks;
  CoarrayRecord record{"program", "", "m::x", "", 4096, 1, 2};
  sidecar.coarray = record;
  ASSERT_TRUE(write_sidecar(file, sidecar, 0600).ok());
  EXPECT_EQ(read_coarray_records(folder / "w").value()->front().state, CoarrayRecord::State::fresh);
  const std::string before = read_text(folder / "w.sill");
  record.state = CoarrayRecord::State::kept;
  ASSERT_TRUE(write_coarray_record(file, record).ok());
  EXPECT_EQ(read_coarray_records(folder / "w").value()->front().state, CoarrayRecord::State::kept);
  EXPECT_EQ(read_text(folder / "w.sill").size() + 1, before.size()) << "nothing of the longer text is left";
  record.name = "a name that is longer than it was";
  ASSERT_TRUE(write_coarray_record(file, record).ok());
  EXPECT_EQ(read_coarray_records(folder / "w").value()->front().name, record.name);
}

CoarrayRecord at(const char* name, std::uint64_t offset) {
  return {"program", "", name, "", 4096, 1, 2, CoarrayRecord::State::fresh, offset};
}

TEST(Sidecar, SaysWhichCoarraysOfAnImageAFileHolds) {
  const Folder folder;
  File file = open_file(folder / "w");
  Sidecar sidecar = two_ranks;
  for (const CoarrayRecord& record : {at("a", 0), at("b", 4096)}) {
    sidecar.coarray = record;
    sidecar.fresh = record.offset == 0u;
    ASSERT_TRUE(write_sidecar(file, sidecar, 0640).ok());
  }
  CoarrayRecord kept = at("a", 0);
  kept.state = CoarrayRecord::State::kept;
  ASSERT_TRUE(write_coarray_record(file, kept).ok());
  const auto both = read_coarray_records(folder / "w").value().value();
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(to_json(both[0]), to_json(kept));
  EXPECT_EQ(to_json(both[1]), to_json(at("b", 4096)));
  EXPECT_EQ(fs::status(folder / "w.sill").permissions(), fs::perms(0640));
  ASSERT_TRUE(give_up_coarray(file, kept).ok());
  EXPECT_EQ(read_coarray_records(folder / "w").value()->front().name, "b") << "in its place, the file stays";
  ASSERT_TRUE(give_up_coarray(file, at("b", 4096)).ok());
  EXPECT_TRUE(fs::is_empty(folder.path())) << "the last one takes the file along";
}

TEST(Sidecar, ARecordThatIsWrittenInPartIsAnErrorOfSpace) {
  const Folder folder;
  const File file = open_file(folder / "w");
  Sidecar sidecar = two_ranks;
  sidecar.coarray = CoarrayRecord{"program", "", "m::x", "", 4096, 1, 2};
  ASSERT_TRUE(write_sidecar(file, sidecar, 0600).ok());
  CoarrayRecord longer = *sidecar.coarray;
  longer.name = std::string(100, 'x');
  const auto outcome = test::run_child([&] {
    const auto size = static_cast<rlim_t>(fs::file_size(folder / "w.sill"));
    const rlimit limit = {size + 10, size + 10};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    errno = ENOENT;  // of an earlier call
    ::_exit(write_coarray_record(file, longer).cause() == Cause::no_space ? 0 : 3);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

TEST(Sidecar, OfAnythingElseHasNoRecord) {
  const Folder folder;
  const File file = open_file(folder / "w");
  ASSERT_TRUE(write_sidecar(file, two_ranks, 0600).ok());
  EXPECT_EQ(read_coarray_records(folder / "w").status().cause(), Cause::bad_file);
  EXPECT_EQ(write_coarray_record(file, {}).cause(), Cause::bad_file);
}

TEST(Sidecar, AnUnlinkedFileTakesItsSidecarAlong) {
  const Folder folder;
  File file = open_file(folder / "w");
  ASSERT_TRUE(write_sidecar(file, two_ranks, 0600).ok());
  Claim claim(std::move(file));
  ASSERT_TRUE(claim.reserve({0, 4096}, Reserve::full).ok());
  ASSERT_TRUE(claim.lock({0, 4096}).ok());
  EXPECT_TRUE(unlink_file(*claim.file()).ok());
  EXPECT_EQ(count_files(folder.path()), 0);
}

}  // namespace
}  // namespace sill::storage
