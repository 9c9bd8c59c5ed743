#include "base/file_systems.hpp"

#include <gtest/gtest.h>
#include <linux/magic.h>

#include <initializer_list>

namespace sill {
namespace {

using Kind = FileSystem::Kind;

TEST(FileSystems, AreOfAKindByTheirType) {
  for (const char* type : {"ext4", "xfs", "btrfs", "tmpfs", "zfs"})
    EXPECT_EQ(file_system_of(type).kind, Kind::plain) << type;
  for (const char* type : {"nfs", "nfs4", "lustre", "gpfs", "ceph", "beegfs", "cifs", "fuse.sshfs", "fuse.new"})
    EXPECT_EQ(file_system_of(type).kind, Kind::network) << type;
  for (const char* type : {"overlay", "fuse", "fuseblk", "autofs", "new", "ext", ""})
    EXPECT_EQ(file_system_of(type).kind, Kind::stacked) << type;
}

TEST(FileSystems, OfAnyProcessAreNotSaidToBeShared) {
  EXPECT_EQ(file_system_of("fuse.sshfs").shared, true);
  EXPECT_EQ(file_system_of("fuse.new").shared, std::nullopt);
  EXPECT_TRUE(file_system_of("fuse.new").served);
  EXPECT_EQ(file_system_of("new").shared, std::nullopt);
}

TEST(FileSystems, AreFoundByTheirMagicIfOtherMachinesSeeThem) {
  for (const std::uint32_t magic : std::initializer_list<std::uint32_t>{
           NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC, CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC,
           AFS_FS_MAGIC, OCFS2_SUPER_MAGIC, V9FS_MAGIC, FUSE_SUPER_MAGIC})
    EXPECT_EQ(file_system_of_magic(magic).kind, Kind::network) << magic;
  EXPECT_EQ(file_system_of_magic(0x0BD00BD0).type, "lustre");
  for (const std::uint32_t magic : {std::uint32_t{EXT4_SUPER_MAGIC}, std::uint32_t{TMPFS_MAGIC}, 0u, ~0u})
    EXPECT_EQ(file_system_of_magic(magic).kind, Kind::stacked) << magic;
}

}  // namespace
}  // namespace sill
