#include "storage/staging.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "unit/support/files.hpp"
#include "unit/support/folder.hpp"
#include "unit/support/mounts.hpp"
#include "unit/support/program.hpp"

namespace sill::storage {
namespace {

using test::Folder;
using test::open_file;
using test::open_reserved;
using test::read_text;
using test::write_text;

std::uint64_t write(const File& file, std::uint64_t offset, const std::string& memory) {
  const auto written = write_out(file, offset, memory.data(), memory.size());
  EXPECT_TRUE(written.ok()) << written.status().message();
  return written.ok() ? written.value() : UINT64_MAX;
}

TEST(ReadIn, ReadsFromTheOffsetAndZerosBehindTheEnd) {
  const Folder folder;
  write_text(folder / "w", "0123456789");
  const File file = open_file(folder / "w");
  std::string memory(10, 'x');
  ASSERT_TRUE(read_in(file, 7, memory.data(), memory.size()).ok());
  EXPECT_EQ(memory, std::string("789") + std::string(7, '\0'));
  memory.assign(10, 'x');
  ASSERT_TRUE(read_in(file, 1000, memory.data(), memory.size()).ok());
  EXPECT_EQ(memory, std::string(10, '\0'));
}

TEST(WriteOut, WritesAtTheOffsetAndNothingElse) {
  const Folder folder;
  write_text(folder / "w", "0123456789");
  const File file = open_file(folder / "w");
  EXPECT_GT(write(file, 3, "abc"), 0u);
  EXPECT_EQ(read_text(folder / "w"), "012abc6789");
  EXPECT_GT(write(file, 12, "z"), 0u);
  EXPECT_EQ(read_text(folder / "w"), std::string("012abc6789\0\0z", 13));
}

TEST(WriteOut, BehindTheFileSizeLimitIsAnErrorAndNoSignal) {
  const Folder folder;
  const File file = open_reserved(folder / "w", 0, 1 << 20);
  const auto outcome = test::run_child([&] {
    const rlimit limit = {4096, 4096};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    const std::string memory(1 << 20, 'x');
    const auto written = write_out(file, 0, memory.data(), memory.size());
    ::_exit(written.status().cause() == Cause::no_space ? 0 : 3);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

TEST(WriteOut, WritesOnlyWhatDiffers) {
  const Folder folder;
  std::string memory(3'000'001, 'x');  // some chunks and a piece
  const File file = open_reserved(folder / "w", 100, memory.size());
  EXPECT_EQ(write(file, 100, memory), memory.size());
  EXPECT_EQ(write(file, 100, memory), 0u);
  memory[1'500'000] = 'y';
  memory.back() = 'z';
  const std::uint64_t written = write(file, 100, memory);
  EXPECT_GT(written, 0u);
  EXPECT_LE(written, 2u * 4096);
  EXPECT_EQ(read_text(folder / "w").substr(100), memory);
}

TEST(WriteOut, ANewFileIsWrittenWholeEvenIfZero) {
  const Folder folder;
  const File file = open_file(folder / "w");
  EXPECT_EQ(write(file, 0, std::string(5000, '\0')), 5000u);
  EXPECT_EQ(std::filesystem::file_size(folder / "w"), 5000u);
}

TEST(WriteOut, NothingIsNothing) {
  const Folder folder;
  EXPECT_EQ(write(open_file(folder / "w"), 0, ""), 0u);
  EXPECT_EQ(read_text(folder / "w"), "");
}

TEST(WriteOut, SeveralThreadsLeaveTheLastState) {
  const Folder folder;
  std::vector<char> memory(1u << 20, 'a');
  const File file = open_reserved(folder / "w", 0, memory.size());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        EXPECT_TRUE(write_out(file, 0, memory.data(), memory.size()).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read_text(folder / "w"), std::string(memory.begin(), memory.end()));
}

TEST(WriteOut, AFullFileSystemIsAnErrorThatNamesTheFile) {
  if (const auto reason = test::why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  const test::Mounted mounted(1u << 20);
  const File file = open_file(mounted / "w");
  const std::vector<char> memory(2u << 20, 'x');
  const auto written = write_out(file, 0, memory.data(), memory.size());
  EXPECT_EQ(written.status().cause(), Cause::no_space) << written.status().message();
  EXPECT_NE(written.status().message().find(mounted / "w"), std::string::npos) << written.status().message();
}

}  // namespace
}  // namespace sill::storage
