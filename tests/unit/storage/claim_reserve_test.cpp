// What a claim does to have room for a window: grow the file, take blocks for it, say that there are none.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <filesystem>
#include <thread>
#include <vector>

#include "storage/claim.hpp"
#include "storage/mapping.hpp"
#include "unit/support/files.hpp"
#include "unit/support/folder.hpp"
#include "unit/support/mounts.hpp"
#include "unit/support/program.hpp"

namespace sill::storage {
namespace {

namespace fs = std::filesystem;
using test::Folder;
using test::LoopDevice;
using test::Mounted;
using test::open_claim;
using test::read_text;
using test::write_text;

constexpr std::uint64_t mib = 1u << 20;

std::uint64_t allocated(const std::string& path) {
  return static_cast<std::uint64_t>(test::stat_of(path).st_blocks) * 512;
}

TEST(ClaimReserve, GrowsButNeverCuts) {
  const Folder folder;
  for (const Reserve how : {Reserve::full, Reserve::sparse}) {
    write_text(folder / "w", "first bytes");
    Claim claim = open_claim(folder / "w");
    ASSERT_TRUE(claim.reserve({100, 1000}, how).ok());
    EXPECT_EQ(test::stat_of(folder / "w").st_size, 1100);
    ASSERT_TRUE(claim.reserve({0, 5}, how).ok());
    ASSERT_TRUE(claim.reserve({1000, 100}, how).ok());
    EXPECT_EQ(test::stat_of(folder / "w").st_size, 1100);
    EXPECT_EQ(read_text(folder / "w"), test::padded("first bytes", 1100));
  }
}

TEST(ClaimReserve, NothingToReserveChangesNothing) {
  const Folder folder;
  write_text(folder / "w", "bytes");
  Claim claim = open_claim(folder / "w");
  EXPECT_TRUE(claim.reserve({4096, 0}, Reserve::full).ok());
  EXPECT_EQ(test::stat_of(folder / "w").st_size, 5);
}

TEST(ClaimReserve, FullAllocatesBlocksAndSparseDoesNot) {
  const Folder folder;
  Claim full = open_claim(folder / "full");
  ASSERT_TRUE(full.reserve({777, 2 * mib}, Reserve::full).ok());
  EXPECT_GE(allocated(folder / "full"), 2 * mib);
  Claim sparse = open_claim(folder / "sparse");
  ASSERT_TRUE(sparse.reserve({777, 2 * mib}, Reserve::sparse).ok());
  EXPECT_LT(allocated(folder / "sparse"), mib);
  EXPECT_EQ(fs::file_size(folder / "sparse"), 777 + 2 * mib);
}

TEST(ClaimReserve, FullFillsHolesOfAnOldFile) {
  const Folder folder;
  write_text(folder / "w", "head");
  fs::resize_file(folder / "w", mib);
  Claim claim = open_claim(folder / "w");
  ASSERT_TRUE(claim.reserve({0, mib}, Reserve::full).ok());
  EXPECT_GE(allocated(folder / "w"), mib);
  EXPECT_EQ(read_text(folder / "w"), test::padded("head", mib));
}

TEST(ClaimReserve, SparseMayBeHuge) {
  const Folder folder;
  Claim claim = open_claim(folder / "w");
  ASSERT_TRUE(claim.reserve({0, 5ull << 30}, Reserve::sparse).ok());
  EXPECT_EQ(fs::file_size(folder / "w"), 5ull << 30);
}

TEST(ClaimReserve, RefusesMoreThanAFileCanHold) {
  const Folder folder;
  Claim claim = open_claim(folder / "w");
  for (const auto& [offset, length] : {std::pair<std::uint64_t, std::uint64_t>{INT64_MAX, 1},
                                       {UINT64_MAX, 1},
                                       {1, UINT64_MAX},
                                       {4096, INT64_MAX},
                                       {0, INT64_MAX}}) {
    EXPECT_EQ(claim.reserve({offset, length}, Reserve::sparse).cause(), Cause::no_space) << offset << ' ' << length;
  }
  EXPECT_EQ(fs::file_size(folder / "w"), 0u);
}

TEST(ClaimReserve, WindowsThatGrowOneFileNeverCutIt) {
  const Folder folder;
  constexpr std::uint64_t steps = 50000;  // of two threads, so that they meet
  std::atomic<std::uint64_t> cuts = 0;
  std::barrier start(2);
  const auto grow = [&](std::uint64_t first) {
    Claim claim = open_claim(folder / "w");
    start.arrive_and_wait();
    std::uint64_t end = 0;
    for (std::uint64_t step = first; step < 2 * steps; step += 2) {
      struct stat found = {};
      cuts += ::fstat(claim.file()->fd(), &found) != 0 || static_cast<std::uint64_t>(found.st_size) < end ? 1 : 0;
      cuts += claim.reserve({step * 4096, 4096}, Reserve::sparse).ok() ? 0 : 1;
      end = (step + 1) * 4096;
    }
    claim.commit();
  };
  std::thread even(grow, 0);
  std::thread odd(grow, 1);
  even.join();
  odd.join();
  EXPECT_EQ(cuts, 0u);
  EXPECT_EQ(fs::file_size(folder / "w"), 2 * steps * 4096);
}

// ramfs has neither fallocate nor knows its holes, as NFS before 4.2, nor counts blocks: pages tell.
TEST(ClaimReserve, WithoutHoleReportsTheNewPartIsFilled) {
  if (const auto reason = test::why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  const Mounted mounted("ramfs");
  write_text(mounted / "w", "head");
  Claim claim = open_claim(mounted / "w");
  ASSERT_TRUE(claim.reserve({2, mib}, Reserve::full).ok());
  void* pages = ::mmap(nullptr, mib, PROT_READ, MAP_SHARED, claim.file()->fd(), 0);
  ASSERT_NE(pages, MAP_FAILED);
  std::vector<unsigned char> resident(mib / page_size());
  EXPECT_EQ(::mincore(pages, mib, resident.data()), 0);
  EXPECT_EQ(std::ranges::count_if(resident, [](unsigned char page) { return (page & 1) == 0; }), 0);
  EXPECT_EQ(::munmap(pages, mib), 0);
  EXPECT_EQ(read_text(mounted / "w"), test::padded("head", mib + 2));
}

// On a file system too small for the window: an error, and after undo what was there before is untouched.
void expect_full(const Mounted& mounted) {
  write_text(mounted / "old", "old bytes");
  const std::uint64_t wanted = mounted.free_bytes() + mib;
  Claim fresh = open_claim(mounted / "fresh");
  const Status status = fresh.reserve({0, wanted}, Reserve::full);
  EXPECT_EQ(status.cause(), Cause::no_space) << status.message();
  EXPECT_NE(status.message().find(mounted / "fresh"), std::string::npos) << status.message();
  EXPECT_TRUE(fresh.undo().ok());
  EXPECT_FALSE(fs::exists(mounted / "fresh"));

  Claim old = open_claim(mounted / "old");
  EXPECT_EQ(old.reserve({100, wanted}, Reserve::full).cause(), Cause::no_space);
  EXPECT_TRUE(old.undo().ok());
  EXPECT_EQ(read_text(mounted / "old"), "old bytes");

  ASSERT_TRUE(old.reserve({100, wanted}, Reserve::sparse).ok()) << "sparse takes no blocks";
  EXPECT_TRUE(old.undo().ok());
  EXPECT_EQ(read_text(mounted / "old"), "old bytes");
}

TEST(ClaimReserve, AFullTmpfsIsAnErrorAndUndone) {
  if (const auto reason = test::why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  expect_full(Mounted(4 * mib));
}

TEST(ClaimReserve, AFullDiskIsAnErrorAndUndone) {
  if (const auto reason = test::why_no_loop_devices(); !reason.empty()) GTEST_SKIP() << reason;
  const Folder folder;
  const LoopDevice device(folder.path(), 16 * mib);
  expect_full(Mounted(device, "ext4"));
}

TEST(ClaimReserve, MoreThanTheFileSizeLimitIsAnErrorAndNoSignal) {
  const Folder folder;
  for (const Reserve how : {Reserve::full, Reserve::sparse}) {
    const auto outcome = test::run_child([&] {
      const rlimit limit = {mib, mib};
      if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
      Claim claim = open_claim(folder / "w");
      if (!claim.reserve({0, mib}, how).ok()) ::_exit(3);
      if (claim.reserve({0, 2 * mib}, how).cause() != Cause::no_space) ::_exit(4);
      sigset_t blocked;
      const bool as_before =
          ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked) == 0 && !::sigismember(&blocked, SIGXFSZ);
      ::_exit(as_before ? 0 : 5);
    });
    EXPECT_EQ(outcome.status, 0) << outcome.output;
  }
}

// A copy shares its blocks with the original until one of the two is stored to: a window's must be its own.
TEST(ClaimReserve, BlocksThatACopySharesAreReserved) {
  if (const auto reason = test::why_no_loop_devices(); !reason.empty()) GTEST_SKIP() << reason;
  if (::access("/sbin/mkfs.xfs", X_OK) != 0) GTEST_SKIP() << "no mkfs.xfs";
  const Folder folder;
  const LoopDevice device(folder.path(), 400 * mib);
  const Mounted mounted(device, "xfs");
  write_text(mounted / "w", std::string(40 * mib, 'x'));
  ASSERT_EQ(test::run_program({"cp", "--reflink=always", mounted / "w", mounted / "copy"}).status, 0);
  const auto used = [&] {
    const std::uint64_t before = mounted.free_bytes();
    Claim claim = open_claim(mounted / "w");
    EXPECT_TRUE(claim.reserve({0, 40 * mib}, Reserve::full).ok());
    return before - mounted.free_bytes();
  };
  EXPECT_GE(used(), 39 * mib);
  EXPECT_LT(used(), mib) << "nothing is shared any more";
  EXPECT_EQ(read_text(mounted / "w"), std::string(40 * mib, 'x'));

  ASSERT_EQ(test::run_program({"cp", "--reflink=always", mounted / "w", mounted / "another"}).status, 0);
  Claim filler = open_claim(mounted / "filler");
  ASSERT_TRUE(filler.reserve({0, mounted.free_bytes() - 10 * mib}, Reserve::full).ok());
  Claim claim = open_claim(mounted / "w");
  EXPECT_EQ(claim.reserve({0, 40 * mib}, Reserve::full).cause(), Cause::no_space);
  EXPECT_TRUE(claim.reserve({0, 40 * mib}, Reserve::sparse).ok());
}

// ext2 has no fallocate: zeros are written into the holes.
TEST(ClaimReserve, WithoutFallocateHolesAreFilled) {
  if (const auto reason = test::why_no_loop_devices(); !reason.empty()) GTEST_SKIP() << reason;
  const Folder folder;
  const LoopDevice device(folder.path(), 16 * mib);
  const Mounted mounted(device, "ext2");
  write_text(mounted / "w", "head");
  fs::resize_file(mounted / "w", 3 * mib);
  Claim claim = open_claim(mounted / "w");
  ASSERT_TRUE(claim.reserve({2, 4 * mib}, Reserve::full).ok());
  EXPECT_GE(allocated(mounted / "w"), 4 * mib);
  EXPECT_EQ(read_text(mounted / "w"), test::padded("head", 4 * mib + 2));
  expect_full(mounted);
}

}  // namespace
}  // namespace sill::storage
