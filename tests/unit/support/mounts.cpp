#include "unit/support/mounts.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "unit/support/program.hpp"

namespace sill::test {
namespace {

void run_or_throw(const std::vector<std::string>& words) {
  const Outcome outcome = run_program(words);
  if (outcome.status != 0) throw std::runtime_error(words[0] + ": " + outcome.output);
}

}  // namespace

std::string why_no_mounts() {
  if (::geteuid() != 0) return "needs root: mounts a small file system";
  const Folder folder;
  if (::mount("sill-unit", folder.path().c_str(), "tmpfs", 0, nullptr) != 0) {
    return std::string("needs to mount a small file system: ") + std::strerror(errno);
  }
  EXPECT_EQ(::umount2(folder.path().c_str(), MNT_DETACH), 0);
  return "";
}

std::string why_no_loop_devices() {
  if (std::string reason = why_no_mounts(); !reason.empty()) return reason;
  const Outcome outcome = run_program({"losetup", "-f"});
  return outcome.status == 0 ? "" : "needs a loop device: " + outcome.output;
}

LoopDevice::LoopDevice(const std::string& folder, std::uint64_t size) : image_(folder + "/device.image") {
  write_text(image_, "");
  std::filesystem::resize_file(image_, size);
  const Outcome outcome = run_program({"losetup", "--find", "--show", image_});
  if (outcome.status != 0) throw std::runtime_error("losetup: " + outcome.output);
  path_ = outcome.output.substr(0, outcome.output.find('\n'));
}

LoopDevice::~LoopDevice() { EXPECT_EQ(run_program({"losetup", "--detach", path_}).status, 0) << path_; }

Mounted::Mounted(std::uint64_t size) { mount("sill-unit", "tmpfs", "size=" + std::to_string(size)); }

Mounted::Mounted(const std::string& type) { mount("sill-unit", type, ""); }

Mounted::Mounted(const LoopDevice& device, const std::string& type) {
  std::vector<std::string> words = {"mkfs." + type, "-q", device.path()};
  if (type.starts_with("ext")) words.insert(words.end() - 1, {"-m", "0"});  // nothing is kept for root
  run_or_throw(words);
  mount(device.path(), type, "");
}

void Mounted::mount(const std::string& source, const std::string& type, const std::string& options) {
  if (::mount(source.c_str(), folder_.path().c_str(), type.c_str(), 0, options.c_str()) != 0) {
    throw std::system_error(errno, std::generic_category(), "mounting " + type);
  }
}

// Detached at once: a child that a test left behind must not keep it.
Mounted::~Mounted() { EXPECT_EQ(::umount2(folder_.path().c_str(), MNT_DETACH), 0) << std::strerror(errno); }

void Mounted::make_read_only() {
  ASSERT_EQ(::mount(nullptr, folder_.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0)
      << std::strerror(errno);
}

std::uint64_t Mounted::free_bytes() const {
  struct statvfs space;
  EXPECT_EQ(::statvfs(folder_.path().c_str(), &space), 0);
  return space.f_bavail * space.f_frsize;
}

}  // namespace sill::test
