#include "window/hidden.hpp"

#include <dirent.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "base/hints.hpp"
#include "base/log.hpp"
#include "mpi/below.hpp"
#include "mpi/errors.hpp"

namespace sill::window {
namespace {

using mpi::below;
using storage::page_size;
using storage::round_up;

enum class Path { shared, allocate, create, direct };

// Open MPI 4 begins segments inside a page, and refuses MPI_Win_create by a single rank.
bool is_open_mpi_4() { return mpi::version().library == mpi::Library::open_mpi && mpi::version().major < 5; }

// MPICH 4 sends what goes into shared windows by active messages, at a tenth of the speed of its other windows, and its
// MPI_Win_flush_all and MPI_Win_unlock_all may return before gets from such other windows are complete.
bool is_mpich_4() { return mpi::version().library == mpi::Library::mpich && mpi::version().major < 5; }

// With any library this turns true when a base is seen to begin inside a page.
std::atomic<bool>& unaligned_seen() {
  static std::atomic<bool> unaligned{is_open_mpi_4()};
  return unaligned;
}

bool find_rdma_hardware() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/sys/class/infiniband"), &::closedir);
  if (!folder) return false;
  while (const dirent* entry = ::readdir(folder.get()))
    if (entry->d_name[0] != '.') return true;
  return false;
}

bool replaces_across_nodes(std::span<const Request> requests) {
  if (mpi::version().library != mpi::Library::mpich || is_mpich_4()) return false;
  return std::none_of(requests.begin(), requests.end(), [](const Request& request) { return request.rdma_hardware; });
}

bool shared_memory_suffices(std::span<const Request> requests) {
  std::uint64_t asked = 0;
  std::uint64_t left = UINT64_MAX;
  for (const Request& request : requests) {
    asked += round_up(request.size, page_size()) + 2 * alignment(request.size, page_size());
    left = std::min(left, request.shared_memory);
  }
  return asked <= left / 10 * 9;
}

Result<Path> choose_path(const mpi::OwnComm& own, std::span<const Request> requests, const HiddenCall& call) {
  const bool one_node = own.node_count == 1;
  if (call.shared && !one_node)
    return Status(Cause::unsupported, "MPI_Win_allocate_shared: the communicator spans several nodes");
  const bool cannot_create = own.size == 1 && is_open_mpi_4();
  if (call.shared || cannot_create) return Path::shared;
  // MPICH shares memory among the ranks of one world only.
  const bool can_share = own.one_world || mpi::version().library != mpi::Library::mpich;
  const bool native_works = can_share && (one_node || replaces_across_nodes(requests));
  switch (requests[0].path) {
    case PathWish::create:
      return Path::create;
    case PathWish::direct:
      return Path::direct;
    case PathWish::native:
      if (native_works) return one_node ? Path::shared : Path::allocate;
      return Status(Cause::unsupported,
                    "SILL_WINDOW_PATH=native: this MPI library can't do that across nodes or worlds");
    case PathWish::best:
      break;
  }
  if (one_node && can_share && !is_mpich_4() && shared_memory_suffices(requests)) return Path::shared;
  return !one_node && native_works ? Path::allocate : Path::direct;
}

// The user's info without Sill's keys, which are no business of the MPI library, and what the hidden window needs.
class HiddenInfo {
 public:
  HiddenInfo(MPI_Info users, bool noncontiguous) {
    if (users == MPI_INFO_NULL)
      below().Info_create(&info_);
    else
      below().Info_dup(users, &info_);
    for (const auto& [key, value] : mpi::info_pairs(info_, &is_hint)) below().Info_delete(info_, key.c_str());
    // Hidden segments are rounded up to pages and may differ where the user's are the same.
    if (!mpi::info_pairs(info_, [](const std::string& name) { return name == "same_size"; }).empty())
      below().Info_delete(info_, "same_size");
    if (noncontiguous) below().Info_set(info_, "alloc_shared_noncontig", "true");
  }
  ~HiddenInfo() { below().Info_free(&info_); }
  HiddenInfo(const HiddenInfo&) = delete;
  HiddenInfo& operator=(const HiddenInfo&) = delete;
  MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

bool any_mapped(std::span<const Placement> placements) {
  return std::any_of(placements.begin(), placements.end(), [](const Placement& p) { return p.in_place(); });
}

// The part of a shift that no choice of pages can save.
std::uint64_t shift_in_page(const Placement& placement) { return placement.shift % page_size(); }

bool any_shifted_in_page(std::span<const Placement> placements) {
  return std::any_of(placements.begin(), placements.end(), [](const Placement& p) { return shift_in_page(p) != 0; });
}

bool any_large(std::span<const Placement> placements) {
  return std::any_of(placements.begin(), placements.end(),
                     [](const Placement& p) { return p.in_place() && p.align > page_size(); });
}

// Bytes to ask the MPI library for, so that the pages put over a segment stay inside it.
std::uint64_t hidden_size(const mpi::OwnComm& own, std::span<const Placement> placements, bool contiguous, bool pad) {
  const Placement& mine = placements[static_cast<std::size_t>(own.rank)];
  if (contiguous) {
    // A gap may only lie behind the last segment.
    const bool last = own.rank == own.size - 1;
    const std::uint64_t room = (pad ? 2 * mine.align : page_size()) + page_size();
    return mine.size + (last && any_mapped(placements) ? room : 0);
  }
  if (!mine.in_place()) return mine.size;
  return pad ? round_up(mine.shift + mine.size, page_size()) + mine.align
             : round_up(shift_in_page(mine) + mine.size, page_size());
}

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

struct Shift {
  MPI_Aint bytes;
  std::uint64_t excess;  // how far the library's base lies behind where it should, without padding
};

// How far the user's base lies behind the library's. Contiguous segments all move by the distance of the first one.
std::vector<Shift> find_shifts(std::span<const Placement> placements, std::span<std::byte* const> bases,
                               bool contiguous, bool pad) {
  std::vector<Shift> shifts(placements.size(), Shift{0, 0});
  if (!any_mapped(placements)) return shifts;
  const auto first = std::find_if(placements.begin(), placements.end(), [](const Placement& p) { return p.size > 0; });
  const auto first_rank = static_cast<std::size_t>(first - placements.begin());
  const auto common =
      std::find_if(placements.begin(), placements.end(), [](const Placement& p) { return p.in_place(); });
  for (std::size_t rank = 0; rank < placements.size(); ++rank) {
    const Placement& placement = placements[rank];
    const std::byte* base = contiguous ? bases[first_rank] : bases[rank];
    if (!base || !(contiguous || placement.in_place())) continue;
    const Placement& model = contiguous ? *common : placement;
    const auto address = reinterpret_cast<std::uintptr_t>(base);
    if (pad) {
      const auto gap = (model.align - address % model.align) % model.align;
      shifts[rank] = {static_cast<MPI_Aint>(gap + model.shift), 0};
    } else {
      const auto in_page = shift_in_page(model);
      shifts[rank] = {static_cast<MPI_Aint>(in_page), (address + in_page - model.shift) % model.align};
    }
  }
  return shifts;
}

struct Attempt {
  Hidden hidden;
  bool allocated = false;   // on all ranks: what must be freed together
  bool misplaced = false;   // on any rank
  bool misaligned = false;  // even inside a page, on any rank
  // Where this process's mapping of the segments ends, and how far they should be moved down.
  std::byte* end = nullptr;
  std::uint64_t excess = 0;
};

// Every rank's own shift is the one all use.
Status exchange_shifts(const mpi::OwnComm& own, const std::vector<Shift>& seen, const Status& mine, bool contiguous,
                       Attempt& attempt) {
  struct Record {
    bool failed;
    bool allocated;
    Shift shift;
  };
  Hidden& hidden = attempt.hidden;
  const auto all = mpi::gather_records(own, Record{!mine.ok(), hidden.win != MPI_WIN_NULL, seen[own.rank]});
  if (!all.ok()) return all.status();
  bool failed = false;
  attempt.allocated = true;
  hidden.shifts.assign(seen.size(), 0);
  for (int rank = 0; rank < own.size; ++rank) {
    const Record& record = all.value()[rank];
    failed = failed || record.failed;
    attempt.allocated = attempt.allocated && record.allocated;
    attempt.misplaced = attempt.misplaced || record.shift.excess != 0;
    attempt.misaligned = attempt.misaligned || record.shift.excess % page_size() != 0;
    // Segments without gaps move as one: as far as rank 0 says, for to each process another shift would seem right.
    hidden.shifts[rank] = all.value()[contiguous ? 0 : rank].shift.bytes;
    if (hidden.bases[rank]) hidden.bases[rank] += hidden.shifts[rank];
  }
  return failed ? mpi::agree(own.comm, mine) : Status();
}

Status allocate_hidden(const mpi::OwnComm& own, std::span<const Placement> placements, const HiddenCall& call,
                       Path path, bool pad, Attempt& attempt) {
  const HiddenInfo info(call.info, !call.contiguous);
  Hidden& hidden = attempt.hidden;
  hidden.translated = any_shifted_in_page(placements) || (pad && any_mapped(placements));
  const auto size = static_cast<MPI_Aint>(hidden_size(own, placements, call.contiguous, pad));
  const int unit = hidden.translated ? 1 : static_cast<int>(placements[own.rank].disp_unit);
  void* mine = nullptr;
  const auto allocate = path == Path::shared ? below().Win_allocate_shared : below().Win_allocate;
  const int code = allocate(size, unit, info.get(), own.comm, static_cast<void*>(&mine), &hidden.win);
  hidden.bases.assign(placements.size(), nullptr);
  Status status = mpi::from_code(code, "allocating a window");
  if (status.ok()) {
    below().Win_set_errhandler(hidden.win, MPI_ERRORS_RETURN);
    status = query_bases(own, hidden.win, placements, static_cast<std::byte*>(mine), hidden.bases);
  }
  const auto shifts = find_shifts(placements, hidden.bases, call.contiguous, pad);
  attempt.excess = shifts[own.rank].excess;
  // Segments without gaps are one mapping, and a rank without bytes has no address of its own in it.
  const auto known = std::ranges::find_if(hidden.bases, [](const std::byte* base) { return base != nullptr; });
  if (attempt.excess != 0) attempt.end = storage::mapping_end(call.contiguous ? *known : mine);
  return exchange_shifts(own, shifts, status, call.contiguous, attempt);
}

// Segments of many pages should begin where large pages fit (alignment() in plan.hpp), and no MPI library can be asked
// for that (mpi_minimum_memory_alignment changes nothing in MPICH 5 and Open MPI 5). But the kernel puts a new mapping
// at the end of the highest gap that takes it. So segments that aren't right are given back, the last bytes of their
// gap are taken, and the library is asked again: its segments then begin as far below. Something else may come between.
constexpr int tries_before_padding = 4;

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

Result<Hidden> make_native(const mpi::OwnComm& own, std::span<const Request> requests,
                           std::span<const Placement> placements, const HiddenCall& call, Path path) {
  if (Status status = mpi::agree(own.comm, try_room(own, placements)); !status.ok()) return status;
  // All ranks must do the same, whatever each of them has seen. A single rank's memory may come from anywhere.
  const bool alone = own.size == 1;
  const bool unaligned =
      std::any_of(requests.begin(), requests.end(), [](const Request& request) { return request.bases_unaligned; });
  const bool large = any_large(placements);
  // Nor are displacements that are translated anyhow worth a second try. MPICH 4 maps at addresses drawn by lot.
  bool pad = alone || unaligned || (large && (any_shifted_in_page(placements) || is_mpich_4()));
  std::vector<storage::Region> taken;
  for (int tries = 1;; ++tries) {
    Attempt attempt;
    Status status = allocate_hidden(own, placements, call, path, pad, attempt);
    if (status.ok() && !attempt.misplaced) {
      attempt.hidden.path = path == Path::shared ? "native" : "native, several nodes";
      return std::move(attempt.hidden);
    }
    if (attempt.allocated) below().Win_free(&attempt.hidden.win);
    if (!status.ok()) return status;
    if (attempt.misaligned) unaligned_seen().store(true);
    pad = attempt.misaligned || tries == tries_before_padding;
    if (!pad) move_down(attempt, taken);
  }
}

// Address space for this rank's segment, and for what of its neighbours' can be seen from here.
Status reserve_regions(const mpi::OwnComm& own, std::span<const Placement> placements, Hidden& hidden) {
  hidden.bases.assign(placements.size(), nullptr);
  for (int rank = 0; rank < own.size; ++rank) {
    const Placement& placement = placements[rank];
    if (placement.size == 0 || (rank != own.rank && !(own.on_my_node(rank) && placement.in_place()))) continue;
    auto region = storage::Region::reserve(round_up(placement.shift + placement.size, page_size()), placement.align);
    if (!region.ok()) return region.status();
    hidden.bases[rank] = region.value().data() + placement.shift;
    hidden.regions.push_back(std::move(region).value());
  }
  return {};
}

// MPICH 4.0 misplaces data in windows whose base is no multiple of 16: the hidden window begins at one.
std::uint64_t lead_of(const Placement& placement) { return placement.shift % 16; }

Result<Hidden> make_created(const mpi::OwnComm& own, std::span<const Placement> placements, const HiddenCall& call) {
  Hidden hidden;
  hidden.path = "create";
  hidden.flush_each = is_mpich_4();
  for (const Placement& placement : placements) hidden.shifts.push_back(static_cast<MPI_Aint>(lead_of(placement)));
  hidden.translated = std::any_of(placements.begin(), placements.end(), lead_of);
  const Status reserved = reserve_regions(own, placements, hidden);
  if (Status status = mpi::agree(own.comm, reserved); !status.ok()) return status;
  const HiddenInfo info(call.info, false);
  const Placement& mine = placements[own.rank];
  std::byte* base = mine.size == 0 ? nullptr : hidden.bases[own.rank] - lead_of(mine);
  const int unit = hidden.translated ? 1 : static_cast<int>(mine.disp_unit);
  const int code = below().Win_create(base, static_cast<MPI_Aint>(mine.size + lead_of(mine)), unit, info.get(),
                                      own.comm, &hidden.win);
  if (Status status = mpi::agree(own.comm, mpi::from_code(code, "MPI_Win_create")); !status.ok()) return status;
  below().Win_set_errhandler(hidden.win, MPI_ERRORS_RETURN);
  return hidden;
}

}  // namespace

Result<Hidden> make_hidden(const mpi::OwnComm& own, std::span<const Request> requests,
                           std::span<const Placement> placements, const HiddenCall& call) {
  const auto path = choose_path(own, requests, call);
  if (!path.ok()) return path.status();
  if (path.value() == Path::shared || path.value() == Path::allocate)
    return make_native(own, requests, placements, call, path.value());
  auto hidden = make_created(own, placements, call);
  if (hidden.ok() && path.value() == Path::direct) {
    hidden.value().direct = true;
    hidden.value().path = "direct";
  }
  return hidden;
}

bool has_rdma_hardware() {
  static const bool has = find_rdma_hardware();
  return has;
}

bool bases_unaligned() { return unaligned_seen().load(); }

std::uint64_t shared_memory_left() {
  struct statvfs space;
  if (mpi::version().library != mpi::Library::open_mpi || ::statvfs("/dev/shm", &space) != 0) return UINT64_MAX;
  return static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
}

}  // namespace sill::window
