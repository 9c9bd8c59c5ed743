#include "window/plan.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>

namespace sill::window {
namespace {

using storage::round_down;
using storage::round_up;

// Where `factor` is decided: a segment's bytes on storage. The border between memory and storage is the border of a
// page, so each part is rounded in favour of storage.
void split(const Request& request, std::uint64_t file_offset, std::uint64_t page, Placement& placement) {
  const auto wanted = static_cast<std::uint64_t>(request.share * static_cast<double>(request.size));
  placement.file_offset = file_offset;
  if (request.share >= 1.0 || wanted >= request.size) {
    placement.storage_length = request.size;
  } else if (request.order == Order::memory_first) {
    placement.storage_begin = round_down(request.size - wanted, page);
    placement.storage_length = request.size - placement.storage_begin;
  } else {
    placement.storage_length = std::min(request.size, round_up(file_offset + wanted, page) - file_offset);
  }
}

// One stretch of address space on one store; neighbours that go on in the same file are one stretch.
struct Stretch {
  std::uint64_t begin;
  std::uint64_t end;
  int leader;
  std::uint64_t file_offset;
};

std::vector<Stretch> stretches(std::span<const Placement> placements) {
  std::vector<Stretch> all;
  std::uint64_t base = 0;
  for (const Placement& placement : placements) {
    const std::uint64_t begin = base + placement.storage_begin;
    base += placement.size;
    if (placement.storage_length == 0) continue;
    const bool goes_on = !all.empty() && all.back().end == begin && all.back().leader == placement.leader &&
                         all.back().file_offset + (all.back().end - all.back().begin) == placement.file_offset;
    if (goes_on)
      all.back().end += placement.storage_length;
    else
      all.push_back({begin, begin + placement.storage_length, placement.leader, placement.file_offset});
  }
  return all;
}

// How far an address lies behind a boundary, if the byte at `begin` behind it is to be congruent with its file offset.
std::uint64_t shift_for(std::uint64_t begin, std::uint64_t file_offset, std::uint64_t align) {
  return (file_offset + align - begin % align) % align;
}

// Segments without gaps have one common shift. They can be mapped if with it no page belongs to two stores, or to a
// store and memory.
void place_contiguous(std::span<Placement> placements, std::uint64_t page) {
  std::uint64_t total = 0;
  for (const Placement& placement : placements) total += placement.size;
  const auto all = stretches(placements);
  if (all.empty()) return;
  std::uint64_t longest = 0;
  for (const Stretch& stretch : all) longest = std::max(longest, stretch.end - stretch.begin);
  const std::uint64_t align = alignment(longest, page);
  const std::uint64_t shift = shift_for(all.front().begin, all.front().file_offset, align);
  const bool mappable = std::all_of(all.begin(), all.end(), [&](const Stretch& stretch) {
    const bool congruent = (shift + stretch.begin) % page == stretch.file_offset % page;
    const bool begins_clean = stretch.begin == 0 || (shift + stretch.begin) % page == 0;
    const bool ends_clean = stretch.end == total || (shift + stretch.end) % page == 0;
    return congruent && begins_clean && ends_clean;
  });
  for (Placement& placement : placements) {
    if (!mappable && row_of(placement.engine).in_place) placement.engine = EngineKind::staged;
    placement.align = align;
    placement.shift = row_of(placement.engine).in_place ? shift : 0;
  }
}

void place_apart(Placement& placement, std::uint64_t page) {
  const bool mappable = placement.storage_begin == 0 || placement.file_offset % page == 0;
  if (!mappable && row_of(placement.engine).in_place) placement.engine = EngineKind::staged;
  if (!placement.in_place()) return;
  placement.align = alignment(placement.storage_length, page);
  placement.shift = shift_for(placement.storage_begin, placement.file_offset, placement.align);
}

template <class Value, class Name>
Status check_same(std::span<const Request> requests, Value Request::*hint, const char* key, Name name) {
  for (std::size_t rank = 1; rank < requests.size(); ++rank)
    if (requests[rank].*hint != requests[0].*hint)
      return {Cause::hints_differ, std::string(key) + ": must be the same on all ranks, but rank 0 has " +
                                       name(requests[0].*hint) + " and rank " + std::to_string(rank) + " has " +
                                       name(requests[rank].*hint)};
  return {};
}

}  // namespace

Request make_request(const WindowHints& hints, std::uint64_t size, std::int64_t disp_unit) {
  Request request;
  request.size = size;
  request.disp_unit = disp_unit;
  request.offset = hints.offset;
  request.automatic = hints.factor.automatic;
  request.share = hints.alloc_type == AllocType::storage ? hints.factor.share : 0;
  request.alloc_type = hints.alloc_type;
  request.order = hints.order;
  request.layout = hints.layout;
  request.engine = hints.engine;
  request.reserve = hints.reserve;
  request.unlink = hints.unlink;
  request.discard = hints.discard;
  request.readonly = hints.readonly;
  return request;
}

Status check_agreement(std::span<const Request> requests) {
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  const Status results[] = {
      check_same(requests, &Request::alloc_type, "alloc_type",
                 [](AllocType type) { return type == AllocType::storage ? "storage" : "memory"; }),
      check_same(requests, &Request::order, "storage_alloc_order",
                 [](Order order) { return order == Order::memory_first ? "memory_first" : "storage_first"; }),
      check_same(requests, &Request::layout, "storage_alloc_layout",
                 [](Layout layout) { return layout == Layout::consecutive ? "consecutive" : "overlap"; }),
      check_same(requests, &Request::engine, "storage_alloc_engine",
                 [](EngineKind engine) { return std::string(row_of(engine).name); }),
      check_same(requests, &Request::reserve, "storage_alloc_reserve",
                 [](Reserve reserve) { return reserve == Reserve::full ? "full" : "sparse"; }),
      check_same(requests, &Request::unlink, "storage_alloc_unlink", flag),
      check_same(requests, &Request::discard, "storage_alloc_discard", flag),
      check_same(requests, &Request::readonly, "storage_alloc_readonly", flag),
      check_same(requests, &Request::contiguous, "alloc_shared_noncontig",
                 [](bool contiguous) { return contiguous ? "false" : "true"; }),
      check_same(requests, &Request::path, "SILL_WINDOW_PATH",
                 [](PathWish path) {
                   return std::array{"no value", "native", "create", "direct"}[static_cast<std::size_t>(path)];
                 }),
  };
  for (const Status& status : results)
    if (!status.ok()) return status;
  return {};
}

void resolve_automatic(std::span<Request> requests) {
  struct Node {
    double asked = 0;
    double available = -1;
    double promised = 0;
  };
  std::map<int, Node> nodes;
  for (const Request& request : requests) {
    Node& node = nodes[request.node];
    const auto available = static_cast<double>(request.available_memory);
    if (request.automatic) node.asked += static_cast<double>(request.size);
    if (request.automatic && (node.available < 0 || available < node.available)) node.available = available;
    if (request.automatic) node.promised = std::max(node.promised, static_cast<double>(request.promised_memory));
  }
  for (Request& request : requests) {
    if (!request.automatic) continue;
    const Node& node = nodes[request.node];
    const double fits = std::max(0.9 * node.available - node.promised, 0.0);
    request.share = node.asked > fits ? (node.asked - fits) / node.asked : 0;
  }
}

std::uint64_t in_memory(const Request& request) {
  return static_cast<std::uint64_t>((1 - request.share) * static_cast<double>(request.size));
}

bool needs_store(const Request& request) { return request.size > 0 && request.share > 0; }

std::vector<bool> seen_from_several_nodes(std::span<const StoreFacts> opened, std::span<const int> node_of) {
  // Of a local file system, the kernel has said all.
  const auto in_doubt = [](const StoreFacts& store) { return store.open && store.identity.machine == 0; };
  struct Seen {
    int node;
    bool elsewhere;
  };
  std::map<storage::StoreIdentity, Seen> stores;
  for (std::size_t rank = 0; rank < opened.size(); ++rank) {
    if (!in_doubt(opened[rank])) continue;
    const auto [at, fresh] = stores.try_emplace(opened[rank].identity, Seen{node_of[rank], false});
    if (!fresh && at->second.node != node_of[rank]) at->second.elsewhere = true;
  }
  std::vector<bool> seen;
  for (const StoreFacts& store : opened) seen.push_back(in_doubt(store) && stores.at(store.identity).elsewhere);
  return seen;
}

std::vector<Placement> place(std::span<const Request> requests, std::span<const StoreFacts> opened, std::uint64_t page,
                             bool contiguous) {
  std::vector<Placement> placements(requests.size());
  std::map<decltype(opened[0].store()), int> leaders;
  std::map<std::pair<int, std::uint64_t>, std::uint64_t> taken;  // (store, hinted offset) -> bytes of ranks before
  for (std::size_t rank = 0; rank < requests.size(); ++rank) {
    const Request& request = requests[rank];
    Placement& placement = placements[rank];
    placement.size = request.size;
    placement.disp_unit = request.disp_unit;
    if (!opened[rank].open) continue;
    placement.leader = leaders.try_emplace(opened[rank].store(), static_cast<int>(rank)).first->second;
    std::uint64_t& before = taken[{placement.leader, request.offset}];
    split(request, request.offset + (request.layout == Layout::consecutive ? before : 0), page, placement);
    before += placement.storage_length;
    placement.engine = request.engine;
    if (!contiguous) place_apart(placement, page);
  }
  if (contiguous) place_contiguous(placements, page);
  return placements;
}

WindowHints settle(WindowHints hints, const Request& request, const Placement& placement, const NameFields& fields) {
  if (hints.factor.automatic) hints.factor = {.automatic = false, .share = request.share};
  if (placement.storage_length > 0) hints.engine = placement.engine;
  if (const auto path = expand_filename(hints.filename, fields); path.ok())
    hints.filename = escape_filename(path.value());
  return hints;
}

std::vector<storage::FileRange> ranges_of(int leader, std::span<const Placement> placements) {
  std::vector<storage::FileRange> all;
  for (const Placement& placement : placements)
    if (placement.leader == leader && placement.storage_length > 0)
      all.push_back({placement.file_offset, placement.storage_length});
  std::sort(all.begin(), all.end(),
            [](const storage::FileRange& a, const storage::FileRange& b) { return a.offset < b.offset; });
  std::vector<storage::FileRange> merged;
  for (const storage::FileRange& range : all) {
    if (merged.empty() || range.offset > merged.back().end())
      merged.push_back(range);
    else
      merged.back().length = std::max(merged.back().end(), range.end()) - merged.back().offset;
  }
  return merged;
}

Status check_overlap(std::span<const Placement> placements) {
  std::vector<std::size_t> order;  // ranks on storage, store by store, by their place in it
  for (std::size_t rank = 0; rank < placements.size(); ++rank)
    if (placements[rank].storage_length > 0) order.push_back(rank);
  const auto place_of = [&](std::size_t rank) {
    return std::tuple(placements[rank].leader, placements[rank].file_offset, rank);
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return place_of(a) < place_of(b); });
  const Placement* furthest = nullptr;  // of those before on the same store, the one that ends last
  for (const std::size_t rank : order) {
    const Placement& placement = placements[rank];
    const bool same = furthest && furthest->leader == placement.leader;
    const bool overlaps = same && furthest->file_offset + furthest->storage_length > placement.file_offset;
    if (overlaps && !(placement.in_place() && furthest->in_place()))
      return {Cause::bad_hint, "storage_alloc_layout, storage_alloc_offset: ranks " +
                                   std::to_string(furthest - placements.data()) + " and " + std::to_string(rank) +
                                   " share bytes of a file, but these can't be mapped (storage_alloc_engine, or an "
                                   "offset or segments that don't fit pages)"};
    if (!same || furthest->file_offset + furthest->storage_length < placement.file_offset + placement.storage_length)
      furthest = &placement;
  }
  return {};
}

}  // namespace sill::window
