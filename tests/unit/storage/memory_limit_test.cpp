// Against trees of files as the kernel shows them.
#include "storage/memory_limit.hpp"

#include <gtest/gtest.h>

#include "unit/support/folder.hpp"

namespace sill::storage {
namespace {

using test::write_text;

constexpr std::uint64_t mib = 1u << 20;

class MemoryLimit : public testing::Test {
 protected:
  void SetUp() override { meminfo(1024); }

  void meminfo(std::uint64_t available_mib) {
    write_text(root_ / "proc/meminfo", "MemTotal:       99999999 kB\nMemFree:         1 kB\nMemAvailable:   " +
                                           std::to_string(available_mib * 1024) + " kB\nBuffers: 5 kB\n");
  }
  void groups(const std::string& cgroup, const std::string& mountinfo) {
    write_text(root_ / "proc/self/cgroup", cgroup);
    write_text(root_ / "proc/self/mountinfo", "22 27 0:21 / /proc rw - proc proc rw\n" + mountinfo);
  }
  void group2(const std::string& folder, const std::string& max, std::uint64_t current, std::uint64_t inactive = 0,
              std::uint64_t active = 0) {
    write_text(root_ / (folder + "/memory.max"), max + "\n");
    write_text(root_ / (folder + "/memory.current"), std::to_string(current) + "\n");
    write_text(root_ / (folder + "/memory.stat"), "anon 1\nfile 99\ninactive_file " + std::to_string(inactive) +
                                                      "\nactive_file " + std::to_string(active) + "\nslab 3\n");
  }
  void group1(const std::string& folder, const std::string& limit, std::uint64_t usage, std::uint64_t inactive = 0) {
    write_text(root_ / (folder + "/memory.limit_in_bytes"), limit + "\n");
    write_text(root_ / (folder + "/memory.usage_in_bytes"), std::to_string(usage) + "\n");
    write_text(root_ / (folder + "/memory.stat"), "cache 5\ninactive_file 777\ntotal_inactive_file " +
                                                      std::to_string(inactive) + "\ntotal_active_file 0\n");
  }
  std::uint64_t available() {
    const auto bytes = available_memory(root_.path());
    EXPECT_TRUE(bytes.ok()) << bytes.status().message();
    return bytes.ok() ? bytes.value() : 0;
  }

  test::Folder root_;
  const std::string v2_mount_ = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
  const std::string v1_mount_ = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";
};

TEST_F(MemoryLimit, IsTheMachinesWithoutGroups) { EXPECT_EQ(available(), 1024 * mib); }

TEST_F(MemoryLimit, Version2IsLimitMinusUsageWithoutCache) {
  groups("0::/user.slice/job\n", v2_mount_);
  group2("sys/fs/cgroup/user.slice/job", std::to_string(512 * mib), 300 * mib, 60 * mib, 40 * mib);
  EXPECT_EQ(available(), (512 - 200) * mib);
}

TEST_F(MemoryLimit, Version2LimitsOfAllAncestorsCount) {
  groups("0::/slurm/job/step\n", v2_mount_);
  group2("sys/fs/cgroup/slurm/job/step", "max", 10 * mib);
  group2("sys/fs/cgroup/slurm/job", std::to_string(800 * mib), 10 * mib);
  group2("sys/fs/cgroup/slurm", std::to_string(700 * mib), 400 * mib);
  EXPECT_EQ(available(), 300 * mib);
  meminfo(200);
  EXPECT_EQ(available(), 200 * mib) << "the machine has less than the groups allow";
}

TEST_F(MemoryLimit, Version2HighCountsLikeMax) {
  groups("0::/job\n", v2_mount_);
  group2("sys/fs/cgroup/job", "max", 100 * mib);
  write_text(root_ / "sys/fs/cgroup/job/memory.high", std::to_string(400 * mib) + "\n");
  EXPECT_EQ(available(), 300 * mib);
}

TEST_F(MemoryLimit, MaxMeansNoLimit) {
  groups("0::/job\n", v2_mount_);
  group2("sys/fs/cgroup/job", "max", 10 * mib);
  EXPECT_EQ(available(), 1024 * mib);
}

TEST_F(MemoryLimit, Version1IsLimitMinusUsageWithoutCache) {
  groups("9:name=systemd:/\n8:cpu,cpuacct:/other\n4:memory:/docker/abc\n0::/\n",
         "33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n" + v1_mount_);
  group1("sys/fs/cgroup/memory/docker/abc", std::to_string(600 * mib), 200 * mib, 50 * mib);
  group1("sys/fs/cgroup/memory", "9223372036854771712", 900 * mib);
  EXPECT_EQ(available(), 450 * mib);
}

TEST_F(MemoryLimit, Version1LimitsOfAllAncestorsCount) {
  groups("4:memory:/a/b\n", v1_mount_);
  group1("sys/fs/cgroup/memory/a/b", "9223372036854771712", 1 * mib);
  group1("sys/fs/cgroup/memory/a", std::to_string(300 * mib), 100 * mib);
  EXPECT_EQ(available(), 200 * mib);
}

TEST_F(MemoryLimit, BothVersionsAtOnceCount) {
  groups("4:memory:/a\n0::/b\n", v1_mount_ + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  group1("sys/fs/cgroup/memory/a", std::to_string(300 * mib), 0);
  group2("sys/fs/cgroup/unified/b", std::to_string(250 * mib), 0);
  EXPECT_EQ(available(), 250 * mib);
}

TEST_F(MemoryLimit, AContainerSeesItsGroupAtTheMount) {
  // The path of /proc/self/cgroup is the host's; the mount shows the container's group as its root.
  groups("4:memory:/docker/abc\n", "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  group1("sys/fs/cgroup/memory", std::to_string(128 * mib), 28 * mib);
  EXPECT_EQ(available(), 100 * mib);
}

TEST_F(MemoryLimit, AGroupOutsideTheNamespaceFallsBackToTheMount) {
  groups("0::/../outside\n", v2_mount_);
  group2("sys/fs/cgroup", std::to_string(128 * mib), 28 * mib);
  EXPECT_EQ(available(), 100 * mib);
}

TEST_F(MemoryLimit, SimilarNamesAreNotAncestors) {
  groups("4:memory:/docker/abcdef\n", "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  group1("sys/fs/cgroup/memory", std::to_string(128 * mib), 28 * mib);
  group1("sys/fs/cgroup/memory/def", std::to_string(1 * mib), 0);
  EXPECT_EQ(available(), 100 * mib);
}

TEST_F(MemoryLimit, MountPointsMayHaveBlanks) {
  groups("0::/\n", "31 23 0:28 / /sys/fs/c\\040group rw - cgroup2 cgroup2 rw\n");
  group2("sys/fs/c group", std::to_string(64 * mib), 0);
  EXPECT_EQ(available(), 64 * mib);
}

TEST_F(MemoryLimit, AGroupThatIsFullLeavesNothing) {
  groups("0::/job\n", v2_mount_);
  group2("sys/fs/cgroup/job", std::to_string(100 * mib), 130 * mib, 5 * mib);
  EXPECT_EQ(available(), 0u);
}

TEST_F(MemoryLimit, CacheLargerThanUsageCountsAsUsage) {
  groups("0::/job\n", v2_mount_);
  group2("sys/fs/cgroup/job", std::to_string(100 * mib), 10 * mib, 50 * mib);
  EXPECT_EQ(available(), 100 * mib);
}

TEST_F(MemoryLimit, GarbageIsNoLimit) {
  groups("nonsense\n0:\n0::\n::::\n", "too short\n1 2 3 4 5 - cgroup2\n - \n" + v2_mount_);
  write_text(root_ / "sys/fs/cgroup/memory.max", "-5\n");
  write_text(root_ / "sys/fs/cgroup/memory.current", "\n");
  EXPECT_EQ(available(), 1024 * mib);
}

TEST_F(MemoryLimit, AnOldKernelWithoutMemAvailableStillHasGroups) {
  write_text(root_ / "proc/meminfo", "MemTotal: 5 kB\n");
  groups("0::/job\n", v2_mount_);
  group2("sys/fs/cgroup/job", std::to_string(100 * mib), 0);
  EXPECT_EQ(available(), 100 * mib);
}

TEST_F(MemoryLimit, AVariableIsOneMoreBoundIfItIsANumber) {
  ASSERT_EQ(::setenv("SILL_MEMORY_LIMIT", "4096", 1), 0);
  EXPECT_EQ(available(), 4096u);
  for (const char* bad : {"garbage", "1G", "-1", "0", "1.5", " 7", "99999999999999999999999"}) {
    ASSERT_EQ(::setenv("SILL_MEMORY_LIMIT", bad, 1), 0);
    const auto bytes = available_memory(root_.path());
    EXPECT_EQ(bytes.status().cause(), Cause::bad_hint) << bad;
    EXPECT_TRUE(bytes.status().message().starts_with("SILL_MEMORY_LIMIT=" + std::string(bad))) << bad;
  }
  ASSERT_EQ(::unsetenv("SILL_MEMORY_LIMIT"), 0);
  EXPECT_EQ(available(), 1024 * mib);
}

TEST(MemoryLimitNothing, IsAnErrorThatSaysSo) {
  const test::Folder empty;
  const auto bytes = available_memory(empty.path());
  EXPECT_EQ(bytes.status().cause(), Cause::unsupported);
  EXPECT_NE(bytes.status().message().find("/proc/meminfo"), std::string::npos);
}

TEST(MemoryLimitHere, IsSomething) {
  const auto bytes = available_memory();
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  EXPECT_GT(bytes.value(), mib);
}

}  // namespace
}  // namespace sill::storage
