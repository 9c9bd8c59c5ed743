// Grouping against a simulated cluster, whose stores are known: what it concludes, and what it asks of the stores.
#include "topology/grouping.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

namespace sill::topology {
namespace {

// One rank's directory: what it tells of it, and what is true.
struct Rank {
  Identity identity;
  int store = -1;
  bool writable = true;  // whatever its identity says
  bool searchable = true;
  bool deleted = false;
};

struct Spent {
  int creates = 0;
  int attempts = 0;               // creates that found a token there, and those that were refused
  std::map<int, int> operations;  // of each rank
};

struct Solution {
  std::vector<Place> places;
  Spent spent;
  int rounds = 0;
};

class Cluster {
 public:
  explicit Cluster(std::vector<Rank> ranks) : ranks_(std::move(ranks)) {}

  Solution solve(SplitMethod method) {
    std::vector<Identity> identities;
    for (const Rank& rank : ranks_) identities.push_back(rank.identity);
    Grouping grouping(method, identities);
    Solution solution;
    while (grouping.next_round()) {
      tokens_.clear();  // those of earlier rounds have other names
      ++solution.rounds;
      std::vector<Answer> answers(ranks_.size());
      for (const bool before : {true, false})
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
          work(static_cast<int>(rank), grouping.tasks()[rank], before, answers[rank], solution.spent);
      grouping.take(answers);
      if (solution.rounds > 5) break;
    }
    solution.places = grouping.places();
    return solution;
  }

 private:
  void work(int number, Task task, bool before, Answer& answer, Spent& spent) {
    const Rank& rank = ranks_[number];
    if (task == Task::none) return;
    if (before) {
      ++spent.operations[number];
      if (task != Task::look) prepare(number, task, answer, spent);
    } else if (answer.outcome != Outcome::made && answer.outcome != Outcome::gone) {
      answer = seen(rank, answer.outcome == Outcome::refused ? Outcome::refused : Outcome::nothing);
    }
  }

  void prepare(int number, Task task, Answer& answer, Spent& spent) {
    const Rank& rank = ranks_[number];
    auto& there = tokens_[rank.store];
    const bool taken = task == Task::create && !there.empty();
    if (rank.deleted) {
      answer.outcome = Outcome::gone;
    } else if (taken || !rank.writable || rank.identity.read_only || !rank.searchable) {
      ++spent.attempts;
      answer.outcome = taken ? Outcome::idle : Outcome::refused;
    } else {
      there.insert(number);
      ++spent.creates;
      if (task == Task::create) answer = {Outcome::made, number};
    }
  }

  Answer seen(const Rank& rank, Outcome otherwise) const {
    if (!rank.searchable) return {Outcome::hidden, -1};
    const auto there = tokens_.find(rank.store);
    if (there == tokens_.end() || there->second.empty()) return {otherwise, -1};
    return {Outcome::found, *there->second.begin()};
  }

  std::vector<Rank> ranks_;
  std::map<int, std::set<int>> tokens_;  // by store: the ranks whose traces are there
};

// Stores by number in the order of their lowest ranks, as Place has them.
std::vector<int> renumbered(const std::vector<int>& stores) {
  std::map<int, int> numbers;
  std::vector<int> result;
  for (const int store : stores)
    result.push_back(store < 0 ? -1 : numbers.try_emplace(store, static_cast<int>(numbers.size())).first->second);
  return result;
}

std::vector<int> truth(const std::vector<Rank>& ranks) {
  std::vector<int> stores;
  for (const Rank& rank : ranks) stores.push_back(rank.store);
  return renumbered(stores);
}

std::vector<int> stores_of(const std::vector<Place>& places) {
  std::vector<int> stores;
  for (const Place& place : places) stores.push_back(place.store);
  return stores;
}

bool any_unproven(const std::vector<Place>& places) {
  return std::ranges::any_of(places, [](const Place& place) { return place.unproven != 0; });
}

Rank rank_on(std::uint64_t machine, Kind kind, std::uint64_t device, int store, std::uint64_t fingerprint) {
  Rank rank;
  rank.identity = {.presence = Presence::present,
                   .kind = kind,
                   .likely_writer = 1,
                   .machine = machine,
                   .node = machine,
                   .device = device,
                   .inode = 2,
                   .fingerprint = fingerprint};
  rank.store = store;
  return rank;
}

// `nodes` machines with `per_node` ranks each; `make(node)` is a rank of that node.
template <class Make>
std::vector<Rank> on_nodes(int nodes, int per_node, Make make) {
  std::vector<Rank> ranks;
  for (int node = 0; node < nodes; ++node) ranks.insert(ranks.end(), static_cast<std::size_t>(per_node), make(node));
  return ranks;
}

Rank network(int node, int store, std::uint64_t fingerprint) {
  return rank_on(static_cast<std::uint64_t>(node) + 1, Kind::network, 40, store, fingerprint);
}
Rank local(int node, int store) {
  return rank_on(static_cast<std::uint64_t>(node) + 1, Kind::plain, 8, store, static_cast<std::uint64_t>(1000 + node));
}

// 64 nodes of 32 ranks, and twice as many: what the methods ask of the file system.
TEST(Grouping, OfOneGlobalStoreNeedsOneTokenAndALookForEachNode) {
  for (const int nodes : {64, 128}) {
    const auto ranks = on_nodes(nodes, 32, [](int node) { return network(node, 0, 7); });
    const Solution solution = Cluster(ranks).solve(SplitMethod::automatic);
    EXPECT_EQ(stores_of(solution.places), truth(ranks));
    EXPECT_FALSE(any_unproven(solution.places));
    EXPECT_EQ(solution.spent.creates, 1);
    EXPECT_EQ(solution.spent.attempts, 0);
    EXPECT_EQ(static_cast<int>(solution.spent.operations.size()), nodes) << "ranks that had something to do";
    EXPECT_EQ(solution.rounds, 1);
  }
}

TEST(Grouping, OfNodesOwnDisksNeedsNothing) {
  const auto ranks = on_nodes(64, 32, [](int node) { return local(node, node); });
  const Solution solution = Cluster(ranks).solve(SplitMethod::automatic);
  EXPECT_EQ(stores_of(solution.places), truth(ranks));
  EXPECT_TRUE(solution.spent.operations.empty());
  EXPECT_FALSE(any_unproven(solution.places));
}

TEST(Grouping, OfDrawersNeedsATokenForEach) {
  const auto ranks = on_nodes(64, 32, [](int node) { return network(node, node / 8, 100 + node / 8); });
  const Solution solution = Cluster(ranks).solve(SplitMethod::automatic);
  EXPECT_EQ(stores_of(solution.places), truth(ranks));
  EXPECT_EQ(solution.spent.creates, 8);
  EXPECT_EQ(solution.spent.operations.size(), 64u);
}

// One name for different disks: the first round shows that the guess was wrong, the second settles it.
TEST(Grouping, OfStoresThatLookAlikeNeedsTwoRounds) {
  const auto ranks = on_nodes(64, 4, [](int node) { return network(node, node / 2, 7); });
  const Solution solution = Cluster(ranks).solve(SplitMethod::automatic);
  EXPECT_EQ(stores_of(solution.places), truth(ranks));
  EXPECT_EQ(solution.spent.creates, 32);
  EXPECT_EQ(solution.rounds, 2);
  for (const auto& [rank, operations] : solution.spent.operations) EXPECT_LE(operations, 2) << rank;
}

// Different names for one store: a second maker finds the first one's token.
TEST(Grouping, OfOneStoreUnderManyNamesMakesOneToken) {
  const auto ranks = on_nodes(16, 2, [](int node) { return network(node, 0, static_cast<std::uint64_t>(node)); });
  const Solution solution = Cluster(ranks).solve(SplitMethod::automatic);
  EXPECT_EQ(stores_of(solution.places), truth(ranks));
  EXPECT_EQ(solution.spent.creates, 1);
  EXPECT_EQ(solution.spent.operations.size(), 16u);
}

TEST(Grouping, FindsTheServersOwnDirectoryAmongItsClients) {
  for (const bool clients_write : {true, false}) {
    auto ranks = on_nodes(4, 2, [&](int node) {
      Rank rank = node == 2 ? local(node, 0) : network(node, 0, 7);
      rank.identity.read_only = node != 2 && !clients_write;
      return rank;
    });
    const auto other = on_nodes(6, 1, [](int node) { return local(node, node); });
    for (int node = 4; node < 6; ++node) ranks.push_back(other[static_cast<std::size_t>(node)]);
    const Solution solution = Cluster(ranks).solve(SplitMethod::automatic);
    EXPECT_EQ(stores_of(solution.places), truth(ranks));
    EXPECT_FALSE(any_unproven(solution.places));
    EXPECT_LE(solution.spent.creates, 3);
  }
}

TEST(Grouping, OfAReadOnlyStoreRestsOnItsIdentityAndSaysSo) {
  auto ranks = on_nodes(8, 2, [](int node) {
    Rank rank = network(node, node / 4, 100 + node / 4);
    rank.identity.read_only = 1;
    return rank;
  });
  Solution solution = Cluster(ranks).solve(SplitMethod::automatic);
  EXPECT_EQ(stores_of(solution.places), truth(ranks));
  EXPECT_TRUE(std::ranges::all_of(solution.places, [](const Place& place) { return place.unproven == 1; }));
  EXPECT_EQ(solution.spent.creates, 0);
  // One node that may write proves its store for all.
  ranks[3].identity.read_only = ranks[2].identity.read_only = 0;
  solution = Cluster(ranks).solve(SplitMethod::automatic);
  EXPECT_EQ(stores_of(solution.places), truth(ranks));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) EXPECT_EQ(solution.places[rank].unproven, rank >= 8) << rank;
}

TEST(Grouping, OfAFullStoreRestsOnItsIdentity) {
  for (const SplitMethod method : {SplitMethod::automatic, SplitMethod::exhaustive, SplitMethod::heuristic}) {
    const auto ranks = on_nodes(4, 2, [](int node) {
      Rank rank = network(node, 0, 7);
      rank.writable = false;
      return rank;
    });
    const Solution solution = Cluster(ranks).solve(method);
    EXPECT_EQ(stores_of(solution.places), truth(ranks));
    EXPECT_TRUE(any_unproven(solution.places));
    EXPECT_EQ(solution.spent.creates, 0);
  }
}

TEST(Grouping, LetsARankActThatMayWrite) {
  auto ranks = on_nodes(2, 3, [](int node) { return network(node, 0, 7); });
  for (const std::size_t rank : {0, 1, 3, 4}) {
    ranks[rank].identity.likely_writer = 0;
    ranks[rank].writable = ranks[rank].searchable = false;
  }
  const Solution solution = Cluster(ranks).solve(SplitMethod::automatic);
  EXPECT_EQ(stores_of(solution.places), truth(ranks));
  EXPECT_FALSE(any_unproven(solution.places));
  EXPECT_EQ(solution.spent.attempts, 0);
}

TEST(Grouping, PutsARankThatMayNotLookWhereItsLikeAre) {
  auto ranks = on_nodes(3, 1, [](int node) { return network(node, 0, 7); });
  ranks[1].searchable = false;
  const Solution solution = Cluster(ranks).solve(SplitMethod::automatic);
  EXPECT_EQ(stores_of(solution.places), truth(ranks));
  EXPECT_EQ(solution.places[1].unproven, 1);
  EXPECT_EQ(solution.places[2].unproven, 0);
}

TEST(Grouping, LeavesOutWhoseDirectoryIsGone) {
  auto ranks = on_nodes(4, 1, [](int node) { return network(node, node % 2, 7 + node % 2); });
  for (const std::size_t rank : {0, 2}) ranks[rank].deleted = true;
  ranks[3].identity.presence = Presence::absent;
  for (const SplitMethod method : {SplitMethod::automatic, SplitMethod::exhaustive}) {
    const Solution solution = Cluster(ranks).solve(method);
    EXPECT_EQ(stores_of(solution.places)[1], 0);
    EXPECT_EQ(stores_of(solution.places)[3], -1);
  }
}

TEST(Grouping, OfNobodyIsNothing) {
  for (const SplitMethod method : {SplitMethod::automatic, SplitMethod::exhaustive, SplitMethod::heuristic}) {
    const Solution solution = Cluster(std::vector<Rank>(3)).solve(method);
    EXPECT_EQ(stores_of(solution.places), std::vector({-1, -1, -1}));
    EXPECT_EQ(solution.rounds, 0);
  }
}

TEST(Grouping, ByTheHeuristicKnowsEverybodyOrTheNode) {
  auto ranks = on_nodes(4, 2, [](int node) { return network(node, 0, 7); });
  EXPECT_EQ(stores_of(Cluster(ranks).solve(SplitMethod::heuristic).places), truth(ranks));
  ranks = on_nodes(4, 2, [](int node) { return network(node, node / 2, 7); });
  const Solution fooled = Cluster(ranks).solve(SplitMethod::heuristic);
  // The challenger is on the second node, which shares the first one's store.
  EXPECT_EQ(stores_of(fooled.places), std::vector(8, 0));
  EXPECT_EQ(fooled.spent.creates, 1);
  EXPECT_EQ(fooled.spent.operations.size(), 2u);
  ranks = on_nodes(4, 2, [](int node) { return network(node, node % 2, 7); });
  EXPECT_EQ(stores_of(Cluster(ranks).solve(SplitMethod::heuristic).places), std::vector({0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(Grouping, ByFingerprintAsksNothing) {
  const auto ranks = on_nodes(4, 2, [](int node) { return network(node, node / 2, 100 + node / 2); });
  const Solution solution = Cluster(ranks).solve(SplitMethod::fingerprint);
  EXPECT_EQ(stores_of(solution.places), truth(ranks));
  EXPECT_EQ(solution.rounds, 0);
  EXPECT_TRUE(any_unproven(solution.places));
}

TEST(Grouping, ByExhaustionMakesAFileForEachRank) {
  const auto ranks = on_nodes(4, 3, [](int node) { return network(node, node / 2, 7); });
  const Solution solution = Cluster(ranks).solve(SplitMethod::exhaustive);
  EXPECT_EQ(stores_of(solution.places), truth(ranks));
  EXPECT_EQ(solution.spent.creates, 12);
}

// A cluster of random stores, mounts and names. Fingerprints of what isn't plain may lie in both directions.
std::vector<Rank> random_cluster(std::mt19937& random) {
  const auto below = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  const int machines = 1 + below(6);
  const int stores = 1 + below(6);
  const int names = 1 + below(4);
  std::vector<int> home(static_cast<std::size_t>(stores));  // the machine that sees the store as its own, or none
  for (int& machine : home) machine = below(machines + 2);
  // A mount is a store as one machine sees it: kind, device and name are the mount's.
  std::map<std::tuple<int, int, int>, Rank> mounts;
  std::vector<Rank> ranks;
  for (int count = 1 + below(16); count > 0; --count) {
    const int machine = below(machines);
    const int store = below(stores);
    const int way = below(2);
    const auto [mount, fresh] = mounts.try_emplace({machine, store, way});
    if (fresh) {
      const bool plain = home[static_cast<std::size_t>(store)] == machine && way == 0;
      mount->second = rank_on(static_cast<std::uint64_t>(machine) + 1, plain ? Kind::plain : Kind::network,
                              static_cast<std::uint64_t>(store * 2 + way), store,
                              plain ? 1000 + mounts.size() : static_cast<std::uint64_t>(below(names)));
      mount->second.identity.read_only = below(4) == 0;
      mount->second.writable = below(8) != 0;
    }
    ranks.push_back(below(10) == 0 ? Rank{} : mount->second);
  }
  return ranks;
}

TEST(Grouping, IsExactOnRandomClustersAndNeverMakesMoreTokensThanStores) {
  int proven = 0;
  for (unsigned seed = 0; seed < 8000; ++seed) {
    std::mt19937 random(seed);
    const auto ranks = random_cluster(random);
    const Solution solution = Cluster(ranks).solve(SplitMethod::automatic);
    std::set<int> all;
    std::set<int> helpless;  // stores that nobody can write to
    for (const Rank& rank : ranks)
      if (rank.store >= 0) all.insert(rank.store);
    for (const int store : all)
      if (std::ranges::none_of(ranks, [&](const Rank& rank) {
            return rank.store == store && rank.writable && !rank.identity.read_only;
          }))
        helpless.insert(store);
    ASSERT_LE(solution.spent.creates, static_cast<int>(all.size())) << "seed " << seed;
    ASSERT_LE(solution.rounds, 4) << "seed " << seed;
    if (helpless.empty()) {
      ++proven;
      ASSERT_EQ(stores_of(solution.places), truth(ranks)) << "seed " << seed;
      ASSERT_FALSE(any_unproven(solution.places)) << "seed " << seed;
      ASSERT_EQ(stores_of(Cluster(ranks).solve(SplitMethod::exhaustive).places), truth(ranks)) << "seed " << seed;
    }
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (solution.places[rank].unproven == 0) continue;
      ASSERT_TRUE(helpless.contains(ranks[rank].store)) << "seed " << seed << ": " << rank << " could be proven";
    }
  }
  EXPECT_GT(proven, 2000);
}

}  // namespace
}  // namespace sill::topology
