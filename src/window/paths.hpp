#pragma once
// What the MPI window below a storage window will be: the path along which it is made (docs/architecture.md), what the
// MPI library is asked for, and where segments begin in what it gives. Pure functions, like the plan's.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "mpi/quirks.hpp"
#include "window/plan.hpp"

namespace sill::window {

// The first two are `native`, on one node and on several: the pages of segments that the MPI library allocates are
// replaced.
enum class Path { shared, allocate, create, direct };
const char* name_of(Path path);

// What decides beside the requests, the same on all ranks.
struct Surroundings {
  bool shared = false;  // the call is MPI_Win_allocate_shared
  bool one_node = true;
  bool one_world = true;  // all ranks are of one MPI_COMM_WORLD
  mpi::Quirks library;
};

// The best path, or the one that SILL_WINDOW_PATH names. Cause::unsupported if there is none.
Result<Path> choose_path(std::span<const Request> requests, const Surroundings& around, std::uint64_t page);

// How the MPI library is asked for segments whose pages will be replaced.
struct Frame {
  bool contiguous = false;  // segments follow each other without a gap
  bool padded = false;      // with room for bases to move to their boundaries, wherever the library begins a segment
  std::uint64_t page = 0;
};

// Segments of many pages should begin where large pages fit (alignment() in plan.hpp), and no MPI library can be asked
// for that (mpi_minimum_memory_alignment changes nothing in MPICH 5 and Open MPI 5). But the kernel puts a new mapping
// at the end of the highest gap that takes it. So segments that aren't right are given back, the last bytes of their
// gap are taken, and the library is asked again: its segments then begin as far below. Something else may come between.
// Padding comes first where that can't help.
Frame first_frame(std::span<const Request> requests, std::span<const Placement> placements, const mpi::Quirks& library,
                  std::uint64_t page);

// Whether displacements must be translated, for bases lie elsewhere than the library thinks.
bool translates(std::span<const Placement> placements, const Frame& frame);

// Bytes to ask for, so that the pages put over a rank's segment stay inside what the library gives.
std::uint64_t framed_size(std::span<const Placement> placements, std::size_t rank, const Frame& frame);

// Where a segment begins in what the library gave.
struct Shift {
  std::uint64_t bytes = 0;   // how far the user's base lies behind the library's
  std::uint64_t excess = 0;  // how far the library's lies behind where it should, without padding
};

// That of one rank, whose process sees `base`: the library's address of the rank's own segment, without gaps that of
// the first one that isn't empty; 0 if there is none.
Shift find_shift(std::span<const Placement> placements, std::size_t rank, std::uint64_t base, const Frame& frame);

// What all ranks use, of what each of them found for itself, in bytes.
std::vector<std::uint64_t> common_shifts(std::span<const Shift> found, const Frame& frame);

// Whether segments lie where they should, all of them.
enum class Fit { right, too_high, inside_page };
Fit fit_of(std::span<const Shift> found, const Frame& frame);

// Whether to ask with padding, after that many tries without.
bool must_pad(Fit fit, int tries);

// On `create` and `direct`: how far before the user's base the MPI window begins.
std::uint64_t lead_of(const Placement& placement);

}  // namespace sill::window
