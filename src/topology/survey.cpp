#include "topology/survey.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/config.hpp"
#include "base/machine.hpp"
#include "mpi/below.hpp"
#include "mpi/errors.hpp"
#include "mpi/team.hpp"
#include "topology/split.hpp"
#include "topology/store.hpp"
#include "topology/store_info.hpp"

namespace sill::topology {
namespace {

using mpi::below;

struct Group : mpi::Team {
  Group(MPI_Comm of, int who) : Team(of), root(who) {}
  int root;
  bool is_root() const { return rank == root; }
};

// What a rank found in one directory; sent as it is.
struct Found {
  std::int32_t store = -1;
  std::int32_t unproven = 0;
  std::int32_t method = 0;
  std::int32_t store_count = 0;
  Operations operations;
  std::uint64_t time_ns = 0;
};

// What the lowest rank of a store tells of it; sent as it is.
struct Described {
  sill_store_info info{};
  std::array<char, 1024> path{};
};
using NodeName = std::array<char, 256>;

template <std::size_t size>
std::array<char, size> fixed(const std::string& text) {
  std::array<char, size> field{};
  std::copy_n(text.begin(), std::min(text.size(), size - 1), field.begin());
  return field;
}

std::uint64_t node_number() { return std::hash<std::string>{}(boot_id() + '/' + host_name()); }

// All ranks must give the same number of directories, and the same root.
Status agree_on_call(MPI_Comm comm, std::size_t count, int root) {
  const std::array<int, 4> mine = {static_cast<int>(count), -static_cast<int>(count), root, -root};
  std::array<int, 4> most{};
  const int code = below().Allreduce(mine.data(), most.data(), 4, MPI_INT, MPI_MAX, comm);
  if (code != MPI_SUCCESS) return mpi::from_code(code, "MPI_Allreduce");
  if (most[2] != -most[3]) return {Cause::bad_argument, "sill_stores: root differs between ranks"};
  if (most[0] == -most[1]) return {};
  return {Cause::bad_argument, "sill_stores: the number of directories differs between ranks"};
}

Result<Found> divide_by(const Group& group, const SplitRequest& request, std::optional<std::string>& path) {
  const auto begin = std::chrono::steady_clock::now();
  auto directory = directory_of(request, group.rank);
  if (directory.ok()) path = std::move(directory).value();
  const auto division = divide(group.comm, path, request.hints.method, directory.status());
  if (!division.ok()) return division.status();
  const Division& found = division.value();
  const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - begin;
  return Found{found.place.store, found.place.unproven, static_cast<std::int32_t>(request.hints.method),
               found.store_count, found.operations,     static_cast<std::uint64_t>(time.count())};
}

// What each rank is to tell, by rank: first whether of its node, then whether of its store in each directory. The
// lowest ranks do.
using Flags = std::vector<std::uint8_t>;

Flags choose_speakers(const Group& group, std::size_t count, const std::vector<std::uint64_t>& nodes,
                      const std::vector<Found>& all) {
  Flags flags;
  std::unordered_set<std::uint64_t> seen_nodes;
  std::vector<std::int32_t> seen_stores(count, 0);  // stores are numbered in the order of their lowest ranks
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(group.size); ++rank) {
    flags.push_back(seen_nodes.insert(nodes[rank]).second);
    for (std::size_t i = 0; i < count; ++i) {
      const bool first = all[rank * count + i].store == seen_stores[i];
      flags.push_back(first);
      seen_stores[i] += first;
    }
  }
  return flags;
}

template <class Record>
void append(std::string& text, const Record& record) {
  text.append(reinterpret_cast<const char*>(&record), sizeof record);
}

// This rank's part of the descriptions. What can't be described leaves an empty one, for others count on its length.
std::string speak(const Flags& flags, const std::vector<std::optional<std::string>>& paths, Status& status) {
  std::string part;
  if (flags[0]) append(part, fixed<std::tuple_size_v<NodeName>>(host_name()));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!flags[1 + i]) continue;
    Described described;
    const auto store = query_store(*paths[i]);
    if (store.ok()) described = {to_info(store.value()), fixed<1024>(*paths[i])};
    if (status.ok()) status = store.status();
    append(part, described);
  }
  return part;
}

// How long the parts of all ranks are.
std::vector<int> part_sizes(const Flags& all, std::size_t each) {
  std::vector<int> sizes(all.size() / each);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i]) sizes[i / each] += static_cast<int>(i % each == 0 ? sizeof(NodeName) : sizeof(Described));
  return sizes;
}

sill_split_stats summary(const std::vector<Found>& all, std::size_t count, std::size_t directory) {
  sill_split_stats stats{};
  stats.size = sizeof stats;
  stats.store = -1;
  for (std::size_t at = directory; at < all.size(); at += count) {
    const Found& found = all[at];
    stats.store_count = found.store_count;
    stats.method = std::max(stats.method, static_cast<int>(found.method));
    stats.unproven = stats.unproven || found.unproven;
    stats.creates += found.operations.creates;
    stats.looks += found.operations.looks;
    stats.removes += found.operations.removes;
    stats.time_ns = std::max(stats.time_ns, found.time_ns);
  }
  return stats;
}

// The root's sheet, put together from what all have told.
class Sheet {
 public:
  Sheet(const std::vector<std::uint64_t>& nodes, const std::vector<Found>& all, std::size_t count)
      : nodes_(nodes), all_(all), count_(count), first_of_(count) {}

  Survey fill(const Flags& flags, const std::vector<char>& parts) {
    for (std::size_t i = 0; i < count_; ++i) survey_.splits.push_back(summary(all_, count_, i));
    int store_count = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      first_of_[i] = static_cast<std::size_t>(store_count);
      store_count += survey_.splits[i].store_count;
    }
    survey_.stores.resize(static_cast<std::size_t>(store_count));
    const char* next = parts.data();
    for (std::size_t rank = 0; rank < nodes_.size(); ++rank) next = add_rank(rank, &flags[rank * (count_ + 1)], next);
    return std::move(survey_);
  }

 private:
  const char* add_rank(std::size_t rank, const std::uint8_t* flags, const char* next) {
    if (flags[0]) {
      node_index_.emplace(nodes_[rank], static_cast<int>(survey_.node_names.size()));
      survey_.node_names.emplace_back(next);
      next += sizeof(NodeName);
    }
    survey_.node_of.push_back(node_index_.at(nodes_[rank]));
    for (std::size_t i = 0; i < count_; ++i) {
      const Found& found = all_[rank * count_ + i];
      if (found.store < 0) continue;
      SharedStore& store = survey_.stores[first_of_[i] + static_cast<std::size_t>(found.store)];
      store.ranks.push_back(static_cast<int>(rank));
      store.unproven = store.unproven || found.unproven;
      if (flags[1 + i]) next = describe(store, static_cast<int>(i), next);
    }
    return next;
  }

  static const char* describe(SharedStore& store, int directory, const char* next) {
    Described described;
    std::memcpy(&described, next, sizeof described);
    store.info = described.info;
    store.path = described.path.data();
    store.directory = directory;
    return next + sizeof described;
  }

  const std::vector<std::uint64_t>& nodes_;
  const std::vector<Found>& all_;
  std::size_t count_;
  std::vector<std::size_t> first_of_;  // by directory, where its stores begin
  std::unordered_map<std::uint64_t, int> node_index_;
  Survey survey_;
};

}  // namespace

Result<Survey> survey(MPI_Comm comm, int root, const std::vector<SplitRequest>& directories, const Status& mine) {
  const Group group(comm, root);
  const std::size_t count = directories.size();
  Status status = group.agree(mine);
  if (status.ok()) status = agree_on_call(comm, count, root);
  std::vector<std::optional<std::string>> paths(count);
  std::vector<Found> found;
  for (std::size_t i = 0; status.ok() && i < count; ++i) {
    const auto one = divide_by(group, directories[i], paths[i]);
    status = one.status();
    if (one.ok()) found.push_back(one.value());
  }
  if (!status.ok()) return status;
  const auto all = group.gather(std::span<const Found>(found), root);
  if (!all.ok()) return all.status();
  const std::uint64_t node = node_number();
  const auto nodes = group.gather(std::span(&node, 1), root);
  if (!nodes.ok()) return nodes.status();
  const Flags speakers = group.is_root() ? choose_speakers(group, count, nodes.value(), all.value()) : Flags();
  const auto flags = group.scatter(std::span<const std::uint8_t>(speakers), count + 1, root);
  if (!flags.ok()) return flags.status();
  const std::string part = speak(flags.value(), paths, status);
  const auto parts = group.gather(std::span<const char>(part), part_sizes(speakers, count + 1), root);
  if (!parts.ok()) return parts.status();
  if (status = group.agree(status); !status.ok()) return status;
  return group.is_root() ? Sheet(nodes.value(), all.value(), count).fill(speakers, parts.value()) : Survey();
}

}  // namespace sill::topology
