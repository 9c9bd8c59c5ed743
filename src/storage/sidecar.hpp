#pragma once
// FILE.sill beside a window's file: which job and ranks it belongs to, for people and tools. The file itself stays raw.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/coarray_record.hpp"
#include "base/status.hpp"
#include "storage/file.hpp"

namespace sill::storage {

struct SidecarSegment {
  int rank = 0;
  std::uint64_t offset = 0;  // bytes into the file
  std::uint64_t size = 0;    // bytes on storage
};

struct Sidecar {
  std::string job;
  std::string window;
  bool unlink = false;
  std::vector<SidecarSegment> segments;
  std::optional<CoarrayRecord> coarray = {};
  bool fresh = false;  // not written: the file is new, so what an older sidecar says isn't of it
};

// Nothing below touches a file that has the sidecar's name but isn't empty and doesn't begin like one. Nothing is done
// for devices and anonymous memory.

// Writes the sidecar of a file over an older one; none is left if it can't be. Cause::bad_file if another file has
// its name.
Status write_sidecar(const File& file, const Sidecar& sidecar, mode_t perm);
// Of a file of coarrays: what its sidecar says of each; nothing if there is no sidecar. Cause::bad_file for a sidecar
// of something else.
Result<std::optional<std::vector<CoarrayRecord>>> read_coarray_records(const std::string& path);
// Puts another record in place of the sidecar's own, or of that of the same name; durable when it returns.
Status write_coarray_record(const File& file, const CoarrayRecord& record);
// Takes a record out of the sidecar of a file that holds all coarrays of an image, if it is there; durable when it
// returns.
Status drop_coarray_record(const File& file, const std::string& name);
// Gives up a coarray's bytes although its window lies on them: its file goes, or its record in the image's file, and
// the file with the last one.
Status give_up_coarray(const File& file, const CoarrayRecord& record);
// Notes a sync: its time is the sidecar's modification time, which is that of its creation before. A failure is logged.
void touch_sidecar(const File& file);
// Deletes the sidecar if there is one. A failure is logged.
void remove_sidecar(const File& file);
// Deletes a file's file and its sidecar. Both stay while another window lies on the file, which is logged.
Status remove_file(const File& file);
// Deletes them although the file's own window, or another of this process, lies on the file: it goes on as memory
// that nobody can find again.
Status unlink_file(const File& file);

}  // namespace sill::storage
