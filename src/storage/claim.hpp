#pragma once
// Claim: what was taken of a file for a window (or whatever else lies on it): bytes locked, room reserved, the file
// itself if it was created. As long as it isn't committed, its end undoes all of that.
#include <time.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/hints.hpp"
#include "base/status.hpp"
#include "storage/file.hpp"

namespace sill::storage {

class Claim {
 public:
  // A file that was just opened, whose creation is undone with the claim.
  explicit Claim(File file);
  Claim(Claim&&) noexcept = default;
  Claim& operator=(Claim&&) = delete;
  // Undoes what was taken unless committed; what fails is logged.
  ~Claim();

  const std::shared_ptr<File>& file() const { return file_; }

  // Locks and reserves stretches of the file: all of them, or none stays after the claim's end. Causes: those of lock()
  // and reserve(), and Cause::in_use for a device that is mounted, or claimed by RAID, LVM or the like.
  Status take(std::span<const FileRange> ranges, Reserve how);
  // Keeps other windows, of this job or another, off these bytes until the file is closed; if this one only reads,
  // those that write. Cause::in_use if one is there, or has just deleted the file. Where the file system has no locks,
  // that is logged.
  Status lock(const FileRange& range);
  // Makes the bytes exist: grows a short file, never cuts; `full` also allocates its blocks. Where nothing is written,
  // a short file is Cause::bad_file.
  Status reserve(const FileRange& range, Reserve how);

  // Ranks that open one file let one of them undo: it answers for the creation by any of them, the others for none.
  void answer_for_creation(bool created) { created_ = created; }
  bool created() const { return created_; }
  // A record was written, which goes with a file that was created.
  void described() { described_ = true; }
  // What was taken stays.
  void commit() { file_.reset(); }
  // Removes the file if it was created, cuts off what was grown. Another window's bytes stay, and so does the file if
  // one lies on it, or might where there are no locks; that is logged.
  Status undo();

 private:
  // What reserve found.
  struct Before {
    std::uint64_t size;
    timespec modified;
  };
  Status check_fits(const FileRange& range) const;
  Status cut_back(std::vector<FileRange> grown) const;

  std::shared_ptr<File> file_;  // null once committed
  bool created_;
  bool locked_ = false;
  bool described_ = false;
  std::optional<Before> before_;
  std::vector<FileRange> grown_;  // what reserve added behind that
};

}  // namespace sill::storage
