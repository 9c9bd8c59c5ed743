#include "topology/store.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "unit/support/folder.hpp"
#include "unit/support/mounts.hpp"
#include "unit/support/program.hpp"

namespace sill::topology {
namespace {

Store query(const std::string& path) {
  auto store = query_store(path);
  EXPECT_TRUE(store.ok()) << store.status().message();
  return store.ok() ? store.value() : Store{};
}

TEST(Store, TmpfsIsMemoryOfThisMachine) {
  if (const auto reason = test::why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  const test::Mounted mounted(1u << 20);
  const Store store = query(mounted.path());
  EXPECT_EQ(store.file_system, "tmpfs");
  EXPECT_EQ(store.mount_point, mounted.path());
  EXPECT_EQ(store.device, "");
  EXPECT_EQ(store.medium, Medium::memory);
  EXPECT_EQ(store.shared, false);
  EXPECT_EQ(store.dax, false);
  EXPECT_EQ(store.reflink, false);
  EXPECT_EQ(store.capacity, 1u << 20);
  EXPECT_EQ(store.available, mounted.free_bytes());
  EXPECT_FALSE(store.read_only);
}

TEST(Store, OneFileSystemHasOneIdentityAndTwoHaveTwo) {
  if (const auto reason = test::why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  const test::Mounted first(1u << 20);
  const test::Mounted second(1u << 20);
  ASSERT_EQ(::mkdir((first / "below").c_str(), 0700), 0);
  EXPECT_EQ(query(first.path()).identity, query(first / "below").identity);
  EXPECT_NE(query(first.path()).identity, query(second.path()).identity);
  EXPECT_FALSE(query(first.path()).identity.empty());
}

TEST(Store, ReadOnlyMountIsSeen) {
  if (const auto reason = test::why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  test::Mounted mounted(1u << 20);
  mounted.make_read_only();
  EXPECT_TRUE(query(mounted.path()).read_only);
}

TEST(Store, FileSystemOnADeviceNamesItAndItsUuid) {
  if (const auto reason = test::why_no_loop_devices(); !reason.empty()) GTEST_SKIP() << reason;
  const test::Folder folder;
  const test::LoopDevice device(folder.path(), 16u << 20);
  const test::Mounted mounted(device, "ext4");
  const Store store = query(mounted.path());
  EXPECT_EQ(store.file_system, "ext4");
  EXPECT_EQ("/dev/" + store.device, device.path());
  EXPECT_EQ(store.source, device.path());
  EXPECT_EQ(store.shared, false);
  EXPECT_EQ(store.reflink, false);
  EXPECT_EQ(store.dax, false) << "a loop device has none";
  EXPECT_NE(store.medium, Medium::memory);
  EXPECT_GT(store.capacity, 8u << 20);
  EXPECT_GT(store.capacity, store.available);
  if (!store.identity.starts_with("uuid:")) GTEST_SKIP() << "only udev knows UUIDs before Linux 6.9";
  const auto written = test::run_program({"blkid", "-p", "-s", "UUID", "-o", "value", device.path()});
  EXPECT_EQ("uuid:" + written.output, store.identity + "\n");
}

TEST(Store, XfsTellsOfSharedBlocks) {
  if (const auto reason = test::why_no_loop_devices(); !reason.empty()) GTEST_SKIP() << reason;
  if (::access("/sbin/mkfs.xfs", X_OK) != 0) GTEST_SKIP() << "no mkfs.xfs";
  const test::Folder folder;
  const test::LoopDevice device(folder.path(), 320u << 20);
  const test::Mounted mounted(device, "xfs");
  const Store store = query(mounted.path());
  EXPECT_EQ(store.file_system, "xfs");
  EXPECT_EQ(store.reflink, true) << "the default of mkfs.xfs since 2019";
  EXPECT_TRUE(store.identity.starts_with("uuid:")) << store.identity;
  EXPECT_EQ(store.direct_io, true);
}

TEST(Store, BlockDeviceIsAStoreToo) {
  if (const auto reason = test::why_no_loop_devices(); !reason.empty()) GTEST_SKIP() << reason;
  const test::Folder folder;
  const test::LoopDevice device(folder.path(), 4u << 20);
  const Store store = query(device.path());
  EXPECT_EQ(store.file_system, "block device");
  EXPECT_EQ("/dev/" + store.device, device.path());
  EXPECT_EQ(store.capacity, 4u << 20);
  EXPECT_EQ(store.shared, std::nullopt);
  EXPECT_FALSE(store.identity.empty());
}

TEST(Store, WhatMayNotBeReadIsDescribedAnyway) {
  const test::Folder folder;
  test::write_text(folder / "secret", "x");
  ASSERT_EQ(::chmod(folder.path().c_str(), 0711), 0);
  ASSERT_EQ(::chmod((folder / "secret").c_str(), 0), 0);
  const std::string expected = query(folder.path()).mount_point;
  const auto outcome = test::run_child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
    const auto store = query_store(folder / "secret");
    ::_exit(store.ok() && store.value().mount_point == expected && !store.value().identity.empty() ? 0 : 1);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

// Without /proc, and with one in which the root's mount isn't listed.
TEST(Store, InAPlainChrootWhatIsUnknownIsSaid) {
  if (const auto reason = test::why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  const test::Folder folder;
  ASSERT_EQ(::mkdir((folder / "proc").c_str(), 0755), 0);
  const Store outside = query(folder.path());
  for (const bool proc : {false, true}) {
    const auto outcome = test::run_child([&] {
      if (::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(2);
      if (proc && ::mount("proc", (folder / "proc").c_str(), "proc", 0, nullptr) != 0) ::_exit(3);
      if (::chroot(folder.path().c_str()) != 0 || ::chdir("/") != 0) ::_exit(4);
      const auto store = query_store("/");
      if (!store.ok()) std::fprintf(stderr, "%s\n", store.status().message().c_str());
      const bool right = store.ok() && store.value().file_system == "unknown" && store.value().mount_point.empty() &&
                         store.value().capacity == outside.capacity && !store.value().identity.empty();
      ::_exit(right ? 0 : 1);
    });
    EXPECT_EQ(outcome.status, 0) << outcome.output;
  }
}

TEST(Store, MissingPathIsAnErrorThatNamesIt) {
  const auto missing = query_store("/no/such/folder");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().cause(), Cause::no_such_file);
  EXPECT_NE(missing.status().message().find("/no/such/folder"), std::string::npos);
}

}  // namespace
}  // namespace sill::topology
