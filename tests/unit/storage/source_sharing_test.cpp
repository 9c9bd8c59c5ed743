// What a source does to a file that other windows, of this job or another, may lie on: lock, undo, remove.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "storage/file_lock.hpp"
#include "storage/source.hpp"
#include "unit/support/folder.hpp"
#include "unit/support/program.hpp"
#include "unit/support/sources.hpp"

namespace sill::storage {
namespace {

namespace fs = std::filesystem;
using test::Folder;
using test::open_source;
using test::read_text;
using test::write_text;

constexpr std::uint64_t mib = 1u << 20;

TEST(SourceLock, KeepsOverlappingWindowsOff) {
  const Folder folder;
  Source first = open_source(folder / "w");
  Source second = open_source(folder / "w");
  ASSERT_TRUE(first.lock(100, 100).ok());
  EXPECT_TRUE(second.lock(0, 100).ok());
  EXPECT_TRUE(second.lock(200, 100).ok());
  EXPECT_TRUE(second.lock(150, 0).ok());
  for (const auto& [offset, length] :
       {std::pair<std::uint64_t, std::uint64_t>{199, 1}, {0, 101}, {100, 1}, {0, 1 << 20}}) {
    const Status status = second.lock(offset, length);
    EXPECT_EQ(status.cause(), Cause::in_use) << offset << ' ' << length;
    EXPECT_NE(status.message().find(folder / "w"), std::string::npos) << status.message();
  }
}

Source open_to_read(const std::string& path) {
  auto source = Source::open({.path = path, .striping_factor = {}, .striping_unit = {}, .readonly = true});
  if (!source.ok()) throw std::runtime_error(source.status().message());
  return std::move(source).value();
}

TEST(SourceLock, KeepsOtherProcessesOff) {
  const Folder folder;
  const SourceConfig config{
      .path = folder / "w", .striping_factor = {}, .striping_unit = {}, .readonly = false, .one_process = true};
  {
    const auto first = Source::open(config);
    const auto second = Source::open(config);
    EXPECT_TRUE(first.ok() && second.ok()) << second.status().message();
    // What another process does: its byte is another one.
    const Source other = open_source(folder / "w");
    EXPECT_EQ(set_lock(other.fd(), F_WRLCK, process_bytes, process_count), EAGAIN);
    EXPECT_EQ(set_lock(other.fd(), F_RDLCK, process_bytes, 1), 0);
    const Status status = Source::open(config).status();
    EXPECT_EQ(status.cause(), Cause::in_use);
    EXPECT_NE(status.message().find("another job has it open"), std::string::npos) << status.message();
  }
  const Source other = open_source(folder / "w");
  EXPECT_EQ(set_lock(other.fd(), F_WRLCK, process_bytes, process_count), 0) << "closed, they have given it back";
}

TEST(SourceLock, IsSharedByThoseThatOnlyRead) {
  const Folder folder;
  write_text(folder / "w", std::string(4096, 'k'));
  Source writer = open_source(folder / "w");
  {
    Source first = open_to_read(folder / "w");
    Source second = open_to_read(folder / "w");
    EXPECT_TRUE(first.lock(0, 4096).ok());
    EXPECT_TRUE(second.lock(100, 4000).ok());
    EXPECT_EQ(writer.lock(4095, 1).cause(), Cause::in_use);
  }
  EXPECT_TRUE(writer.lock(4095, 1).ok());
  Source third = open_to_read(folder / "w");
  EXPECT_EQ(third.lock(0, 4096).cause(), Cause::in_use);
}

TEST(SourceToRead, MustBeThereAndLongEnough) {
  const Folder folder;
  const auto missing =
      Source::open({.path = folder / "w", .striping_factor = {}, .striping_unit = {}, .readonly = true});
  EXPECT_EQ(missing.status().cause(), Cause::no_such_file);
  EXPECT_FALSE(fs::exists(folder / "w"));
  write_text(folder / "w", std::string(4096, 'k'));
  Source source = open_to_read(folder / "w");
  EXPECT_TRUE(source.reserve(96, 4000, Reserve::full).ok());
  const Status status = source.reserve(97, 4000, Reserve::full);
  EXPECT_EQ(status.cause(), Cause::bad_file);
  EXPECT_NE(status.message().find("4096 bytes"), std::string::npos) << status.message();
  EXPECT_EQ(fs::file_size(folder / "w"), 4096u);
}

TEST(SourceLock, HoldsAgainstOtherProcessesUntilClosed) {
  const Folder folder;
  auto holder = std::make_unique<Source>(open_source(folder / "w"));
  ASSERT_TRUE(holder->lock(0, 4096).ok());
  const auto try_lock = [&] {
    return test::run_child([&] {
             // Of a descriptor of its own: this process's was inherited.
             ::_exit(static_cast<int>(open_source(folder / "w").lock(10, 10).cause()));
           })
        .status;
  };
  EXPECT_EQ(try_lock(), static_cast<int>(Cause::in_use));
  holder.reset();
  EXPECT_EQ(try_lock(), static_cast<int>(Cause::ok));
}

// Another window freed it, or undid its creation, after this one had opened it.
TEST(SourceLock, RefusesAFileThatIsGoneOrReplaced) {
  const Folder folder;
  Source removed = open_source(folder / "w");
  fs::remove(folder / "w");
  EXPECT_EQ(removed.lock(0, 10).cause(), Cause::in_use);
  Source replaced = open_source(folder / "w");
  write_text(folder / "other", "");
  fs::rename(folder / "other", folder / "w");
  const Status status = replaced.lock(0, 10);
  EXPECT_EQ(status.cause(), Cause::in_use);
  EXPECT_NE(status.message().find(folder / "w"), std::string::npos) << status.message();
}

TEST(SourceLock, ThatTheFileSystemLacksIsSaidOnce) {
  const Folder folder;
  const auto outcome = test::run_child([&] {
    test::fail_calls(__NR_fcntl, F_OFD_SETLK, ENOLCK);
    Source source = open_source(folder / "w");
    for (int rank = 0; rank < 3; ++rank)
      if (!source.lock(rank, 1).ok()) ::_exit(2);
  });
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(std::ranges::count(outcome.output, '\n'), 1) << outcome.output;
  EXPECT_NE(outcome.output.find("warn: " + (folder / "w") + ": no file locks here"), std::string::npos)
      << outcome.output;
}

TEST(SourceLock, UnlockGivesAllBytesBack) {
  const Folder folder;
  Source first = open_source(folder / "w");
  Source second = open_source(folder / "w");
  ASSERT_TRUE(first.lock(0, 10).ok());
  ASSERT_TRUE(first.lock(4096, 10).ok());
  first.unlock();
  EXPECT_TRUE(second.lock(0, 1 << 20).ok());
}

TEST(SourceUndo, RemovesWhatWasCreated) {
  const Folder folder;
  Source source = open_source(folder / "w");
  ASSERT_TRUE(source.reserve(0, 4096, Reserve::full).ok());
  ASSERT_TRUE(source.undo().ok());
  EXPECT_FALSE(fs::exists(folder / "w"));
}

TEST(SourceUndo, CutsOffWhatWasGrownAndNoMore) {
  const Folder folder;
  write_text(folder / "w", "bytes");
  Source grown = open_source(folder / "w");
  ASSERT_TRUE(grown.reserve(3, 10000, Reserve::full).ok());
  ASSERT_TRUE(grown.undo().ok());
  EXPECT_EQ(read_text(folder / "w"), "bytes");
  Source untouched = open_source(folder / "w");
  ASSERT_TRUE(untouched.reserve(0, 4, Reserve::full).ok());
  write_text(folder / "w", "more bytes");
  ASSERT_TRUE(untouched.undo().ok());
  EXPECT_EQ(read_text(folder / "w"), "more bytes");
}

// A created the file, B opened it and was first to lock.
TEST(SourceUndo, LeavesACreatedFileThatAnotherWindowLiesOn) {
  const Folder folder;
  Source creator = open_source(folder / "w");
  Source other = open_source(folder / "w");
  ASSERT_TRUE(other.lock(0, 10).ok());
  ASSERT_EQ(creator.lock(0, 10).cause(), Cause::in_use);
  EXPECT_TRUE(creator.undo().ok());
  EXPECT_TRUE(fs::exists(folder / "w"));
  EXPECT_EQ(other.remove().cause(), Cause::ok);
}

TEST(SourceUndo, LeavesBytesThatAnotherWindowHas) {
  const Folder folder;
  write_text(folder / "w", "bytes");
  for (const bool still_open : {true, false}) {
    Source first = open_source(folder / "w");
    ASSERT_TRUE(first.lock(0, mib).ok());
    ASSERT_TRUE(first.reserve(0, mib, Reserve::full).ok());
    auto second = std::make_unique<Source>(open_source(folder / "w"));
    ASSERT_TRUE(second->lock(mib, mib).ok());
    ASSERT_TRUE(second->reserve(mib, mib, Reserve::full).ok());
    if (!still_open) second.reset();
    EXPECT_TRUE(first.undo().ok());
    EXPECT_EQ(fs::file_size(folder / "w"), 2 * mib) << still_open;
    fs::resize_file(folder / "w", 5);
  }
}

// It lay between the old end and the new one, or between two ranks' bytes, and is gone by now.
TEST(SourceUndo, LeavesBytesThatAnotherWindowLeftInAGap) {
  const Folder folder;
  for (const std::uint64_t place : {std::uint64_t{1000}, 3 * mib}) {
    write_text(folder / "w", "bytes");
    Source source = open_source(folder / "w");
    ASSERT_TRUE(source.reserve(mib, mib, Reserve::full).ok());
    ASSERT_TRUE(source.reserve(4 * mib, mib, Reserve::full).ok());
    {
      const Source other = open_source(folder / "w");
      ASSERT_EQ(::pwrite(other.fd(), "theirs", 6, static_cast<off_t>(place)), 6);
    }
    EXPECT_TRUE(source.undo().ok());
    const std::string left = read_text(folder / "w");
    EXPECT_EQ(left.size(), place == 1000 ? mib : 4 * mib);
    EXPECT_EQ(left.substr(place, 6), "theirs");
    EXPECT_TRUE(left.starts_with("bytes"));
  }
}

// Without locks nobody knows whether another window lies there; that is said.
TEST(SourceUndo, LeavesFilesWithoutLocks) {
  const Folder folder;
  const auto outcome = test::run_child([&] {
    test::fail_calls(__NR_fcntl, F_OFD_SETLK, ENOLCK);
    Source source = open_source(folder / "w");
    ::_exit(source.undo().ok() ? 0 : 2);
  });
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.output.find("warn: " + (folder / "w")), std::string::npos) << outcome.output;
  EXPECT_TRUE(fs::exists(folder / "w"));
}

// Each rank opens the file for itself; whichever of them created it, one undoes.
TEST(SourceUndo, OneRankAnswersForTheFileThatAnotherCreated) {
  const Folder folder;
  Source creator = open_source(folder / "w");
  Source leader = open_source(folder / "w");
  creator.answer_for_creation(false);
  leader.answer_for_creation(true);
  ASSERT_TRUE(leader.lock(0, 10).ok());
  ASSERT_TRUE(leader.lock(10, 10).ok());
  EXPECT_TRUE(creator.undo().ok());
  EXPECT_TRUE(fs::exists(folder / "w"));
  EXPECT_TRUE(leader.undo().ok());
  EXPECT_FALSE(fs::exists(folder / "w"));
}

TEST(SourceRemove, DeletesOnlyTheWindowsOwnFile) {
  const Folder folder;
  Source source = open_source(folder / "w");
  fs::rename(folder / "w", folder / "kept");
  write_text(folder / "w", "somebody else's");
  EXPECT_EQ(source.remove().cause(), Cause::bad_file);
  EXPECT_EQ(read_text(folder / "w"), "somebody else's");
  fs::rename(folder / "kept", folder / "w");
  EXPECT_TRUE(source.remove().ok());
  EXPECT_FALSE(fs::exists(folder / "w"));
  EXPECT_TRUE(source.remove().ok()) << "gone already";
}

TEST(SourceRemove, LeavesALinkThatTookTheFilesPlace) {
  const Folder folder;
  Source source = open_source(folder / "w");
  fs::rename(folder / "w", folder / "kept");
  fs::create_symlink(folder / "kept", folder / "w");
  EXPECT_EQ(source.remove().cause(), Cause::bad_file);
  EXPECT_TRUE(fs::is_symlink(folder / "w"));
}

}  // namespace
}  // namespace sill::storage
