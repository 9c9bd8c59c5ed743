#include "window/access.hpp"

#include <cstring>

#include "mpi/below.hpp"
#include "window/window.hpp"

namespace sill::window {
namespace {

using mpi::below;

// Bytes of `count` elements of a predefined type without gaps; -1 for any other type.
MPI_Count contiguous_bytes(MPI_Count count, MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = 0, size = 0;
  MPI_Aint lower = 0, extent = 0;
  if (below().Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) return -1;
  if (combiner != MPI_COMBINER_NAMED || below().Type_size(type, &size) != MPI_SUCCESS) return -1;
  if (below().Type_get_extent(type, &lower, &extent) != MPI_SUCCESS || lower != 0 || extent != size) return -1;
  return count * size;
}

// Where the transfer's bytes lie on the target, if this process sees them: all on mapped storage.
std::byte* visible(const Window& window, const Target& target, MPI_Count bytes) {
  if (target.rank < 0 || target.rank >= static_cast<int>(window.placements().size())) return nullptr;
  const Placement& placement = window.placements()[target.rank];
  std::byte* base = window.base(target.rank);
  if (!base || !placement.in_place() || target.disp < 0) return nullptr;
  const auto begin = static_cast<std::uint64_t>(target.disp) * static_cast<std::uint64_t>(placement.disp_unit);
  const bool inside = begin >= placement.storage_begin &&
                      begin + static_cast<std::uint64_t>(bytes) <= placement.storage_begin + placement.storage_length;
  return inside ? base + begin : nullptr;
}

std::byte* reach(Window& window, MPI_Win win, const Buffer& origin, const Target& target, MPI_Count* bytes) {
  *bytes = contiguous_bytes(origin.count, origin.type);
  if (*bytes < 0 || contiguous_bytes(target.count, target.type) != *bytes) return nullptr;
  std::byte* place = visible(window, target, *bytes);
  return place && window.access()->open(win, target.rank) ? place : nullptr;
}

}  // namespace

bool Access::open(MPI_Win win, int target) {
  if (fence_.load()) return true;
  auto& state = targets_[target];
  if (state.load() == State::closed) return false;
  if (state.load() == State::granted) return true;
  char byte = 0;
  if (below().Get(&byte, 1, MPI_BYTE, target, 0, 1, MPI_BYTE, win) != MPI_SUCCESS) return false;
  if (below().Win_flush(target, win) != MPI_SUCCESS) return false;
  state.store(State::granted);
  return true;
}

bool put_directly(Window& window, MPI_Win win, const Buffer& origin, const Target& target) {
  MPI_Count bytes = 0;
  std::byte* place = reach(window, win, origin, target, &bytes);
  if (!place) return false;
  std::memmove(place, origin.address, static_cast<std::size_t>(bytes));
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return true;
}

bool get_directly(Window& window, MPI_Win win, const Buffer& origin, const Target& target) {
  MPI_Count bytes = 0;
  const std::byte* place = reach(window, win, origin, target, &bytes);
  if (!place) return false;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::memmove(origin.address, place, static_cast<std::size_t>(bytes));
  return true;
}

}  // namespace sill::window
