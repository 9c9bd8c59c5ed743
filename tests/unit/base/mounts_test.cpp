#include "base/mounts.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "unit/support/folder.hpp"
#include "unit/support/mounts.hpp"

namespace sill {
namespace {

// The mount of a path, by a descriptor that can be had without permission to read.
Result<Mount> mount_at(const std::string& path) {
  const int fd = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  EXPECT_GE(fd, 0) << path;
  auto mount = mount_of(fd, path);
  ::close(fd);
  return mount;
}

TEST(Mounts, LineIsRead) {
  const auto mount = parse_mount(
      R"(36 35 98:0 /a\040b /mnt\134x rw,noatime master:1 propagate_from:2 - fuse.sshfs host:/a\040b ro,dax=always)");
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->id, 36);
  EXPECT_EQ(mount->major, 98u);
  EXPECT_EQ(mount->minor, 0u);
  EXPECT_EQ(mount->root, "/a b");
  EXPECT_EQ(mount->point, "/mnt\\x");
  EXPECT_EQ(mount->type, "fuse.sshfs");
  EXPECT_EQ(mount->source, "host:/a b");
  for (const char* const option : {"rw", "noatime", "ro", "dax=always"}) EXPECT_TRUE(mount->has_option(option));
  EXPECT_FALSE(mount->has_option("dax"));
}

TEST(Mounts, OptionalFieldsAndTheSourceMayBeMissing) {
  const auto mount = parse_mount("28 1 0:25 / / ro - tmpfs  ro");
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->type, "tmpfs");
  EXPECT_EQ(mount->source, "");
}

TEST(Mounts, OtherLinesAreNone) {
  for (const char* const line : {"", "36", "36 35 98:0 / / rw ext4 /dev/vda rw", "x 35 98:0 / / rw - ext4 /dev/vda rw",
                                 "36 35 98 / / rw - ext4 /dev/vda rw", "36 35 98:0 / / rw - ext4"})
    EXPECT_FALSE(parse_mount(line)) << line;
}

TEST(Mounts, TheMountOfADescriptorIsFound) {
  const auto root = mount_at("/");
  ASSERT_TRUE(root.ok()) << root.status().message();
  EXPECT_EQ(root.value().point, "/");
  const auto processes = mount_at("/proc/self/status");
  ASSERT_TRUE(processes.ok()) << processes.status().message();
  EXPECT_EQ(processes.value().type, "proc");
}

TEST(Mounts, OfTwoMountsOnOnePointTheUpperOneCounts) {
  if (const auto reason = test::why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  const test::Mounted mounted(1u << 20);
  const auto mount = mount_at(mounted.path());
  ASSERT_TRUE(mount.ok()) << mount.status().message();
  EXPECT_EQ(mount.value().type, "tmpfs");
  EXPECT_EQ(mount.value().point, mounted.path());
  struct stat facts;
  ASSERT_EQ(::stat(mounted.path().c_str(), &facts), 0);
  EXPECT_EQ(makedev(mount.value().major, mount.value().minor), facts.st_dev);
}

}  // namespace
}  // namespace sill
