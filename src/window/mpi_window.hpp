#pragma once
// The MPI window behind a storage window, and the addresses at which segments appear: the paths of
// docs/architecture.md.
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "mpi/comm.hpp"
#include "storage/mapping.hpp"
#include "window/paths.hpp"

namespace sill::window {

struct MpiWindow {
  MPI_Win win = MPI_WIN_NULL;
  // Per rank: where its segment begins in this process; nullptr for ranks of other nodes and empty segments.
  std::vector<std::byte*> bases;
  // Per rank: bytes between the base that the MPI library knows and the one the user sees.
  std::vector<std::uint64_t> shifts;
  // Displacements must be translated: disp * unit + shift.
  bool translated = false;
  // Puts and gets to ranks of this node may go through this process's own view of their stores.
  bool direct = false;
  // The MPI library's MPI_Win_flush_all may return early: each target must be flushed before it.
  bool flush_each = false;
  // Address space of Sill's own: this rank's segment and its view of its neighbours', on `create` and `direct`.
  std::vector<storage::Region> regions;
  const char* path = "";
};

// Makes it along the path of choose_path(), with what of `info` isn't Sill's; `shared`: for MPI_Win_allocate_shared.
// Collective over own.comm; all ranks succeed, or all get the same error and nothing is left. Stores are not
// attached yet.
Result<MpiWindow> make_mpi_window(const mpi::OwnComm& own, std::span<const Request> requests,
                                  std::span<const Placement> placements, MPI_Info info, bool shared);

// Fills in what this process knows that decides the path or the frame. Local.
void look_around(Request& request);

}  // namespace sill::window
