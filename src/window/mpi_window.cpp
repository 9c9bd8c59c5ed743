#include "window/mpi_window.hpp"

#include <dirent.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "base/hints.hpp"
#include "mpi/below.hpp"
#include "mpi/errors.hpp"

namespace sill::window {
namespace {

using mpi::below;
using storage::page_size;
using storage::round_up;

// With any library this turns true when a base is seen to begin inside a page.
std::atomic<bool>& unaligned_seen() {
  static std::atomic<bool> unaligned{mpi::quirks().begins_inside_pages};
  return unaligned;
}

bool find_rdma_hardware() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/sys/class/infiniband"), &::closedir);
  if (!folder) return false;
  while (const dirent* entry = ::readdir(folder.get()))
    if (entry->d_name[0] != '.') return true;
  return false;
}

// The user's info without Sill's keys, which are no business of the MPI library, and what the window needs.
class OwnInfo {
 public:
  OwnInfo(MPI_Info users, bool noncontiguous) {
    if (users == MPI_INFO_NULL)
      below().Info_create(&info_);
    else
      below().Info_dup(users, &info_);
    for (const auto& [key, value] : mpi::info_pairs(info_, &is_hint)) below().Info_delete(info_, key.c_str());
    // Segments are rounded up to pages and may differ where the user's are the same.
    if (!mpi::info_pairs(info_, [](const std::string& name) { return name == "same_size"; }).empty())
      below().Info_delete(info_, "same_size");
    if (noncontiguous) below().Info_set(info_, "alloc_shared_noncontig", "true");
  }
  ~OwnInfo() { below().Info_free(&info_); }
  OwnInfo& operator=(OwnInfo&&) = delete;
  MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

// Where segments begin in this process, as the MPI library tells it.
Status query_bases(const mpi::OwnComm& own, MPI_Win win, std::span<const Placement> placements, std::byte* mine,
                   std::vector<std::byte*>& bases) {
  for (int rank = 0; rank < own.size; ++rank) {
    if (!own.on_my_node(rank) || placements[rank].size == 0) continue;
    if (rank == own.rank) {
      bases[rank] = mine;
      continue;
    }
    MPI_Aint size = 0;
    int unit = 0;
    void* base = nullptr;
    if (const int code = below().Win_shared_query(win, rank, &size, &unit, &base); code != MPI_SUCCESS)
      return mpi::from_code(code, "MPI_Win_shared_query");
    if (!base || size < static_cast<MPI_Aint>(placements[rank].size))
      return {Cause::unsupported, "MPI_Win_shared_query of the MPI library knows no address of a rank on this node"};
    bases[rank] = static_cast<std::byte*>(base);
  }
  return {};
}

struct Attempt {
  MpiWindow window;
  bool allocated = false;  // on all ranks: what must be freed together
  Fit fit = Fit::right;    // on all ranks
  // Where this process's mapping of the segments ends, and how far they should be moved down.
  std::byte* end = nullptr;
  std::uint64_t excess = 0;
};

Status exchange_shifts(const mpi::OwnComm& own, const Shift& mine, const Status& status, const Frame& frame,
                       Attempt& attempt) {
  struct Record {
    bool failed;
    bool allocated;
    Shift shift;
  };
  MpiWindow& window = attempt.window;
  const auto all = own.gather_all(Record{!status.ok(), window.win != MPI_WIN_NULL, mine});
  if (!all.ok()) return all.status();
  attempt.allocated = std::ranges::all_of(all.value(), &Record::allocated);
  std::vector<Shift> found;
  std::ranges::transform(all.value(), std::back_inserter(found), &Record::shift);
  attempt.fit = fit_of(found, frame);
  window.shifts = common_shifts(found, frame);
  for (int rank = 0; rank < own.size; ++rank)
    if (window.bases[rank]) window.bases[rank] += window.shifts[rank];
  return std::ranges::any_of(all.value(), &Record::failed) ? own.agree(status) : Status();
}

Status allocate_once(const mpi::OwnComm& own, std::span<const Placement> placements, MPI_Info users, Path path,
                     const Frame& frame, Attempt& attempt) {
  const OwnInfo info(users, !frame.contiguous);
  MpiWindow& window = attempt.window;
  window.translated = translates(placements, frame);
  const auto size = static_cast<MPI_Aint>(framed_size(placements, own.rank, frame));
  const int unit = window.translated ? 1 : static_cast<int>(placements[own.rank].disp_unit);
  void* mine = nullptr;
  const auto allocate = path == Path::shared ? below().Win_allocate_shared : below().Win_allocate;
  const int code = allocate(size, unit, info.get(), own.comm, static_cast<void*>(&mine), &window.win);
  window.bases.assign(placements.size(), nullptr);
  Status status = mpi::from_code(code, "allocating a window");
  if (status.ok()) {
    below().Win_set_errhandler(window.win, MPI_ERRORS_RETURN);
    status = query_bases(own, window.win, placements, static_cast<std::byte*>(mine), window.bases);
  }
  // Segments without gaps are one mapping, and a rank without bytes has no address of its own in it.
  const auto first = std::ranges::find_if(window.bases, [](const std::byte* base) { return base != nullptr; });
  const std::byte* base = window.bases[own.rank];
  if (frame.contiguous && first != window.bases.end()) base = *first;
  const Shift shift = find_shift(placements, own.rank, reinterpret_cast<std::uintptr_t>(base), frame);
  attempt.excess = shift.excess;
  if (shift.excess != 0) attempt.end = storage::mapping_end(base);
  return exchange_shifts(own, shift, status, frame, attempt);
}

// The last bytes of the gap that a mapping was put into are taken, so that the next one goes below.
void move_down(const Attempt& attempt, std::vector<storage::Region>& taken) {
  if (attempt.excess == 0 || !attempt.end) return;
  auto space = storage::Region::occupy(attempt.end - attempt.excess, attempt.excess);
  if (space.ok()) taken.push_back(std::move(space).value());
}

// Where one rank can't map the node's segments, Open MPI 4 leaves the others waiting for it: so all try first. Local.
Status try_room(const mpi::OwnComm& own, std::span<const Placement> placements) {
  std::uint64_t bytes = 0;
  for (int rank = 0; rank < own.size; ++rank) {
    const Placement& placement = placements[static_cast<std::size_t>(rank)];
    if (own.on_my_node(rank)) bytes += round_up(placement.shift + placement.size, page_size()) + placement.align;
  }
  return storage::check_address_space(bytes);
}

Result<MpiWindow> make_native(const mpi::OwnComm& own, std::span<const Request> requests,
                              std::span<const Placement> placements, MPI_Info users, Path path) {
  if (Status status = own.agree(try_room(own, placements)); !status.ok()) return status;
  Frame frame = first_frame(requests, placements, mpi::quirks(), page_size());
  std::vector<storage::Region> taken;
  for (int tries = 1;; ++tries) {
    Attempt attempt;
    Status status = allocate_once(own, placements, users, path, frame, attempt);
    if (status.ok() && attempt.fit == Fit::right) return std::move(attempt.window);
    if (attempt.allocated) below().Win_free(&attempt.window.win);
    if (!status.ok()) return status;
    if (attempt.fit == Fit::inside_page) unaligned_seen().store(true);
    frame.padded = must_pad(attempt.fit, tries);
    if (!frame.padded) move_down(attempt, taken);
  }
}

// Address space for this rank's segment, and for what of its neighbours' can be seen from here.
Status reserve_regions(const mpi::OwnComm& own, std::span<const Placement> placements, MpiWindow& window) {
  window.bases.assign(placements.size(), nullptr);
  for (int rank = 0; rank < own.size; ++rank) {
    const Placement& placement = placements[rank];
    if (placement.size == 0 || (rank != own.rank && !(own.on_my_node(rank) && placement.in_place()))) continue;
    auto region = storage::Region::reserve(round_up(placement.shift + placement.size, page_size()), placement.align);
    if (!region.ok()) return region.status();
    window.bases[rank] = region.value().data() + placement.shift;
    window.regions.push_back(std::move(region).value());
  }
  return {};
}

Result<MpiWindow> make_created(const mpi::OwnComm& own, std::span<const Placement> placements, MPI_Info users,
                               Path path) {
  MpiWindow window;
  window.direct = path == Path::direct;
  window.flush_each = mpi::quirks().flushes_early;
  std::ranges::transform(placements, std::back_inserter(window.shifts), lead_of);
  window.translated = std::ranges::any_of(placements, lead_of);
  const Status reserved = reserve_regions(own, placements, window);
  if (Status status = own.agree(reserved); !status.ok()) return status;
  const OwnInfo info(users, false);
  const Placement& mine = placements[own.rank];
  std::byte* base = mine.size == 0 ? nullptr : window.bases[own.rank] - lead_of(mine);
  const int unit = window.translated ? 1 : static_cast<int>(mine.disp_unit);
  const int code = below().Win_create(base, static_cast<MPI_Aint>(mine.size + lead_of(mine)), unit, info.get(),
                                      own.comm, &window.win);
  if (Status status = own.agree(mpi::from_code(code, "MPI_Win_create")); !status.ok()) return status;
  below().Win_set_errhandler(window.win, MPI_ERRORS_RETURN);
  return window;
}

}  // namespace

Result<MpiWindow> make_mpi_window(const mpi::OwnComm& own, std::span<const Request> requests,
                                  std::span<const Placement> placements, MPI_Info info, bool shared) {
  const auto path = choose_path(requests, {shared, own.node_count == 1, own.one_world, mpi::quirks()}, page_size());
  if (!path.ok()) return path.status();
  const bool native = path.value() == Path::shared || path.value() == Path::allocate;
  auto window = native ? make_native(own, requests, placements, info, path.value())
                       : make_created(own, placements, info, path.value());
  if (window.ok()) window.value().path = name_of(path.value());
  return window;
}

void look_around(Request& request) {
  static const bool rdma_hardware = find_rdma_hardware();
  request.rdma_hardware = rdma_hardware;
  request.bases_unaligned = unaligned_seen().load();
  struct statvfs space;
  if (mpi::quirks().shares_limited && ::statvfs("/dev/shm", &space) == 0)
    request.shared_memory = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
}

}  // namespace sill::window
