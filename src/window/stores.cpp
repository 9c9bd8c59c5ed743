#include "window/stores.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "topology/split.hpp"
#include "window/description.hpp"

namespace sill::window {

Result<storage::Claim> open_store(const WindowHints& hints, const NameFields& fields) {
  const auto open = [&]() -> Result<storage::File> {
    if (hints.anonymous) return storage::File::anonymous();
    auto path = expand_filename(hints.filename, fields);
    if (!path.ok()) return path.status();
    return storage::File::open({std::move(path).value(), hints.file_perm, hints.striping_factor, hints.striping_unit,
                                hints.readonly, hints.one_process});
  };
  auto file = open();
  if (!file.ok()) return file.status();
  return storage::Claim(std::move(file).value());
}

Status with_key(const Status& status) {
  if (status.ok() || status.message().find("storage_alloc") != std::string::npos) return status;
  return {status.cause(), "storage_alloc_filename=" + status.message()};
}

namespace {

// Of the ranks that opened one store, its leader (the lowest) undoes, whichever of them created the file: the others
// hold no locks, so only its attempt can tell whether another window lies there.
bool answers_for_creation(int rank, std::span<const StoreFacts> opened) {
  bool created = false;
  for (int other = 0; other < static_cast<int>(opened.size()); ++other) {
    if (!opened[other].open || opened[other].store() != opened[rank].store()) continue;
    if (other < rank) return false;
    created = created || opened[other].created;
  }
  return created;
}

}  // namespace

Result<Stores> Stores::open(const mpi::OwnComm& own, std::span<const Request> requests, const WindowHints& hints,
                            const NameFields& fields) {
  Stores stores;
  StoreFacts mine;
  Status status;
  if (needs_store(requests[own.rank])) {
    auto claim = open_store(hints, fields);
    status = with_key(claim.status());
    mine.cause = status.cause();
    if (claim.ok()) {
      const storage::File& file = *claim.value().file();
      mine.open = true;
      mine.created = file.created();
      mine.identity = file.identity();
      mine.size_at_open = file.size_at_open();
      mine.path_length = static_cast<int>(file.path().size());
      stores.mine_.emplace(std::move(claim).value());
    }
  }
  auto opened = own.gather_all(mine);
  if (!opened.ok()) return opened.status();
  stores.opened_ = std::move(opened).value();
  const auto failed = [](const StoreFacts& store) { return store.cause != Cause::ok; };
  // As long as nothing is proven, the lowest rank of each node undoes what that node's ranks have done.
  const auto doubtful = seen_from_several_nodes(stores.opened_, own.node_of);
  for (int rank = 0; rank < own.size; ++rank)
    if (doubtful[rank]) stores.opened_[rank].proven = own.node_of[rank] + 1;
  status = std::ranges::any_of(stores.opened_, failed) ? own.agree(status) : stores.tell_apart(own, doubtful);
  if (stores.mine_) stores.mine_->answer_for_creation(answers_for_creation(own.rank, stores.opened_));
  if (!status.ok()) return status;
  std::vector<int> lengths;
  for (const StoreFacts& store : stores.opened_) lengths.push_back(store.path_length);
  auto paths = mpi::gather_on_node(own, stores.mine_ ? stores.mine_->file()->path() : "", lengths);
  if (!paths.ok()) return paths.status();
  stores.paths_ = std::move(paths).value();
  return stores;
}

Status Stores::tell_apart(const mpi::OwnComm& own, const std::vector<bool>& doubtful) {
  if (std::ranges::find(doubtful, true) == doubtful.end()) return {};
  const std::optional<std::string> folder = doubtful[own.rank] ? std::optional(mine_->file()->folder()) : std::nullopt;
  const auto division = topology::divide(own.comm, folder, SplitMethod::automatic);
  if (!division.ok()) return division.status();
  const auto places = own.gather_all(division.value().place);
  if (!places.ok()) return places.status();
  Status status;
  if (doubtful[own.rank] && division.value().place.store < 0)
    status = {Cause::no_such_file, mine_->file()->path() + ": its folder can't be seen from here"};
  if (status = own.agree(status); !status.ok()) return status;
  for (int rank = 0; rank < own.size; ++rank)
    if (doubtful[rank]) opened_[rank].proven = places.value()[rank].store + 1;
  const auto same = [&](const StoreFacts& store) { return store.open && store.store() == opened_[own.rank].store(); };
  const bool first = std::ranges::find_if(opened_, same) - opened_.begin() == own.rank;
  if (doubtful[own.rank] && division.value().place.unproven && first)
    log(LogLevel::warn, mine_->file()->path() +
                            ": nobody may make a token in its folder, so it is not proven that all nodes " +
                            "see one file there");
  return {};
}

Status Stores::reserve(const mpi::OwnComm& own, std::span<const Placement> placements, Reserve how) {
  const bool leads = mine_ && placements[own.rank].leader == own.rank;
  const Status status = leads ? mine_->take(ranges_of(own.rank, placements), how) : Status();
  return own.agree(with_key(status));
}

Status describe_store(storage::Claim& claim, int rank, std::span<const Placement> placements, const WindowHints& hints,
                      const NameFields& fields, std::span<const int> world_ranks, Front* front) {
  if (placements[rank].leader != rank) return {};
  auto record = storage::Record::renew(*claim.file(), claim.created(), hints.file_perm);
  Status status = record.status();
  if (status.ok()) put_description(record.value(), fields, hints.unlink, rank, placements, world_ranks);
  if (status.ok() && front) status = front->describe(*claim.file(), claim.created(), record.value());
  if (status.ok()) status = record.value().write(*claim.file(), front != nullptr);
  if (status.ok()) claim.described();
  if (status.ok() || front) return status;
  log(LogLevel::warn, status.message());
  return {};
}

void Stores::commit() {
  if (mine_) mine_->commit();
}

}  // namespace sill::window
