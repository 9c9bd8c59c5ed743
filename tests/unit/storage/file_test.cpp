#include "storage/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <climits>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

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
using test::open_file;
using test::read_text;
using test::stat_of;
using test::try_open;
using test::write_text;

constexpr std::uint64_t mib = 1u << 20;

bool is_there(const std::string& path) {
  struct stat found;
  return ::lstat(path.c_str(), &found) == 0;
}

// Opening fails with this cause and a message that names the path, and leaves nothing behind.
void expect_refused(const std::string& path, Cause cause) {
  const bool before = is_there(path);
  const auto file = try_open(path);
  EXPECT_EQ(file.status().cause(), cause) << path << ": " << file.status().message();
  EXPECT_NE(file.status().message().find(path), std::string::npos) << file.status().message();
  EXPECT_EQ(is_there(path), before) << path;
}

TEST(FileOpen, CreatesWithThePermissionsAskedFor) {
  const Folder folder;
  const mode_t before = ::umask(077);
  const File file = open_file(folder / "w", 0664);
  ::umask(before);
  EXPECT_TRUE(file.created());
  EXPECT_FALSE(file.is_device());
  EXPECT_EQ(file.size_at_open(), 0u);
  EXPECT_EQ(file.path(), folder / "w");
  EXPECT_EQ(stat_of(folder / "w").st_mode & 07777, 0664u);
}

TEST(FileOpen, FindsWhatIsThereAndLeavesItAlone) {
  const Folder folder;
  write_text(folder / "w", "bytes");
  fs::permissions(folder / "w", fs::perms(0640));
  const File file = open_file(folder / "w", 0600);
  EXPECT_FALSE(file.created());
  EXPECT_EQ(file.size_at_open(), 5u);
  EXPECT_EQ(stat_of(folder / "w").st_mode & 07777, 0640u);
  EXPECT_EQ(read_text(folder / "w"), "bytes");
}

TEST(FileOpen, FollowsLinksAndKnowsTheFileItself) {
  const Folder folder;
  write_text(folder / "real/w", "");
  fs::create_symlink(folder / "real/w", folder / "link");
  const File file = open_file(folder / "link");
  EXPECT_EQ(file.path(), folder / "real/w");
  EXPECT_EQ(file.identity(), open_file(folder / "real/w").identity());
}

TEST(FileOpen, RelativePathsBecomeAbsolute) {
  const Folder folder;
  const auto before = fs::current_path();
  fs::current_path(folder.path());
  const File file = open_file("w");
  fs::current_path(before);
  EXPECT_EQ(file.path(), folder / "w");
}

TEST(FileOpen, RefusesWhatIsNoFileOrDevice) {
  const Folder folder;
  fs::create_directory(folder / "folder");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  struct sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string socket_path = folder / "socket";
  ASSERT_LT(socket_path.size(), sizeof address.sun_path);
  socket_path.copy(address.sun_path, socket_path.size());
  ASSERT_EQ(::bind(fd, reinterpret_cast<struct sockaddr*>(&address), sizeof address), 0);
  expect_refused(folder / "folder", Cause::bad_file);
  expect_refused(folder / "pipe", Cause::bad_file);
  expect_refused(folder / "socket", Cause::bad_file);
  expect_refused("/dev/null", Cause::bad_file);
  expect_refused("/dev/zero", Cause::bad_file);
  ASSERT_EQ(::close(fd), 0);
}

TEST(FileOpen, RefusesPathsThatLeadNowhere) {
  const Folder folder;
  write_text(folder / "file", "");
  fs::create_symlink(folder / "nothing/w", folder / "dangling");
  fs::create_symlink("loop", folder / "loop");
  expect_refused(folder / "missing/w", Cause::no_such_file);
  expect_refused(folder / "dangling", Cause::no_such_file);
  expect_refused(folder / "loop", Cause::bad_file);
  expect_refused(folder / "file/w", Cause::bad_file);
  expect_refused(folder / std::string(NAME_MAX + 1, 'n'), Cause::bad_file);
  expect_refused(folder / "", Cause::bad_file);
}

TEST(FileOpen, RefusesWithoutPermission) {
  const Folder folder;
  write_text(folder / "w", "bytes");
  fs::permissions(folder / "w", fs::perms(0444));
  fs::permissions(folder.path(), fs::perms(0555));
  const auto outcome = test::run_child([&] {
    constexpr uid_t nobody = 65534;
    if (::geteuid() == 0 && ::setresuid(nobody, nobody, nobody) != 0) ::_exit(2);
    const bool file = try_open(folder / "w").status().cause() == Cause::no_permission;
    const bool in_folder = try_open(folder / "new").status().cause() == Cause::no_permission;
    ::_exit(file && in_folder ? 0 : 1);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  fs::permissions(folder.path(), fs::perms(0755));
  EXPECT_EQ(read_text(folder / "w"), "bytes");
}

TEST(FileOpen, RefusesAReadOnlyMount) {
  if (const auto reason = test::why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  Mounted mounted(mib);
  write_text(mounted / "w", "bytes");
  mounted.make_read_only();
  expect_refused(mounted / "w", Cause::read_only);
  expect_refused(mounted / "new", Cause::read_only);
}

TEST(FileOpen, RacingRanksGetOneFileThatOneCreated) {
  const Folder folder;
  for (int round = 0; round < 20; ++round) {
    const std::string path = (folder / "w").append(std::to_string(round));
    std::atomic<int> created = 0;
    std::barrier start(4);
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < 4; ++rank) {
      ranks.emplace_back([&] {
        start.arrive_and_wait();
        created += open_file(path).created() ? 1 : 0;
      });
    }
    for (std::thread& rank : ranks) rank.join();
    EXPECT_EQ(created, 1);
  }
}

TEST(FileOpenPeer, TakesTheSameFileOnly) {
  const Folder folder;
  const File file = open_file(folder / "w");
  const auto peer = File::open_peer(file.path(), file.identity());
  ASSERT_TRUE(peer.ok()) << peer.status().message();
  EXPECT_EQ(peer.value().identity(), file.identity());
  write_text(folder / "other", "");
  fs::rename(folder / "other", folder / "w");
  EXPECT_EQ(File::open_peer(file.path(), file.identity()).status().cause(), Cause::no_such_file);
  fs::remove(folder / "w");
  EXPECT_EQ(File::open_peer(file.path(), file.identity()).status().cause(), Cause::no_such_file);
}

TEST(File, KnowsWhetherItIsStillThere) {
  const Folder folder;
  const auto cause = [](const File& file, bool name_matters = true) {
    const Status status = file.check_there(4096, name_matters);
    const bool named = status.ok() || status.message().find(file.path()) != std::string::npos;
    EXPECT_TRUE(named) << status.message();
    return status.cause();
  };
  const auto fresh = [&](const std::string& name) {
    File file = test::open_reserved(folder / name, 0, 4096);
    EXPECT_EQ(cause(file), Cause::ok);
    return file;
  };
  const File deleted = fresh("deleted");
  fs::remove(folder / "deleted");
  EXPECT_EQ(cause(deleted), Cause::no_such_file);
  EXPECT_EQ(cause(deleted, false), Cause::ok);
  write_text(folder / "deleted", "new");
  EXPECT_EQ(cause(deleted), Cause::bad_file) << "there is another one in its place";

  const File moved = fresh("moved");
  fs::rename(folder / "moved", folder / "elsewhere");
  EXPECT_EQ(cause(moved), Cause::no_such_file);
  write_text(folder / "moved", "new");
  EXPECT_EQ(cause(moved), Cause::bad_file);
  fs::rename(folder / "elsewhere", folder / "moved");
  EXPECT_EQ(cause(moved), Cause::ok) << "it is back";

  const File cut = fresh("cut");
  fs::resize_file(folder / "cut", 4095);
  EXPECT_EQ(cause(cut), Cause::bad_file);
  EXPECT_EQ(cause(cut, false), Cause::bad_file);
  EXPECT_EQ(File::anonymous().value().check_there(4096, true).cause(), Cause::ok);
}

TEST(File, SyncsItsFolder) {
  const Folder folder;
  EXPECT_TRUE(open_file(folder / "w").sync_folder().ok());
}

TEST(File, SyncOfAFolderThatIsGoneIsAnError) {
  const Folder folder;
  fs::create_directory(folder / "sub");
  const File file = open_file(folder / "sub/w");
  fs::remove_all(folder / "sub");
  EXPECT_EQ(file.sync_folder().cause(), Cause::no_such_file);
}

TEST(File, ClosesItsFileOnceWhenMoved) {
  const Folder folder;
  File first = open_file(folder / "a");
  File second = open_file(folder / "b");
  const int kept = first.fd();
  const int closed = second.fd();
  second = std::move(first);
  EXPECT_EQ(second.fd(), kept);
  EXPECT_EQ(second.path(), folder / "a");
  EXPECT_GE(::fcntl(kept, F_GETFD), 0);
  EXPECT_EQ(::fcntl(closed, F_GETFD), -1);
  { const File third(std::move(second)); }
  EXPECT_EQ(::fcntl(kept, F_GETFD), -1);
}

TEST(File, IsNotInheritedByPrograms) {
  const Folder folder;
  const File file = open_file(folder / "w");
  EXPECT_EQ(::fcntl(file.fd(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::fcntl(file.fd(), F_GETFL) & O_NONBLOCK, 0);
}

class FileDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = test::why_no_loop_devices(); !reason.empty()) GTEST_SKIP() << reason;
    device_ = std::make_unique<LoopDevice>(folder_.path(), 8 * mib);
  }

  Folder folder_;
  std::unique_ptr<LoopDevice> device_;
};

TEST_F(FileDevice, HasItsCapacity) {
  File file = open_file(device_->path());
  EXPECT_TRUE(file.is_device());
  EXPECT_FALSE(file.created());
  EXPECT_EQ(file.size_at_open(), 8 * mib);
  EXPECT_TRUE(file.check_unclaimed().ok());
  Claim claim(std::move(file));
  EXPECT_TRUE(claim.reserve({0, 8 * mib}, Reserve::full).ok());
  EXPECT_TRUE(claim.reserve({8 * mib - 5, 5}, Reserve::sparse).ok());
  const Status status = claim.reserve({8 * mib - 5, 6}, Reserve::full);
  EXPECT_EQ(status.cause(), Cause::no_space);
  EXPECT_NE(status.message().find(device_->path()), std::string::npos) << status.message();
}

TEST_F(FileDevice, IsTheSameByAnyName) {
  fs::create_symlink(device_->path(), folder_ / "link");
  const File direct = open_file(device_->path());
  EXPECT_EQ(open_file(folder_ / "link").identity(), direct.identity());
  const struct stat found = stat_of(device_->path());
  ASSERT_EQ(::mknod((folder_ / "node").c_str(), S_IFBLK | 0600, found.st_rdev), 0) << std::strerror(errno);
  EXPECT_EQ(try_open(folder_ / "node").value().identity(), direct.identity());
}

TEST_F(FileDevice, StaysWhenRemovedOrUndone) {
  Claim claim = test::open_claim(device_->path());
  EXPECT_TRUE(claim.undo().ok());
  EXPECT_TRUE(claim.file()->remove().ok());
  EXPECT_TRUE(claim.file()->sync_folder().ok());
  EXPECT_TRUE(fs::is_block_file(device_->path()));
}

// Leaders of several windows look at once.
TEST_F(FileDevice, IsFreeForAllWhoLook) {
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      const File file = open_file(device_->path());
      for (int round = 0; round < 4000; ++round) refused += file.check_unclaimed().ok() ? 0 : 1;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
}

TEST_F(FileDevice, IsRefusedWhileMounted) {
  const Mounted mounted(*device_, "ext2");
  const auto file = try_open(device_->path());
  // Kernels may be built to refuse writing to a mounted device altogether.
  const Status status = file.ok() ? file.value().check_unclaimed() : file.status();
  EXPECT_EQ(status.cause(), Cause::in_use) << status.message();
  EXPECT_NE(status.message().find(device_->path()), std::string::npos) << status.message();
}

TEST(File, ClearsBytesButNotBeyondItsEnd) {
  const Folder folder;
  write_text(folder / "w", std::string(3 * 4096, 'k'));
  const File file = open_file(folder / "w");
  ASSERT_TRUE(file.clear(4096, 1 << 20).ok());
  EXPECT_EQ(read_text(folder / "w"), std::string(4096, 'k') + std::string(2 * 4096, '\0'));
  EXPECT_TRUE(file.clear(1 << 20, 4096).ok());
  EXPECT_EQ(fs::file_size(folder / "w"), 3 * 4096u);
}

TEST(FileRemove, DeletesOnlyTheWindowsOwnFile) {
  const Folder folder;
  File file = open_file(folder / "w");
  fs::rename(folder / "w", folder / "kept");
  write_text(folder / "w", "somebody else's");
  EXPECT_EQ(file.remove().cause(), Cause::bad_file);
  EXPECT_EQ(read_text(folder / "w"), "somebody else's");
  fs::rename(folder / "kept", folder / "w");
  EXPECT_TRUE(file.remove().ok());
  EXPECT_FALSE(fs::exists(folder / "w"));
  EXPECT_TRUE(file.remove().ok()) << "gone already";
}

TEST(FileRemove, LeavesALinkThatTookTheFilesPlace) {
  const Folder folder;
  File file = open_file(folder / "w");
  fs::rename(folder / "w", folder / "kept");
  fs::create_symlink(folder / "kept", folder / "w");
  EXPECT_EQ(file.remove().cause(), Cause::bad_file);
  EXPECT_TRUE(fs::is_symlink(folder / "w"));
}

}  // namespace
}  // namespace sill::storage
