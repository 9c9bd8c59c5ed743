// What a claim does to a file that other windows, of this job or another, may lie on: lock, undo.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>

#include "storage/claim.hpp"
#include "storage/file_lock.hpp"
#include "storage/record.hpp"
#include "unit/support/files.hpp"
#include "unit/support/folder.hpp"
#include "unit/support/program.hpp"

namespace sill::storage {
namespace {

namespace fs = std::filesystem;
using test::Folder;
using test::open_claim;
using test::open_file;
using test::read_text;
using test::write_text;

constexpr std::uint64_t mib = 1u << 20;

TEST(ClaimLock, KeepsOverlappingWindowsOff) {
  const Folder folder;
  Claim first = open_claim(folder / "w");
  Claim second = open_claim(folder / "w");
  ASSERT_TRUE(first.lock({100, 100}).ok());
  EXPECT_TRUE(second.lock({0, 100}).ok());
  EXPECT_TRUE(second.lock({200, 100}).ok());
  EXPECT_TRUE(second.lock({150, 0}).ok());
  for (const auto& [offset, length] :
       {std::pair<std::uint64_t, std::uint64_t>{199, 1}, {0, 101}, {100, 1}, {0, 1 << 20}}) {
    const Status status = second.lock({offset, length});
    EXPECT_EQ(status.cause(), Cause::in_use) << offset << ' ' << length;
    EXPECT_NE(status.message().find(folder / "w"), std::string::npos) << status.message();
  }
}

Claim open_to_read(const std::string& path) {
  auto file = File::open({.path = path, .readonly = true});
  if (!file.ok()) throw std::runtime_error(file.status().message());
  return Claim(std::move(file).value());
}

TEST(ClaimLock, KeepsOtherProcessesOff) {
  const Folder folder;
  const FileConfig config{.path = folder / "w", .readonly = false, .one_process = true};
  {
    const auto first = File::open(config);
    const auto second = File::open(config);
    EXPECT_TRUE(first.ok() && second.ok()) << second.status().message();
    // What another process does: its byte is another one.
    const File other = open_file(folder / "w");
    EXPECT_EQ(set_lock(other.fd(), F_WRLCK, process_bytes, process_count), EAGAIN);
    EXPECT_EQ(set_lock(other.fd(), F_RDLCK, process_bytes, 1), 0);
    const Status status = File::open(config).status();
    EXPECT_EQ(status.cause(), Cause::in_use);
    EXPECT_NE(status.message().find("another job has it open"), std::string::npos) << status.message();
  }
  const File other = open_file(folder / "w");
  EXPECT_EQ(set_lock(other.fd(), F_WRLCK, process_bytes, process_count), 0) << "closed, they have given it back";
}

TEST(ClaimLock, IsSharedByThoseThatOnlyRead) {
  const Folder folder;
  write_text(folder / "w", std::string(4096, 'k'));
  Claim writer = open_claim(folder / "w");
  {
    Claim first = open_to_read(folder / "w");
    Claim second = open_to_read(folder / "w");
    EXPECT_TRUE(first.lock({0, 4096}).ok());
    EXPECT_TRUE(second.lock({100, 4000}).ok());
    EXPECT_EQ(writer.lock({4095, 1}).cause(), Cause::in_use);
  }
  EXPECT_TRUE(writer.lock({4095, 1}).ok());
  Claim third = open_to_read(folder / "w");
  EXPECT_EQ(third.lock({0, 4096}).cause(), Cause::in_use);
}

TEST(ClaimToRead, MustBeThereAndLongEnough) {
  const Folder folder;
  const auto missing = File::open({.path = folder / "w", .readonly = true});
  EXPECT_EQ(missing.status().cause(), Cause::no_such_file);
  EXPECT_FALSE(fs::exists(folder / "w"));
  write_text(folder / "w", std::string(4096, 'k'));
  Claim claim = open_to_read(folder / "w");
  EXPECT_TRUE(claim.reserve({96, 4000}, Reserve::full).ok());
  const Status status = claim.reserve({97, 4000}, Reserve::full);
  EXPECT_EQ(status.cause(), Cause::bad_file);
  EXPECT_NE(status.message().find("4096 bytes"), std::string::npos) << status.message();
  EXPECT_EQ(fs::file_size(folder / "w"), 4096u);
}

TEST(ClaimLock, HoldsAgainstOtherProcessesUntilClosed) {
  const Folder folder;
  auto holder = std::make_unique<Claim>(open_claim(folder / "w"));
  ASSERT_TRUE(holder->lock({0, 4096}).ok());
  const auto try_lock = [&] {
    return test::run_child([&] {
             // Of a descriptor of its own: this process's was inherited.
             ::_exit(static_cast<int>(open_claim(folder / "w").lock({10, 10}).cause()));
           })
        .status;
  };
  EXPECT_EQ(try_lock(), static_cast<int>(Cause::in_use));
  holder.reset();
  EXPECT_EQ(try_lock(), static_cast<int>(Cause::ok));
}

// Another window freed it, or undid its creation, after this one had opened it.
TEST(ClaimLock, RefusesAFileThatIsGoneOrReplaced) {
  const Folder folder;
  Claim removed = open_claim(folder / "w");
  fs::remove(folder / "w");
  EXPECT_EQ(removed.lock({0, 10}).cause(), Cause::in_use);
  Claim replaced = open_claim(folder / "w");
  write_text(folder / "other", "");
  fs::rename(folder / "other", folder / "w");
  const Status status = replaced.lock({0, 10});
  EXPECT_EQ(status.cause(), Cause::in_use);
  EXPECT_NE(status.message().find(folder / "w"), std::string::npos) << status.message();
}

TEST(ClaimLock, ThatTheFileSystemLacksIsSaidOnce) {
  const Folder folder;
  const auto outcome = test::run_child([&] {
    test::fail_calls(__NR_fcntl, F_OFD_SETLK, ENOLCK);
    Claim claim = open_claim(folder / "w");
    for (const std::uint64_t rank : {0u, 1u, 2u})
      if (!claim.lock({rank, 1}).ok()) ::_exit(2);
    claim.commit();
  });
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(std::ranges::count(outcome.output, '\n'), 1) << outcome.output;
  EXPECT_NE(outcome.output.find("warn: " + (folder / "w") + ": no file locks here"), std::string::npos)
      << outcome.output;
}

TEST(ClaimLock, UnlockGivesAllBytesBack) {
  const Folder folder;
  Claim first = open_claim(folder / "w");
  Claim second = open_claim(folder / "w");
  ASSERT_TRUE(first.lock({0, 10}).ok());
  ASSERT_TRUE(first.lock({4096, 10}).ok());
  first.file()->unlock();
  EXPECT_TRUE(second.lock({0, 1 << 20}).ok());
}

TEST(ClaimUndo, HappensAtTheEndUnlessCommitted) {
  const Folder folder;
  for (const bool stays : {false, true}) {
    Claim claim = open_claim(folder / "w");
    ASSERT_TRUE(claim.reserve({0, 4096}, Reserve::full).ok());
    if (stays) claim.commit();
    const Claim moved = std::move(claim);
    EXPECT_TRUE(fs::exists(folder / "w"));
    if (stays) continue;
    write_text(folder / "w.sill", "not this claim's");
  }
  EXPECT_EQ(fs::file_size(folder / "w"), 4096u) << "of the second round";
  EXPECT_EQ(read_text(folder / "w.sill"), "not this claim's") << "the first round wrote no record";
}

TEST(ClaimUndo, TakesTheRecordOfACreatedFileAlong) {
  const Folder folder;
  {
    Claim claim = open_claim(folder / "w");
    ASSERT_TRUE(Record(0600).write(*claim.file(), false).ok());
    claim.described();
    EXPECT_TRUE(fs::exists(folder / "w.sill"));
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(ClaimUndo, RemovesWhatWasCreated) {
  const Folder folder;
  Claim claim = open_claim(folder / "w");
  ASSERT_TRUE(claim.reserve({0, 4096}, Reserve::full).ok());
  ASSERT_TRUE(claim.undo().ok());
  EXPECT_FALSE(fs::exists(folder / "w"));
}

TEST(ClaimUndo, CutsOffWhatWasGrownAndNoMore) {
  const Folder folder;
  write_text(folder / "w", "bytes");
  Claim grown = open_claim(folder / "w");
  ASSERT_TRUE(grown.reserve({3, 10000}, Reserve::full).ok());
  ASSERT_TRUE(grown.undo().ok());
  EXPECT_EQ(read_text(folder / "w"), "bytes");
  Claim untouched = open_claim(folder / "w");
  ASSERT_TRUE(untouched.reserve({0, 4}, Reserve::full).ok());
  write_text(folder / "w", "more bytes");
  ASSERT_TRUE(untouched.undo().ok());
  EXPECT_EQ(read_text(folder / "w"), "more bytes");
}

// A created the file, B opened it and was first to lock.
TEST(ClaimUndo, LeavesACreatedFileThatAnotherWindowLiesOn) {
  const Folder folder;
  Claim creator = open_claim(folder / "w");
  Claim other = open_claim(folder / "w");
  ASSERT_TRUE(other.lock({0, 10}).ok());
  ASSERT_EQ(creator.lock({0, 10}).cause(), Cause::in_use);
  EXPECT_TRUE(creator.undo().ok());
  EXPECT_TRUE(fs::exists(folder / "w"));
  EXPECT_EQ(other.file()->remove().cause(), Cause::ok);
}

TEST(ClaimUndo, LeavesBytesThatAnotherWindowHas) {
  const Folder folder;
  write_text(folder / "w", "bytes");
  for (const bool still_open : {true, false}) {
    Claim first = open_claim(folder / "w");
    ASSERT_TRUE(first.lock({0, mib}).ok());
    ASSERT_TRUE(first.reserve({0, mib}, Reserve::full).ok());
    Claim second = open_claim(folder / "w");
    ASSERT_TRUE(second.lock({mib, mib}).ok());
    ASSERT_TRUE(second.reserve({mib, mib}, Reserve::full).ok());
    std::optional<File> open = test::keep(std::move(second));
    if (!still_open) open.reset();
    EXPECT_TRUE(first.undo().ok());
    EXPECT_EQ(fs::file_size(folder / "w"), 2 * mib) << still_open;
    fs::resize_file(folder / "w", 5);
  }
}

// It lay between the old end and the new one, or between two ranks' bytes, and is gone by now.
TEST(ClaimUndo, LeavesBytesThatAnotherWindowLeftInAGap) {
  const Folder folder;
  for (const std::uint64_t place : {std::uint64_t{1000}, 3 * mib}) {
    write_text(folder / "w", "bytes");
    Claim claim = open_claim(folder / "w");
    ASSERT_TRUE(claim.reserve({mib, mib}, Reserve::full).ok());
    ASSERT_TRUE(claim.reserve({4 * mib, mib}, Reserve::full).ok());
    {
      const File other = open_file(folder / "w");
      ASSERT_EQ(::pwrite(other.fd(), "theirs", 6, static_cast<off_t>(place)), 6);
    }
    EXPECT_TRUE(claim.undo().ok());
    const std::string left = read_text(folder / "w");
    EXPECT_EQ(left.size(), place == 1000 ? mib : 4 * mib);
    EXPECT_EQ(left.substr(place, 6), "theirs");
    EXPECT_TRUE(left.starts_with("bytes"));
  }
}

// Without locks nobody knows whether another window lies there; that is said.
TEST(ClaimUndo, LeavesFilesWithoutLocks) {
  const Folder folder;
  const auto outcome = test::run_child([&] {
    test::fail_calls(__NR_fcntl, F_OFD_SETLK, ENOLCK);
    Claim claim = open_claim(folder / "w");
    ::_exit(claim.undo().ok() ? 0 : 2);
  });
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.output.find("warn: " + (folder / "w")), std::string::npos) << outcome.output;
  EXPECT_TRUE(fs::exists(folder / "w"));
}

// Each rank opens the file for itself; whichever of them created it, one undoes.
TEST(ClaimUndo, OneRankAnswersForTheFileThatAnotherCreated) {
  const Folder folder;
  Claim creator = open_claim(folder / "w");
  Claim leader = open_claim(folder / "w");
  creator.answer_for_creation(false);
  leader.answer_for_creation(true);
  ASSERT_TRUE(leader.lock({0, 10}).ok());
  ASSERT_TRUE(leader.lock({10, 10}).ok());
  EXPECT_TRUE(creator.undo().ok());
  EXPECT_TRUE(fs::exists(folder / "w"));
  EXPECT_TRUE(leader.undo().ok());
  EXPECT_FALSE(fs::exists(folder / "w"));
}

}  // namespace
}  // namespace sill::storage
