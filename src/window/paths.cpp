#include "window/paths.hpp"

#include <algorithm>
#include <array>

#include "storage/mapping.hpp"

namespace sill::window {
namespace {

using storage::round_up;

bool shared_memory_suffices(std::span<const Request> requests, std::uint64_t page) {
  std::uint64_t asked = 0;
  std::uint64_t left = UINT64_MAX;
  for (const Request& request : requests) {
    asked += round_up(request.size, page) + 2 * alignment(request.size, page);
    left = std::min(left, request.shared_memory);
  }
  return asked <= left / 10 * 9;
}

bool any_mapped(std::span<const Placement> placements) { return std::ranges::any_of(placements, &Placement::in_place); }

// No choice of pages can save what a shift has inside a page.
bool any_shifted_in_page(std::span<const Placement> placements, std::uint64_t page) {
  return std::ranges::any_of(placements, [&](const Placement& placement) { return placement.shift % page != 0; });
}

}  // namespace

const char* name_of(Path path) {
  return std::array{"native", "native, several nodes", "create", "direct"}[static_cast<std::size_t>(path)];
}

Result<Path> choose_path(std::span<const Request> requests, const Surroundings& around, std::uint64_t page) {
  const mpi::Quirks& library = around.library;
  if (around.shared && !around.one_node)
    return Status(Cause::unsupported, "MPI_Win_allocate_shared: the communicator spans several nodes");
  const bool cannot_create = requests.size() == 1 && library.cannot_create_alone;
  if (around.shared || cannot_create) return Path::shared;
  const bool can_share = around.one_world || !library.shares_within_world;
  const bool across = library.shares_across_nodes && std::ranges::none_of(requests, &Request::rdma_hardware);
  const bool native_works = can_share && (around.one_node || across);
  switch (requests[0].path) {
    case PathWish::create: return Path::create;
    case PathWish::direct: return Path::direct;
    case PathWish::native:
      if (native_works) return around.one_node ? Path::shared : Path::allocate;
      return Status(Cause::unsupported,
                    "SILL_WINDOW_PATH=native: this MPI library can't do that across nodes or worlds");
    case PathWish::best: break;
  }
  if (!native_works) return Path::direct;
  if (!around.one_node) return Path::allocate;
  return !library.shares_slowly && shared_memory_suffices(requests, page) ? Path::shared : Path::direct;
}

Frame first_frame(std::span<const Request> requests, std::span<const Placement> placements, const mpi::Quirks& library,
                  std::uint64_t page) {
  // All ranks must do the same, whatever each of them has seen. A single rank's memory may come from anywhere.
  const bool anywhere = requests.size() == 1 || std::ranges::any_of(requests, &Request::bases_unaligned);
  const bool large =
      std::ranges::any_of(placements, [&](const Placement& p) { return p.in_place() && p.align > page; });
  // Nor are displacements that are translated anyhow worth a second try.
  const bool in_vain = library.shares_at_random || any_shifted_in_page(placements, page);
  return {.contiguous = requests[0].contiguous, .padded = anywhere || (large && in_vain), .page = page};
}

bool translates(std::span<const Placement> placements, const Frame& frame) {
  return any_shifted_in_page(placements, frame.page) || (frame.padded && any_mapped(placements));
}

std::uint64_t framed_size(std::span<const Placement> placements, std::size_t rank, const Frame& frame) {
  const Placement& mine = placements[rank];
  if (frame.contiguous) {
    // A gap may only lie behind the last segment.
    const bool last = rank + 1 == placements.size();
    const std::uint64_t room = (frame.padded ? 2 * mine.align : frame.page) + frame.page;
    return mine.size + (last && any_mapped(placements) ? room : 0);
  }
  if (!mine.in_place()) return mine.size;
  return frame.padded ? round_up(mine.shift + mine.size, frame.page) + mine.align
                      : round_up(mine.shift % frame.page + mine.size, frame.page);
}

Shift find_shift(std::span<const Placement> placements, std::size_t rank, std::uint64_t base, const Frame& frame) {
  // Without gaps, all segments move by the distance of the first one.
  const auto model =
      frame.contiguous ? std::ranges::find_if(placements, &Placement::in_place) : placements.begin() + rank;
  if (base == 0 || model == placements.end() || !model->in_place()) return {};
  if (frame.padded) return {.bytes = round_up(base, model->align) - base + model->shift};
  const std::uint64_t in_page = model->shift % frame.page;
  return {.bytes = in_page, .excess = (base + in_page - model->shift) % model->align};
}

std::vector<std::uint64_t> common_shifts(std::span<const Shift> found, const Frame& frame) {
  std::vector<std::uint64_t> shifts;
  // Every rank knows best of its own. Segments without gaps move as one: as far as rank 0 says, for to each process
  // another shift would seem right.
  for (const Shift& shift : found) shifts.push_back(frame.contiguous ? found[0].bytes : shift.bytes);
  return shifts;
}

Fit fit_of(std::span<const Shift> found, const Frame& frame) {
  if (std::ranges::any_of(found, [&](const Shift& shift) { return shift.excess % frame.page != 0; }))
    return Fit::inside_page;
  return std::ranges::any_of(found, &Shift::excess) ? Fit::too_high : Fit::right;
}

bool must_pad(Fit fit, int tries) {
  constexpr int tries_before_padding = 4;
  return fit == Fit::inside_page || tries >= tries_before_padding;
}

// MPICH 4.0 misplaces data in windows whose base is no multiple of 16.
std::uint64_t lead_of(const Placement& placement) { return placement.shift % 16; }

}  // namespace sill::window
