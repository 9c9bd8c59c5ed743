#include "base/file_systems.hpp"

#include <algorithm>
#include <array>

namespace sill {
namespace {

using enum FileSystem::Kind;

constexpr bool yes = true, no = false;
constexpr auto may = std::nullopt;  // not all of this type are alike

// clang-format off
constexpr auto table = std::to_array<FileSystem>({
    // type           magic       kind    shared served memory dax reflink direct_io
    // Over devices that one kernel alone has mounted.
    {"bcachefs",       0,          plain,   no,  no,  no,  may, yes, yes},
    {"btrfs",          0,          plain,   no,  no,  no,  no,  yes, yes},
    {"erofs",          0,          plain,   no,  no,  no,  may, may, may},
    {"exfat",          0,          plain,   no,  no,  no,  may, may, may},
    {"ext2",           0,          plain,   no,  no,  no,  may, no,  yes},
    {"ext3",           0,          plain,   no,  no,  no,  no,  no,  yes},
    {"ext4",           0,          plain,   no,  no,  no,  may, no,  yes},
    {"f2fs",           0,          plain,   no,  no,  no,  no,  no,  yes},
    {"hfsplus",        0,          plain,   no,  no,  no,  may, may, may},
    {"iso9660",        0,          plain,   no,  no,  no,  may, may, may},
    {"jfs",            0,          plain,   no,  no,  no,  may, may, may},
    {"minix",          0,          plain,   no,  no,  no,  may, may, may},
    {"msdos",          0,          plain,   no,  no,  no,  may, may, may},
    {"nilfs2",         0,          plain,   no,  no,  no,  may, may, may},
    {"ntfs3",          0,          plain,   no,  no,  no,  may, may, may},
    {"reiserfs",       0,          plain,   no,  no,  no,  may, may, may},
    {"squashfs",       0,          plain,   no,  no,  no,  may, may, may},
    {"udf",            0,          plain,   no,  no,  no,  may, may, may},
    {"vfat",           0,          plain,   no,  no,  no,  may, no,  may},
    {"xfs",            0,          plain,   no,  no,  no,  may, may, yes},
    {"zfs",            0,          plain,   no,  no,  no,  no,  may, may},
    // Over this kernel's memory, or nothing.
    {"devtmpfs",       0,          plain,   no,  no,  yes, no,  no,  may},
    {"hugetlbfs",      0,          plain,   no,  no,  yes, no,  no,  may},
    {"proc",           0,          plain,   no,  no,  no,  may, may, may},
    {"ramfs",          0,          plain,   no,  no,  yes, no,  no,  no},
    {"rootfs",         0,          plain,   no,  no,  no,  may, may, may},
    {"sysfs",          0,          plain,   no,  no,  no,  may, may, may},
    {"tmpfs",          0,          plain,   no,  no,  yes, no,  no,  may},
    // Of servers and clusters: inode numbers are the same on all nodes.
    {"9p",             0x01021997, network, yes, yes, no,  may, may, may},
    {"afs",            0x6B414653, network, yes, yes, no,  may, may, may},
    {"afs",            0x5346414F, network, yes, yes, no,  may, may, may},  // OpenAFS
    {"beegfs",         0x19830326, network, yes, no,  no,  may, may, may},
    {"ceph",           0x00C36400, network, yes, yes, no,  may, may, may},
    {"cifs",           0xFF534D42, network, yes, yes, no,  may, may, may},
    {"gfs2",           0x01161970, network, yes, no,  no,  may, may, yes},
    {"glusterfs",      0,          network, yes, no,  no,  may, may, may},
    {"gpfs",           0x47504653, network, yes, no,  no,  may, may, yes},
    {"lustre",         0x0BD00BD0, network, yes, no,  no,  no,  no,  yes},
    {"mmfs",           0,          network, yes, no,  no,  may, may, may},
    {"ncpfs",          0,          network, yes, yes, no,  may, may, may},
    {"nfs",            0x6969,     network, yes, yes, no,  no,  no,  yes},
    {"nfs4",           0x6969,     network, yes, yes, no,  no,  may, yes},
    {"ocfs2",          0x7461636F, network, yes, no,  no,  may, may, yes},
    {"orangefs",       0x20030528, network, yes, no,  no,  may, may, may},
    {"panfs",          0,          network, yes, no,  no,  may, may, may},
    {"pvfs2",          0x20030528, network, yes, no,  no,  may, may, may},
    {"smb3",           0xFE534D42, network, yes, yes, no,  may, may, may},
    {"smbfs",          0x517B,     network, yes, yes, no,  may, may, may},
    {"virtiofs",       0,          network, yes, yes, no,  may, may, may},
    {"weka",           0,          network, yes, no,  no,  may, may, may},
    {"wekafs",         0,          network, yes, no,  no,  may, may, may},
    // Of a process, which may have them from anywhere.
    {"fuse.ceph-fuse", 0,          network, yes, yes, no,  may, may, may},
    {"fuse.glusterfs", 0,          network, yes, yes, no,  may, may, may},
    {"fuse.s3fs",      0,          network, yes, yes, no,  may, may, may},
    {"fuse.sshfs",     0,          network, yes, yes, no,  may, may, may},
    {"fuse.",          0x65735546, network, may, yes, no,  may, may, may},
    {"fuse",           0,          stacked, may, yes, no,  may, may, may},
    {"fuseblk",        0,          stacked, may, yes, no,  may, may, may},
    // Over folders of this kernel.
    {"overlay",        0,          stacked, no,  no,  no,  may, may, may},
});
// clang-format on

constexpr FileSystem unknown = {};

template <class Matches>
const FileSystem& first(Matches matches) {
  const auto* row = std::ranges::find_if(table, matches);
  return row == table.end() ? unknown : *row;
}

}  // namespace

const FileSystem& file_system_of(std::string_view type) {
  return first([&](const FileSystem& row) {
    return row.type == type || (row.type.ends_with('.') && type.starts_with(row.type));
  });
}

const FileSystem& file_system_of_magic(std::uint32_t magic) {
  return first([&](const FileSystem& row) { return row.magic != 0 && row.magic == magic; });
}

}  // namespace sill
