#include "topology/identity.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/machine.hpp"
#include "unit/support/folder.hpp"
#include "unit/support/mounts.hpp"

namespace sill::topology {
namespace {

constexpr std::string_view mountinfo =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
    "36 27 0:40 /users/me /home/my\\040own\\134dir rw,noatime shared:1 master:2 - nfs4 server:/export\\040a "
    "ro,vers=4.2\n"
    "40 27 0:41 / /ro ro,relatime - tmpfs none rw\n"
    "41 27 broken\n";

TEST(Mounts, AreFoundByTheirId) {
  const auto root = find_mount(mountinfo, 27);
  ASSERT_TRUE(root);
  EXPECT_EQ(root->type, "ext4");
  EXPECT_EQ(root->source, "/dev/vda");
  EXPECT_EQ(root->point, "/");
  EXPECT_FALSE(root->read_only);
  EXPECT_FALSE(find_mount(mountinfo, 2)) << "22 and 27 only begin with it";
  EXPECT_FALSE(find_mount("", 27));
}

TEST(Mounts, MayHaveOptionalFieldsAndEscapes) {
  const auto mount = find_mount(mountinfo, 36);
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->type, "nfs4");
  EXPECT_EQ(mount->source, "server:/export a");
  EXPECT_EQ(mount->root, "/users/me");
  EXPECT_EQ(mount->point, "/home/my own\\dir");
}

TEST(Mounts, AreReadOnlyByTheirOwnOptionOrTheFileSystems) {
  EXPECT_TRUE(find_mount(mountinfo, 36)->read_only);
  EXPECT_TRUE(find_mount(mountinfo, 40)->read_only);
}

TEST(Mounts, BrokenLinesAreNone) { EXPECT_FALSE(find_mount(mountinfo, 41)); }

TEST(Kinds, OfFileSystems) {
  for (const char* type : {"ext4", "xfs", "btrfs", "tmpfs", "zfs"}) EXPECT_EQ(kind_of(type), Kind::plain) << type;
  for (const char* type : {"nfs", "nfs4", "lustre", "gpfs", "ceph", "beegfs", "cifs", "fuse.sshfs"})
    EXPECT_EQ(kind_of(type), Kind::network) << type;
  for (const char* type : {"overlay", "fuse", "fuseblk", "autofs", "new", ""})
    EXPECT_EQ(kind_of(type), Kind::stacked) << type;
}

Identity identity_of(const std::string& path) {
  auto directory = Directory::open(path);
  EXPECT_TRUE(directory.ok() && directory.value()) << path;
  return directory.value()->identity();
}

TEST(Directories, AreTheSameByAnyName) {
  const test::Folder folder;
  std::filesystem::create_directories(folder / "a/b");
  std::filesystem::create_directory_symlink(folder / "a", folder / "link");
  const Identity real = identity_of(folder / "a/b");
  for (const char* name : {"link/b", "a/../link/b/.", "a//b/"}) {
    const Identity other = identity_of(folder / name);
    EXPECT_EQ(other.device, real.device) << name;
    EXPECT_EQ(other.inode, real.inode) << name;
    EXPECT_EQ(other.fingerprint, real.fingerprint) << name;
  }
  EXPECT_NE(identity_of(folder / "a").inode, real.inode);
  EXPECT_NE(identity_of(folder / "a").fingerprint, real.fingerprint);
  EXPECT_EQ(real.machine, machine_identity());
  EXPECT_EQ(real.presence, Presence::present);
}

TEST(Directories, ThatAreNotThereAreNoError) {
  const test::Folder folder;
  test::write_text(folder / "file", "");
  std::filesystem::create_symlink("loop", folder / "loop");
  for (const std::string& name : {folder / "missing", folder / "file", folder / "file/below", folder / "loop",
                                  folder / std::string(300, 'n'), std::string()}) {
    const auto directory = Directory::open(name);
    ASSERT_TRUE(directory.ok()) << name;
    EXPECT_FALSE(directory.value()) << name;
  }
}

TEST(Directories, TellWhatIsMounted) {
  if (const auto reason = test::why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  test::Mounted mounted(1u << 20);
  const test::Mounted other(1u << 20);
  const auto directory = Directory::open(mounted.path());
  ASSERT_TRUE(directory.ok() && directory.value());
  ASSERT_TRUE(directory.value()->mount());
  EXPECT_EQ(directory.value()->mount()->type, "tmpfs");
  EXPECT_EQ(directory.value()->mount()->point, mounted.path());
  EXPECT_EQ(directory.value()->identity().kind, Kind::plain);
  EXPECT_EQ(directory.value()->identity().read_only, 0u);
  EXPECT_NE(identity_of(other.path()).device, identity_of(mounted.path()).device);
  mounted.make_read_only();
  EXPECT_EQ(identity_of(mounted.path()).read_only, 1u);
}

}  // namespace
}  // namespace sill::topology
