#include "window/allocate.hpp"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/child.hpp"
#include "base/config.hpp"
#include "base/filename.hpp"
#include "base/log.hpp"
#include "mpi/below.hpp"
#include "mpi/errors.hpp"
#include "mpi/worlds.hpp"
#include "storage/memory_limit.hpp"
#include "storage/promises.hpp"
#include "window/automatic.hpp"
#include "window/stores.hpp"

namespace sill::window {
namespace {

using mpi::below;

std::atomic<int> next_window_number{0};

struct Announced {
  Request request;
  int world_rank;
};

Result<PathWish> path_wish() {
  const std::string wish = environment("SILL_WINDOW_PATH");
  if (wish.empty()) return PathWish::best;
  if (wish == "native") return PathWish::native;
  if (wish == "create") return PathWish::create;
  if (wish == "direct") return PathWish::direct;
  return Status(Cause::bad_hint, "SILL_WINDOW_PATH=" + wish + ": must be native, create or direct");
}

bool is_contiguous(const AllocateCall& call) {
  if (!call.shared) return false;
  const auto pairs = mpi::info_pairs(call.info, [](const std::string& key) { return key == "alloc_shared_noncontig"; });
  return pairs.empty() || pairs.front().second != "true";
}

Status fill(Request& request, const AllocateCall& call, const WindowRequest& asked, const mpi::OwnComm& own) {
  request = make_request(asked.hints, static_cast<std::uint64_t>(call.size), call.disp_unit);
  request.node = own.node_of[own.rank];
  request.window_number = next_window_number.fetch_add(1);
  look_around(request);
  request.contiguous = is_contiguous(call);
  if (!asked.status.ok()) return asked.status;
  if (call.size < 0) return {Cause::bad_size, "size: " + std::to_string(call.size) + " is negative"};
  if (call.disp_unit <= 0 || call.disp_unit > INT_MAX)
    return {Cause::bad_disp, "disp_unit: " + std::to_string(call.disp_unit) + " isn't between 1 and 2147483647"};
  const auto wish = path_wish();
  if (!wish.ok()) return wish.status();
  request.path = wish.value();
  if (request.automatic) storage::note_touched();
  return storage::told_limit().status();
}

// Numbers that other ranks have given are not given here again.
void skip_numbers(int used) {
  int next = next_window_number.load();
  while (next <= used && !next_window_number.compare_exchange_weak(next, used + 1)) continue;
}

// Everybody's request with its share settled, or the error of the lowest rank that has one. `for_node` must live until
// each rank has promised what it has in memory. Collective.
Result<std::vector<Request>> exchange(const AllocateCall& call, const WindowRequest& asked, const mpi::OwnComm& own,
                                      std::vector<int>& world_ranks, storage::Promise& for_node) {
  Announced mine{};
  const Status status = fill(mine.request, call, asked, own);
  mine.request.cause = status.cause();
  mine.world_rank = mpi::world_rank(own.rank);
  const auto all = own.gather_all(mine);
  if (!all.ok()) return all.status();
  std::vector<Request> requests;
  int number = 0;
  bool failed = false;
  for (const Announced& announced : all.value()) {
    requests.push_back(announced.request);
    world_ranks.push_back(announced.world_rank);
    number = std::max(number, announced.request.window_number);
    failed = failed || announced.request.cause != Cause::ok;
  }
  if (failed) return own.agree(status);
  if (Status same = check_agreement(requests); !same.ok()) return same;
  for (Request& request : requests) request.window_number = number;
  skip_numbers(number);
  if (Status settled = settle_shares(own, requests, for_node); !settled.ok()) return settled;
  return requests;
}

// Another node's leader has reserved the bytes: they must be there as seen from here, else loads and stores would be
// signals.
Status check_view(storage::File& file, const Placement& placement) {
  const std::uint64_t end = placement.file_offset + placement.storage_length;
  const auto size = file.size_seen_now();
  if (!size.ok() || size.value() >= end) return size.status();
  return {Cause::bad_file, file.path() + ": ends at byte " + std::to_string(size.value()) + " on node " + host_name() +
                               ", though rank " + std::to_string(placement.leader) + " on another node reserved " +
                               std::to_string(end) + " bytes"};
}

// Attaches one rank's storage at the address where this process sees its segment.
Status attach_store(std::shared_ptr<storage::File> file, int rank, Window& window) {
  const Placement& placement = window.placements()[rank];
  const bool mine = rank == window.rank();
  const storage::Extent extent{window.base(rank) + placement.storage_begin, placement.storage_length,
                               placement.file_offset};
  if (mine && !file->striping_applied()) {
    window.hints().striping_factor.reset();
    window.hints().striping_unit.reset();
  }
  auto segment = std::make_shared<StoredSegment>(std::move(file), placement.engine, extent);
  window.add(segment, mine);
  if (mine && !window.comm()->on_my_node(placement.leader))
    if (Status status = check_view(segment->file(), placement); !status.ok()) return status;
  return segment->attach(window.hints(), mine, window.name());
}

// Attaches what can be seen of the window's storage from this process: its own, and its neighbours' on the node.
Status attach_stores(Stores& stores, Window& window) {
  const mpi::OwnComm& own = *window.comm();
  Status status = stores.mine() ? attach_store(stores.mine()->file(), own.rank, window) : Status();
  for (int rank = 0; rank < own.size && status.ok(); ++rank) {
    const bool seen = window.placements()[rank].storage_length > 0 && window.base(rank);
    if (!seen || rank == own.rank) continue;
    auto file = storage::File::open_peer(stores.path_of(rank), stores.identity_of(rank), window.readonly());
    status = file.ok() ? attach_store(std::make_shared<storage::File>(std::move(file).value()), rank, window)
                       : file.status();
  }
  return status;
}

// Frees a window that came to nothing.
void give_up(Window& window) {
  StoredSegment* own = window.own_segment();
  if (own && window.comm()->alone_on_node())
    if (const Status status = own->engine().detach(); !status.ok()) log(LogLevel::warn, status.message());
  MPI_Win win = window.mpi_window().win;
  below().Win_free(&win);
}

Result<std::unique_ptr<Window>> build(const AllocateCall& call, const WindowRequest& asked,
                                      const std::shared_ptr<const mpi::OwnComm>& own) {
  std::vector<int> world_ranks;
  storage::Promise for_node;
  auto requests = exchange(call, asked, *own, world_ranks, for_node);
  if (!requests.ok()) return requests.status();
  storage::Promise promise(in_memory(requests.value()[own->rank]));
  const NameFields fields{world_ranks[own->rank], host_name(),
                          name_in_world(std::to_string(requests.value()[0].window_number)), job_name()};
  auto stores = Stores::open(*own, requests.value(), asked.hints, fields);
  if (!stores.ok()) return stores.status();
  for_node = storage::Promise();  // in opening the stores, all have met

  auto placements =
      place(requests.value(), stores.value().opened(), storage::page_size(), requests.value()[0].contiguous);
  promise = storage::Promise(placements[own->rank].size - placements[own->rank].storage_length);
  // Copies of what is only read don't undo each other.
  Status status = asked.hints.readonly ? Status() : check_overlap(placements);
  if (status.ok()) status = stores.value().reserve(*own, placements, asked.hints.reserve);
  if (!status.ok()) return status;
  auto mpi_window = make_mpi_window(*own, requests.value(), placements, call.info, call.shared);
  if (!mpi_window.ok()) return mpi_window.status();
  const int flavor = call.shared ? MPI_WIN_FLAVOR_SHARED : MPI_WIN_FLAVOR_ALLOCATE;
  WindowHints settled = settle(asked.hints, requests.value()[own->rank], placements[own->rank], fields);
  auto window =
      std::make_unique<Window>(Window::Allocation{flavor, own, std::move(placements), std::move(mpi_window).value(),
                                                  std::move(settled), fields.window, asked.front});
  window->keep(std::move(promise));
  status = own->agree(with_key(attach_stores(stores.value(), *window)));
  if (auto& mine = stores.value().mine(); mine && status.ok())
    status =
        describe_store(*mine, own->rank, window->placements(), asked.hints, fields, world_ranks, asked.front.get());
  // Without a front it is the same on all ranks by now.
  if (asked.front) status = own->agree(status);
  if (!status.ok()) {
    give_up(*window);
    return status;
  }
  stores.value().commit();
  window->watch();
  return window;
}

void log_birth(const Window& window) {
  if (!log_enabled(LogLevel::info)) return;
  const Placement& mine = window.placements()[window.rank()];
  log(LogLevel::info,
      "window " + window.name() + ": " + std::to_string(mine.size) + " bytes, " + std::to_string(mine.storage_length) +
          " of them on " + window.path() +
          (mine.storage_length == 0 || mine.in_place() ? "" : " (" + std::string(row_of(mine.engine).name) + ")") +
          ", path: " + window.mpi_window().path + (window.mpi_window().translated ? ", displacements translated" : ""));
}

// The error goes to the communicator's handler, or to who asked in the caller's name.
int fail(const AllocateCall& call, const Status& status) {
  if (HintOverride* instead = HintOverride::now()) {
    instead->failure = status;
    return MPI_ERR_OTHER;
  }
  return mpi::raise_on_comm(call.comm, status);
}

// Whether they do can't be known.
void say_once_that_ranks_lack_sill() {
  static std::once_flag once;
  std::call_once(once, [] {
    log(LogLevel::warn,
        "a window has ranks of another MPI_COMM_WORLD that may run without Sill, and stays in memory, like all such "
        "windows (docs/spawn.md)");
  });
}

}  // namespace

Status move_to(Window& window, const WindowHints& hints, std::shared_ptr<Front> front) {
  const mpi::OwnComm& own = *window.comm();
  const Placement mine = window.placements()[own.rank];
  const AllocateCall call{static_cast<MPI_Aint>(mine.size), static_cast<MPI_Aint>(mine.disp_unit)};
  std::vector<int> world_ranks;
  storage::Promise for_node;  // the window promised its own when it was made
  const auto requests = exchange(call, WindowRequest{true, {}, hints}, own, world_ranks, for_node);
  if (!requests.ok()) return requests.status();
  const NameFields fields{world_ranks[own.rank], host_name(), window.name(), job_name()};
  auto stores = Stores::open(own, requests.value(), hints, fields);
  if (!stores.ok()) return stores.status();
  auto placements = place(requests.value(), stores.value().opened(), storage::page_size(), false);
  const auto same_place = [](const Placement& a, const Placement& b) {
    return a.shift == b.shift && a.align == b.align && a.storage_length == b.storage_length && a.engine == b.engine;
  };
  Status status;
  if (!std::equal(placements.begin(), placements.end(), window.placements().begin(), same_place))
    status = {Cause::unsupported, "a window can't move to a file that it shares with other ranks, page by page"};
  if (status.ok()) status = stores.value().reserve(own, placements, hints.reserve);
  if (!status.ok()) return status;
  // Nobody may still be putting into what is copied now.
  below().Barrier(own.comm);
  std::byte* base = window.base(own.rank);
  const std::vector<std::byte> bytes(base, base + mine.size);
  auto old = window.exchange_storing(placements, hints, front);
  status = with_key(attach_stores(stores.value(), window));
  if (status.ok())
    status = describe_store(*stores.value().mine(), own.rank, placements, hints, fields, world_ranks, front.get());
  if (status = own.agree(status); !status.ok()) {
    stores.value().undo();
    const Status back = own.agree(window.put_back(std::move(old)));
    return back.ok() ? status : back;
  }
  stores.value().commit();
  if (!window.own_segment()->restored()) std::copy(bytes.begin(), bytes.end(), base);
  window.watch();
  return own.meet();
}

bool anyone_asks(const AllocateCall& call, const WindowRequest& asked) {
  int inter = 1;
  if (call.comm == MPI_COMM_NULL) return false;
  if (below().Comm_test_inter(call.comm, &inter) != MPI_SUCCESS || inter) return false;
  if (!mpi::all_have_sill(call.comm)) {
    if (asked.storage && mpi::is_first_of_world(call.comm)) say_once_that_ranks_lack_sill();
    return false;
  }
  int mine = asked.storage;
  int any = mine;
  if (below().Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, call.comm) != MPI_SUCCESS) return asked.storage;
  return any != 0;
}

int allocate(const AllocateCall& call, WindowRequest asked, void* baseptr, MPI_Win* win) {
  if (!mpi::below_is_whole())
    return fail(call, {Cause::unsupported,
                       "alloc_type=storage: this MPI library lacks functions "
                       "that Sill needs (SILL_LOG=info names them)"});
  set_log_rank(mpi::world_rank(-1));
  const auto own = mpi::own_comm(call.comm);
  if (!own.ok()) return fail(call, own.status());
  auto built = build(call, asked, own.value());
  if (!built.ok()) {
    // Everybody has undone what it did before the error handler of the first may end them all.
    below().Barrier(own.value()->comm);
    return fail(call, built.status());
  }
  auto window = std::move(built).value();
  log_birth(*window);
  const MPI_Win handle = window->mpi_window().win;
  std::byte* base = window->base(window->rank());
  if (Status status = enter(handle, std::move(window)); !status.ok()) return fail(call, status);
  // Like every new window, it starts with the default error handler.
  below().Win_set_errhandler(handle, MPI_ERRORS_ARE_FATAL);
  std::memcpy(baseptr, &base, sizeof base);
  *win = handle;
  return MPI_SUCCESS;
}

}  // namespace sill::window
