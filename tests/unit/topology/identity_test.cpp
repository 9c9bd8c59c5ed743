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
