#pragma once
// File: a regular file or a block device that is open, knows who it is, and is read and written. What a front makes of
// it for itself (locks bytes, grows it) is a Claim.
#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.hpp"
#include "base/status.hpp"

namespace sill::storage {

// How to open a file. It is created with `perm` if there is none; its folder must exist.
struct FileConfig {
  std::string path;
  mode_t perm = 0600;
  std::optional<unsigned> striping_factor = {};     // devices a new file is spread over, where the file system can
  std::optional<std::uint64_t> striping_unit = {};  // bytes on one device before the next
  bool readonly = false;                            // nothing is created, locks are shared with other readers
  bool one_process = false;                         // Cause::in_use if another process that asked for this has it open
};

// Tells whether two ranks opened the same thing, on one node or on several.
struct StoreIdentity {
  std::uint64_t machine = 0;  // of a local disk: the running kernel; 0 for a file system that machines share
  std::uint64_t device = 0;   // there: of the kernel; else of type and path, for device numbers differ between machines
  std::uint64_t inode = 0;
  friend auto operator<=>(const StoreIdentity&, const StoreIdentity&) = default;
};

// A stretch of a file, in bytes.
struct FileRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t end() const { return offset + length; }
};

class File {
 public:
  // Opens or creates; opens only, if `readonly`. Refuses anything but a regular file or a block device.
  static Result<File> open(const FileConfig& config);
  // Memory with a descriptor: no file, but other processes of this node can open and map it as one.
  static Result<File> anonymous();
  // Opens what another rank of this node opened, and makes sure that it is the same.
  static Result<File> open_peer(const std::string& path, const StoreIdentity& identity, bool readonly = false);
  Result<File> opened_again() const { return open_peer(path_, identity_, is_readonly_); }

  // -1 once it is closed.
  int fd() const { return fd_.get(); }
  // Closes the descriptor, and so gives locks back. What is mapped stays so, and open_peer() opens the same anew.
  void close() { fd_.close(); }
  const std::string& path() const { return path_; }
  // The folder that the file is in.
  std::string folder() const;
  const StoreIdentity& identity() const { return identity_; }
  bool is_device() const { return is_device_; }
  bool is_anonymous() const { return is_anonymous_; }
  bool is_readonly() const { return is_readonly_; }
  // The device that holds the bytes, as far as the kernel tells.
  dev_t device() const { return is_device_ ? static_cast<dev_t>(identity_.device) : device_; }
  // Whether open created the file.
  bool created() const { return created_; }
  bool striping_applied() const { return striping_applied_; }
  // Bytes the file held when it was opened; a device's capacity.
  std::uint64_t size_at_open() const { return size_at_open_; }
  // Bytes that the file has now; a device's capacity.
  Result<std::uint64_t> size() const;
  // The same, seen from this node, after another one has reserved bytes there: opened anew where a file system that
  // machines share may remember an old size.
  Result<std::uint64_t> size_seen_now();

  // Reads bytes from `offset` on; fewer than `length` only at the end of the file. Returns how many.
  Result<std::size_t> read(std::uint64_t offset, void* to, std::size_t length) const;
  // Writes all of the bytes; durable after flush(). `doing` stands in the message of an error.
  Status write(std::uint64_t offset, const void* from, std::size_t length, const char* doing) const;
  // Writes zeros from `offset` to `end`.
  Status write_zeros(std::uint64_t offset, std::uint64_t end, const char* doing) const;
  // Makes what was written durable.
  Status flush(const char* doing) const;
  // fallocate() of [begin, end); 0, or an errno.
  int allocate(int mode, std::uint64_t begin, std::uint64_t end) const;
  // Makes bytes zeros, and gives their blocks back where the file system can; what lies behind the end stays so.
  Status clear(std::uint64_t offset, std::uint64_t length) const;
  // Makes the file's name durable. Needed once, before the first sync returns.
  Status sync_folder() const;
  // Whether what is synced can be found again: Cause::no_such_file if the file was deleted, Cause::bad_file if its path
  // leads to another one or it was cut before byte `end`. Its name doesn't matter to who will delete it anyway.
  Status check_there(std::uint64_t end, bool name_matters) const;

  // Fails with Cause::in_use if the device is mounted, or claimed by RAID, LVM or the like. Nothing to do for a file.
  Status check_unclaimed() const;
  // Cause::in_use if bytes of it are locked by another open of it; else nobody gets a lock until this one unlocks.
  Status lock_whole() const;
  // Gives all bytes back.
  void unlock() const;
  // Deletes the file. Not if its path leads elsewhere by now (Cause::bad_file), nor if another window lies on it
  // (Cause::in_use). Nothing to do for a device.
  Status remove() const;

 private:
  File() = default;
  Status adopt();
  Status check_name(nlink_t links) const;

  Descriptor fd_;
  std::string path_;  // absolute, without links
  StoreIdentity identity_;
  dev_t device_ = 0;
  bool is_device_ = false;
  bool is_anonymous_ = false;
  bool is_readonly_ = false;
  bool created_ = false;
  bool striping_applied_ = false;
  std::uint64_t size_at_open_ = 0;
};

}  // namespace sill::storage
