#include "window/memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "base/child.hpp"
#include "base/config.hpp"
#include "base/filename.hpp"
#include "mpi/comm.hpp"
#include "storage/mapping.hpp"
#include "storage/memory_limit.hpp"
#include "storage/promises.hpp"
#include "storage/record.hpp"
#include "window/automatic.hpp"
#include "window/plan.hpp"
#include "window/stores.hpp"
#include "window/window.hpp"

namespace sill::window {
namespace {

struct Memory {
  storage::Region region;
  storage::Promise promise;
  std::uint64_t size;
  WindowHints hints;
  std::unique_ptr<StoredSegment> segment;  // null if all of it is memory; goes before the region
};

std::atomic<int> next_memory_number{0};
std::mutex memories_mutex;
// Windows over a memory hold it too: a sync on one thread may go on while another frees it.
std::map<std::byte*, std::shared_ptr<Memory>>& memories() {
  static auto* all = new std::map<std::byte*, std::shared_ptr<Memory>>;
  return *all;
}

// `promise` is of the part in memory. Ranks call this one by one, without knowing of each other.
Result<Request> local_request(MPI_Aint size, const WindowRequest& asked, storage::Promise& promise) {
  if (!asked.status.ok()) return asked.status;
  if (size < 0) return Status(Cause::bad_size, "size: " + std::to_string(size) + " is negative");
  if (const auto told = storage::told_limit(); !told.ok()) return told.status();
  Request request = make_request(asked.hints, static_cast<std::uint64_t>(size), 1);
  if (Status settled = settle_share(request, promise); !settled.ok()) return settled;
  return request;
}

// The part of a memory that lies on storage, at its place in the region.
Status attach_memory(Memory& memory, storage::Claim& claim, const Placement& placement, const NameFields& fields) {
  const storage::FileRange range{placement.file_offset, placement.storage_length};
  if (Status status = claim.take(std::span(&range, 1), memory.hints.reserve); !status.ok()) return status;
  const storage::File& file = *claim.file();
  if (!file.striping_applied()) {
    memory.hints.striping_factor.reset();
    memory.hints.striping_unit.reset();
  }
  const storage::Extent extent{memory.region.data() + placement.shift + placement.storage_begin,
                               placement.storage_length, placement.file_offset};
  memory.segment = std::make_unique<StoredSegment>(claim.file(), placement.engine, extent);
  if (Status status = memory.segment->attach(memory.hints, true, fields.window); !status.ok()) return status;
  memory.segment->engine().watch(memory.hints, extent.length, true);
  const std::array world_ranks = {fields.rank};
  return describe_store(claim, 0, std::span(&placement, 1), memory.hints, fields, world_ranks, nullptr);
}

// The memory that holds an address; call with the mutex held.
std::shared_ptr<Memory> holder_of(const void* address) {
  auto& all = memories();
  auto after = all.upper_bound(static_cast<std::byte*>(const_cast<void*>(address)));
  if (after == all.begin()) return nullptr;
  const auto& [base, memory] = *std::prev(after);
  return static_cast<const std::byte*>(address) < base + memory->size ? memory : nullptr;
}

// What the program asked to become of its file.
Status finish(const Memory& memory) {
  if (!memory.segment) return {};
  if (!memory.hints.unlink) return memory.hints.discard ? Status() : memory.segment->sync(nullptr);
  return storage::remove_file(memory.segment->file());
}

}  // namespace

Status allocate_memory(MPI_Aint size, const WindowRequest& asked, void* baseptr) {
  storage::Promise promise;
  const auto request = local_request(size, asked, promise);
  if (!request.ok()) return request.status();
  const NameFields fields{mpi::world_rank(0), host_name(), name_in_world("m" + std::to_string(next_memory_number++)),
                          job_name()};
  std::optional<storage::Claim> claim;
  StoreFacts opened;
  if (needs_store(request.value())) {
    auto store = open_store(asked.hints, fields);
    if (!store.ok()) return with_key(store.status());
    claim.emplace(std::move(store).value());
    opened.open = true;
    opened.identity = claim->file()->identity();
  }
  const auto placements = place(std::span(&request.value(), 1), std::span(&opened, 1), storage::page_size(), false);
  const Placement& placement = placements.front();
  auto region = storage::Region::reserve(
      storage::round_up(placement.shift + std::max<std::uint64_t>(placement.size, 1), storage::page_size()),
      placement.align);
  if (!region.ok()) return region.status();
  const auto memory =
      std::make_shared<Memory>(Memory{std::move(region).value(), std::move(promise), placement.size,
                                      settle(asked.hints, request.value(), placement, fields), nullptr});
  if (claim)
    if (Status status = attach_memory(*memory, *claim, placement, fields); !status.ok()) return with_key(status);
  if (claim) claim->commit();
  std::byte* base = memory->region.data() + placement.shift;
  memory->promise.lies_at(base + (placement.storage_begin > 0 ? 0 : placement.storage_length));
  std::memcpy(baseptr, &base, sizeof base);
  const std::lock_guard lock(memories_mutex);
  memories().emplace(base, memory);
  return {};
}

Status free_memory(void* base, bool* known) {
  std::unique_lock lock(memories_mutex);
  const auto at = memories().find(static_cast<std::byte*>(base));
  *known = at != memories().end();
  if (!*known) return {};
  const auto memory = std::move(at->second);
  memories().erase(at);
  lock.unlock();
  return finish(*memory);
}

Status finish_memories() {
  const std::lock_guard lock(memories_mutex);
  Status first;
  for (const auto& [base, memory] : memories()) first.note(finish(*memory));
  return first;
}

Status cover(MPI_Win win, const void* base, MPI_Aint size) {
  std::shared_ptr<StoredSegment> segment;
  const WindowHints* hints = nullptr;
  {
    const std::lock_guard lock(memories_mutex);
    if (const auto memory = holder_of(base)) {
      segment = {memory, memory->segment.get()};
      hints = &memory->hints;
    }
  }
  if (!segment) return {};
  static std::mutex entering;  // threads may attach to one window at the same time
  std::unique_lock lock(entering);
  Window* window = find(win);
  if (!window) {
    if (Status status = enter(win, std::make_unique<Window>()); !status.ok()) return status;
    window = find(win);
  }
  lock.unlock();
  const auto* first = segment->extent().address;
  const auto* begin = std::max<const std::byte*>(static_cast<const std::byte*>(base), first);
  const auto* end =
      std::min<const std::byte*>(static_cast<const std::byte*>(base) + size, first + segment->extent().length);
  if (begin < end) window->add_range(std::move(segment), hints, base, begin, end);
  return {};
}

void uncover(MPI_Win win, const void* base) {
  if (Window* window = find(win)) window->drop_range(base);
}

}  // namespace sill::window
