#pragma once
// Source: what a segment lies on, a regular file or a block device, opened and made large enough. In PMDK's words the
// first of three nouns: source (what), config (how), mapping (the result).
#include <sys/types.h>
#include <time.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/hints.hpp"
#include "base/status.hpp"

namespace sill::storage {

// How to open a source. The file is created with `perm` if there is none; its folder must exist.
struct SourceConfig {
  std::string path;
  mode_t perm = 0600;
  std::optional<unsigned> striping_factor;     // devices a new file is spread over, where the file system can
  std::optional<std::uint64_t> striping_unit;  // bytes on one device before the next
  bool readonly = false;                       // nothing is created, locks are shared with other readers
  bool one_process = false;                    // Cause::in_use if another process that asked for this has it open
};

// Tells whether two ranks opened the same thing, on one node or on several.
struct StoreIdentity {
  std::uint64_t machine = 0;  // of a local disk: the running kernel; 0 for a file system that machines share
  std::uint64_t device = 0;   // there: of the kernel; else of type and path, for device numbers differ between machines
  std::uint64_t inode = 0;
  friend auto operator<=>(const StoreIdentity&, const StoreIdentity&) = default;
};

class Source {
 public:
  // Opens or creates; opens only, if `readonly`. Refuses anything but a regular file or a block device.
  static Result<Source> open(const SourceConfig& config);
  // Memory with a descriptor: no file, but other processes of this node can open and map it as one.
  static Result<Source> anonymous();
  // Opens what another rank of this node opened, and makes sure that it is the same.
  static Result<Source> open_peer(const std::string& path, const StoreIdentity& identity, bool readonly = false);

  Source(Source&& other) noexcept;
  Source& operator=(Source&& other) noexcept;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source();

  // -1 once it is closed.
  int fd() const { return fd_; }
  // Closes the descriptor, and so gives locks back. What is mapped stays so, and open_peer() opens the same anew.
  void close();
  const std::string& path() const { return path_; }
  // The folder that the file is in.
  std::string folder() const;
  const StoreIdentity& identity() const { return identity_; }
  bool is_device() const { return is_device_; }
  bool is_anonymous() const { return is_anonymous_; }
  bool is_readonly() const { return is_readonly_; }
  // The device that holds the bytes, as far as the kernel tells.
  dev_t device() const { return is_device_ ? static_cast<dev_t>(identity_.device) : device_; }
  // Whether open created the file, or as answer_for_creation() has it.
  bool created() const { return created_; }
  bool striping_applied() const { return striping_applied_; }
  // Bytes the file held when it was opened; a device's capacity.
  std::uint64_t size_at_open() const { return size_at_open_; }

  // Fails with Cause::in_use if the device is mounted, or claimed by RAID, LVM or the like. Nothing to do for a file.
  Status check_unclaimed() const;
  // Keeps other windows, of this job or another, off these bytes until the source is closed; if this one only reads,
  // those that write. Cause::in_use if one is there, or has just deleted the file. Where the file system has no locks,
  // that is logged.
  Status lock(std::uint64_t offset, std::uint64_t length);
  // Gives all bytes back.
  void unlock();
  // Makes [offset, offset + length) exist: grows a short file, never cuts; `full` also allocates its blocks. Where
  // nothing is written, a short file is Cause::bad_file.
  Status reserve(std::uint64_t offset, std::uint64_t length, Reserve how);
  // Ranks that open one file let one of them undo: it answers for the creation by any of them, the others for none.
  void answer_for_creation(bool created) { created_ = created; }
  // Makes bytes zeros, and gives their blocks back where the file system can; what lies behind the end stays so.
  Status clear(std::uint64_t offset, std::uint64_t length) const;
  // Undoes what open and reserve did to the file: removes it if it was created, cuts off what was grown. Another
  // window's bytes stay, and so does the file if one lies on it, or might where there are no locks; that is logged.
  Status undo();
  // Makes the file's name durable. Needed once, before the first sync returns.
  Status sync_folder() const;
  // Bytes that the file has, seen from this node, after another one has reserved them there: opened anew where a file
  // system that machines share may remember an old size.
  Result<std::uint64_t> size_seen_now();
  // Whether what is synced can be found again: Cause::no_such_file if the file was deleted, Cause::bad_file if its path
  // leads to another one or it was cut before byte `end`. Its name doesn't matter to who will delete it anyway.
  Status check_there(std::uint64_t end, bool name_matters) const;
  // Deletes the file. Not if its path leads elsewhere by now (Cause::bad_file), nor if another window lies on it
  // (Cause::in_use). Nothing to do for a device.
  Status remove();

 private:
  Source() = default;
  // What reserve found, and the ranges it added behind that.
  struct Before {
    std::uint64_t size;
    timespec modified;
  };
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
  };
  Status adopt(int fd);
  Status lock_all() const;
  Status check_name(nlink_t links) const;
  Status grow(std::uint64_t end) const;
  Status fill(std::uint64_t offset, std::uint64_t end, std::uint64_t old_size) const;
  Status write_zeros(std::uint64_t offset, std::uint64_t end) const;
  bool has_data(const Range& range, std::uint64_t block) const;
  Status cut_back();

  int fd_ = -1;
  std::string path_;  // absolute, without links
  StoreIdentity identity_;
  dev_t device_ = 0;
  bool is_device_ = false;
  bool is_anonymous_ = false;
  bool is_readonly_ = false;
  bool created_ = false;
  bool locked_ = false;
  bool striping_applied_ = false;
  std::uint64_t size_at_open_ = 0;
  std::optional<Before> before_;
  std::vector<Range> grown_;
};

}  // namespace sill::storage
