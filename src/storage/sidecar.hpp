#pragma once
// FILE.sill beside a window's file: which job and ranks it belongs to, for people and tools. The file itself stays raw.
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "storage/source.hpp"

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
};

// Nothing below touches a file that has the sidecar's name but isn't empty and doesn't begin like one. Nothing is done
// for devices.

// Writes the sidecar of a source over an older one; none is left if it can't be. Cause::bad_file if another file has
// its name.
Status write_sidecar(const Source& source, const Sidecar& sidecar, mode_t perm);
// Notes a sync: its time is the sidecar's modification time. A failure is logged.
void touch_sidecar(const Source& source);
// Deletes the sidecar if there is one. A failure is logged.
void remove_sidecar(const Source& source);
// Deletes a source's file and its sidecar. Both stay while another window lies on the file, which is logged.
Status remove_file(Source& source);

}  // namespace sill::storage
