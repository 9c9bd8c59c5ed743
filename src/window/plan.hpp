#pragma once
// The plan of a window: which bytes of every segment lie in memory and which on storage, and where. Pure functions of
// what every rank asked for, so all ranks compute the same plan without talking.
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/filename.hpp"
#include "base/hints.hpp"
#include "base/status.hpp"
#include "storage/file.hpp"
#include "storage/mapping.hpp"

namespace sill::window {

// SILL_WINDOW_PATH, for experiments: `native` replaces the pages of a window that the MPI library allocated, `create`
// makes a window over mapped memory (the published method), `direct` does so and copies on the node by itself.
enum class PathWish { best, native, create, direct };

// What one rank asks for, as all ranks learn it. Sent as bytes.
struct Request {
  Cause cause = Cause::ok;  // what is wrong with this rank's call
  std::uint64_t size = 0;
  std::int64_t disp_unit = 1;
  int node = 0;  // lowest rank of its node
  int window_number = 0;
  std::uint64_t offset = 0;
  bool automatic = false;  // the share is what does not fit in memory
  double share = 0;        // of the segment, on storage
  std::uint64_t available_memory = 0;
  std::uint64_t promised_memory = 0;  // of the node's, to windows that haven't touched it yet; one of its ranks looks
  std::uint64_t shared_memory = UINT64_MAX;  // what the MPI library can get from /dev/shm
  // Hints that must be the same on all ranks.
  AllocType alloc_type = AllocType::memory;
  Order order = Order::memory_first;
  Layout layout = Layout::consecutive;
  EngineKind engine = EngineKind::mapped;
  Reserve reserve = Reserve::full;
  bool unlink = false;
  bool discard = false;
  bool readonly = false;
  PathWish path = PathWish::best;
  bool contiguous = false;       // the segments of a shared window follow each other without a gap
  bool bases_unaligned = false;  // this process has seen the MPI library begin segments inside a page
  bool rdma_hardware = false;    // this node has network cards that would pin the pages we replace
};

// What the hints ask for a segment of `size` bytes.
Request make_request(const WindowHints& hints, std::uint64_t size, std::int64_t disp_unit);

// Cause::hints_differ, naming key, ranks and values, if a hint that must be the same on all ranks is not.
Status check_agreement(std::span<const Request> requests);

// Gives each rank with an automatic share its share: the node's ranks add up what they ask for; what exceeds 90 % of
// the memory that is available, less what others were promised of that, goes to storage, the same share on all ranks of
// a node.
void resolve_automatic(std::span<Request> requests);

// Bytes of the request's segment that lie in memory, but for the border's rounding to a page.
std::uint64_t in_memory(const Request& request);

// Whether any byte of the request lies on storage, its share being settled.
bool needs_store(const Request& request);

// The store that a rank opened, as all ranks learn it. Sent as bytes.
struct StoreFacts {
  Cause cause = Cause::ok;
  bool open = false;
  bool created = false;
  storage::StoreIdentity identity;
  int proven = 0;  // tells stores apart that only look alike from their nodes
  std::uint64_t size_at_open = 0;
  int path_length = 0;

  // Equal for ranks that opened one store.
  auto store() const { return std::pair(identity, proven); }
};

// Per rank, whether ranks of several nodes seem to have opened its store. `node_of`: the lowest rank of each one's
// node.
std::vector<bool> seen_from_several_nodes(std::span<const StoreFacts> opened, std::span<const int> node_of);

// What addresses and offsets in the file should agree in, for large pages: elsewhere each page is a fault of its own,
// which may take 15 us. The MPI library may have to be asked several times for such a place, so short segments, whose
// pages fault seldom, are not.
constexpr std::uint64_t alignment(std::uint64_t storage_length, std::uint64_t page) {
  return storage_length >= storage::long_mapping && storage::large_page > page ? storage::large_page : page;
}

// Where one segment lies. Offsets within the segment are bytes from its base.
struct Placement {
  std::uint64_t size = 0;
  std::int64_t disp_unit = 1;
  int leader = -1;                  // lowest rank on the same store; -1: all memory
  std::uint64_t storage_begin = 0;  // within the segment
  std::uint64_t storage_length = 0;
  std::uint64_t file_offset = 0;  // of storage_begin
  EngineKind engine = EngineKind::mapped;
  std::uint64_t align = 1;  // what the base, less its shift, is a multiple of: a page, or a large one
  std::uint64_t shift = 0;  // of the segment's base behind such a boundary

  // Whether there is storage that every process of the node sees where it maps it.
  bool in_place() const { return storage_length > 0 && row_of(engine).in_place; }
};

// Places all segments. `contiguous`: segments follow each other without a gap (MPI_Win_allocate_shared's default).
// What can't be mapped, because two stores would share a page, is staged.
std::vector<Placement> place(std::span<const Request> requests, std::span<const StoreFacts> opened, std::uint64_t page,
                             bool contiguous);

// The hints of one rank as they were settled: its share as a number, the engine its bytes got, the file's name without
// placeholders. Given as hints again, they lead to the same.
WindowHints settle(WindowHints hints, const Request& request, const Placement& placement, const NameFields& fields);

// What the ranks of a leader's store have of it, in as few stretches as can be, by their offset.
std::vector<storage::FileRange> ranges_of(int leader, std::span<const Placement> placements);

// Cause::bad_hint if ranks share bytes of a store (overlap) and have copies of their own (staged): the copies would
// undo each other.
Status check_overlap(std::span<const Placement> placements);

}  // namespace sill::window
