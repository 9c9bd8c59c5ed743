// Where a window's segments lie.
#include "window/plan.hpp"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "storage/mapping.hpp"
#include "unit/support/plans.hpp"

namespace sill::window {
namespace {

using test::request_of;
using test::store;

constexpr std::uint64_t page = 4096;

Placement place_one(const Request& request) {
  return place(std::vector{request}, std::vector{store(1)}, page, false).front();
}

TEST(Place, AWindowInMemoryHasNoStorage) {
  const auto placements = place(std::vector{request_of(5000, 0.0)}, std::vector{StoreFacts()}, page, false);
  EXPECT_EQ(placements[0].size, 5000u);
  EXPECT_EQ(placements[0].leader, -1);
  EXPECT_EQ(placements[0].storage_length, 0u);
  EXPECT_FALSE(placements[0].in_place());
}

TEST(Place, AnUnalignedOffsetShiftsTheBase) {
  const Placement placement = place_one(request_of(1000, 1.0, 5000));
  EXPECT_EQ(placement.file_offset, 5000u);
  EXPECT_EQ(placement.storage_length, 1000u);
  EXPECT_EQ(placement.shift, 5000u % page);
  EXPECT_TRUE(placement.in_place());
}

// The border is that of a page, and the rounding gives storage more.
TEST(Place, LongStretchesAreCongruentInLargePages) {
  for (const std::uint64_t offset : {0ul, 100ul, 5000ul, (3ul << 20) + 8}) {
    for (const double share : {1.0, 0.5}) {
      const Placement placement =
          place_one(request_of((160ul << 20) + 12, share, offset / page * (share < 1 ? page : 1)));
      EXPECT_EQ(placement.align, storage::large_page);
      EXPECT_LT(placement.shift, storage::large_page);
      EXPECT_EQ((placement.shift + placement.storage_begin) % storage::large_page,
                placement.file_offset % storage::large_page)
          << offset;
    }
  }
  EXPECT_EQ(place_one(request_of(storage::long_mapping - 1)).align, page) << "a short one isn't worth the room";
}

TEST(Place, MemoryFirstHasItsBorderInFavourOfStorage) {
  for (const double share : {0.25, 0.5, 0.8}) {
    const Placement placement = place_one(request_of(100'000, share));
    EXPECT_EQ(placement.storage_begin + placement.storage_length, 100'000u);
    EXPECT_EQ(placement.storage_begin % page, 0u);
    EXPECT_GE(static_cast<double>(placement.storage_length), share * 100'000);
    EXPECT_LT(static_cast<double>(placement.storage_length), share * 100'000 + page);
    EXPECT_EQ(placement.file_offset, 0u);
    EXPECT_TRUE(placement.in_place());
  }
}

TEST(Place, StorageFirstHasItsBorderInFavourOfStorage) {
  for (const double share : {0.25, 0.5, 0.8}) {
    Request request = request_of(100'000, share, 100);
    request.order = Order::storage_first;
    const Placement placement = place_one(request);
    EXPECT_EQ(placement.storage_begin, 0u);
    EXPECT_EQ((placement.shift + placement.storage_length) % page, 0u);
    EXPECT_GE(static_cast<double>(placement.storage_length), share * 100'000);
    EXPECT_LT(static_cast<double>(placement.storage_length), share * 100'000 + page);
    EXPECT_TRUE(placement.in_place());
  }
}

// Memory before storage needs a page border in the file; without one the bytes are copied.
TEST(Place, MemoryFirstAtAnUnalignedOffsetIsStaged) {
  const Placement placement = place_one(request_of(100'000, 0.5, 100));
  EXPECT_FALSE(placement.in_place());
  EXPECT_EQ(placement.file_offset, 100u);
}

TEST(Place, TheStagedEngineMapsNothing) {
  Request request = request_of(100'000);
  request.engine = EngineKind::staged;
  const Placement placement = place_one(request);
  EXPECT_FALSE(placement.in_place());
  EXPECT_EQ(placement.storage_length, 100'000u);
}

TEST(Place, RanksOfOneFileLieOneAfterAnother) {
  const std::vector requests = {request_of(1000, 1.0, 50), request_of(0, 1.0, 50), request_of(4, 1.0, 50),
                                request_of(5000, 1.0, 50)};
  const std::vector opened = {store(7), StoreFacts(), store(7), store(7)};
  const auto placements = place(requests, opened, page, false);
  EXPECT_EQ(placements[0].file_offset, 50u);
  EXPECT_EQ(placements[2].file_offset, 1050u);
  EXPECT_EQ(placements[3].file_offset, 1054u);
  EXPECT_EQ(placements[1].leader, -1);
  for (const std::size_t rank : {0u, 2u, 3u}) EXPECT_EQ(placements[rank].leader, 0) << rank;
}

TEST(Place, RanksThatNameAnOffsetOfTheirOwnAreApart) {
  const std::vector requests = {request_of(1000, 1.0, 0), request_of(1000, 1.0, 8192), request_of(10, 1.0, 0)};
  const auto placements = place(requests, std::vector(3, store(7)), page, false);
  EXPECT_EQ(placements[1].file_offset, 8192u);
  EXPECT_EQ(placements[2].file_offset, 1000u);
}

TEST(Place, OverlapPutsRanksOnTopOfEachOther) {
  std::vector requests(3, request_of(1000, 1.0, 50));
  for (Request& request : requests) request.layout = Layout::overlap;
  for (const Placement& placement : place(requests, std::vector(3, store(7)), page, false)) {
    EXPECT_EQ(placement.file_offset, 50u);
    EXPECT_EQ(placement.leader, 0);
  }
}

TEST(Place, ALocalFileOfAnotherMachineIsAnotherFile) {
  const std::vector requests(4, request_of(1000));
  const auto local = place(requests, std::vector{store(7, 1), store(7, 1), store(7, 2), store(7, 2)}, page, false);
  EXPECT_EQ(local[1].leader, 0);
  EXPECT_EQ(local[2].leader, 2);
  EXPECT_EQ(local[3].leader, 2);
  EXPECT_EQ(local[3].file_offset, 1000u);
  const auto shared = place(requests, std::vector(4, store(7, 0)), page, false);
  EXPECT_EQ(shared[3].leader, 0);
  EXPECT_EQ(shared[3].file_offset, 3000u);
}

TEST(PlaceContiguous, OneFileForAllIsMappedWhateverTheSizes) {
  const std::vector requests = {request_of(1000, 1.0, 100), request_of(4, 1.0, 100), request_of(9000, 1.0, 100)};
  for (const Placement& placement : place(requests, std::vector(3, store(7)), page, true)) {
    EXPECT_TRUE(placement.in_place());
    EXPECT_EQ(placement.shift, 100u);
  }
}

TEST(PlaceContiguous, AFileForEachIsMappedIfSegmentsAreWholePages) {
  const std::vector opened = {store(1), store(2), store(3)};
  for (const Placement& placement : place(std::vector(3, request_of(2 * page)), opened, page, true)) {
    EXPECT_TRUE(placement.in_place());
    EXPECT_EQ(placement.shift, 0u);
  }
  for (const Placement& placement : place(std::vector(3, request_of(1000)), opened, page, true)) {
    EXPECT_FALSE(placement.in_place()) << "two files would share a page";
  }
}

// Random windows: whatever was asked for, no two things share what can't be shared.
class RandomPlans : public testing::TestWithParam<bool> {
 protected:
  std::uint64_t below(std::uint64_t end) { return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random_); }

  std::uint64_t size() { return below(3) == 0 ? below(4) * page : below(40'000); }

  void make() {
    const std::size_t ranks = below(5) + 1;
    const auto layout = static_cast<Layout>(below(2));
    const auto order = static_cast<Order>(below(2));
    const std::uint64_t files = below(3) + 1;
    const std::uint64_t common_offset = below(2) * below(10'000);
    requests_.clear();
    opened_.clear();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const double shares[] = {0.0, 0.25, 0.5, 1.0, 1.0, 1.0, static_cast<double>(below(1001)) / 1000};
      Request request = request_of(size(), shares[below(7)], common_offset);
      request.layout = layout;
      request.order = order;
      requests_.push_back(request);
      opened_.push_back(needs_store(request) ? store(below(files)) : StoreFacts());
    }
  }

  std::mt19937 random_{7};
  std::vector<Request> requests_;
  std::vector<StoreFacts> opened_;
};

// The storage part is the share asked for, up to a page, at one end of the segment.
void expect_share(const Request& request, const Placement& placement) {
  const double wanted = request.share * static_cast<double>(request.size);
  const auto length = static_cast<double>(placement.storage_length);
  EXPECT_GE(length + 1, wanted);
  EXPECT_LE(length, wanted + static_cast<double>(page));
  EXPECT_LE(placement.storage_begin + placement.storage_length, request.size);
  if (request.order == Order::storage_first) {
    EXPECT_EQ(placement.storage_begin, 0u);
  }
  if (request.order == Order::memory_first && placement.storage_length > 0) {
    EXPECT_EQ(placement.storage_begin + placement.storage_length, request.size);
  }
}

// Byte ranges in a file, of ranks in a row, never overlap.
void expect_disjoint(const std::vector<Placement>& placements) {
  std::map<int, std::vector<std::pair<std::uint64_t, std::uint64_t>>> files;
  for (const Placement& placement : placements) {
    if (placement.storage_length == 0) continue;
    files[placement.leader].emplace_back(placement.file_offset, placement.file_offset + placement.storage_length);
  }
  for (auto& [leader, ranges] : files) {
    std::ranges::sort(ranges);
    for (std::size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].second, ranges[i].first);
  }
}

// What each page of the address space shows; a page can show one page of one file, or memory.
class AddressSpace {
 public:
  void add_file(std::uint64_t address, std::uint64_t length, int leader, std::uint64_t file_offset) {
    EXPECT_EQ(address % page, file_offset % page);
    for (std::uint64_t at = address / page; length > 0 && at <= (address + length - 1) / page; ++at) {
      const std::pair shown(leader, file_offset / page + (at - address / page));
      EXPECT_EQ(pages_.emplace(at, shown).first->second, shown) << "two files on page " << at;
    }
  }
  void add_memory(std::uint64_t address, std::uint64_t length) {
    for (std::uint64_t at = address / page; length > 0 && at <= (address + length - 1) / page; ++at) {
      const std::pair memory(-1, std::uint64_t{0});
      EXPECT_EQ(pages_.emplace(at, memory).first->second, memory) << "memory and a file on page " << at;
    }
  }
  // The segment's parts at their addresses.
  void add(std::uint64_t base, const Placement& placement) {
    const std::uint64_t storage = placement.in_place() ? placement.storage_length : 0;
    const std::uint64_t end = placement.storage_begin + storage;
    if (storage > 0) add_file(base + placement.storage_begin, storage, placement.leader, placement.file_offset);
    add_memory(base, storage > 0 ? placement.storage_begin : placement.size);
    if (storage > 0) add_memory(base + end, placement.size - end);
  }

 private:
  std::map<std::uint64_t, std::pair<int, std::uint64_t>> pages_;
};

TEST_P(RandomPlans, KeepTheirPromises) {
  int mapped = 0;
  for (int round = 0; round < 20'000 && !HasFailure(); ++round) {
    make();
    const auto placements = place(requests_, opened_, page, GetParam());
    ASSERT_EQ(placements.size(), requests_.size());
    AddressSpace together;
    std::uint64_t base = placements[0].shift;
    for (std::size_t rank = 0; rank < placements.size(); ++rank) {
      const Placement& placement = placements[rank];
      EXPECT_EQ(placement.size, requests_[rank].size);
      EXPECT_LT(placement.shift, page);
      if (opened_[rank].open) expect_share(requests_[rank], placement);
      mapped += placement.in_place() ? 1 : 0;
      AddressSpace alone;
      if (GetParam()) {
        together.add(base, placement);
        base += placement.size;
      } else {
        alone.add(placement.shift, placement);
      }
    }
    if (requests_[0].layout == Layout::consecutive) expect_disjoint(placements);
    if (HasFailure()) ADD_FAILURE() << "round " << round;
  }
  EXPECT_GT(mapped, 1000) << "the rounds must not all be staged";
}

INSTANTIATE_TEST_SUITE_P(Apart, RandomPlans, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Contiguous, RandomPlans, testing::Values(true));

// Placements of ranks on store 0, each [offset, offset + length).
Placement placed(std::uint64_t offset, std::uint64_t length, bool staged, int leader = 0) {
  Placement placement;
  placement.size = placement.storage_length = length;
  placement.file_offset = offset;
  placement.engine = staged ? EngineKind::staged : EngineKind::mapped;
  placement.leader = leader;
  return placement;
}

TEST(SeenFromSeveralNodes, AreStoresThatMachinesMayShare) {
  const std::vector opened = {store(1, 0), store(2, 0), store(1, 0), StoreFacts{},
                              store(3, 7), store(3, 7), store(2, 0)};
  const std::vector node_of = {0, 0, 2, 2, 0, 2, 0};
  const std::vector expected = {true, false, true, false, false, false, false};
  EXPECT_EQ(seen_from_several_nodes(opened, node_of), expected);
}

TEST(Place, StoresThatWereToldApartHaveLeadersOfTheirOwn) {
  std::vector opened(4, store(1, 0));
  opened[2].proven = opened[3].proven = 1;
  const auto placements = place(std::vector(4, request_of(page)), opened, page, false);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(placements[rank].leader, rank < 2 ? 0 : 2);
    EXPECT_EQ(placements[rank].file_offset, rank % 2 * page);
  }
}

TEST(RangesOf, AreAsFewAsCanBe) {
  const std::vector placements = {placed(100, 50, false),    placed(0, 100, false), placed(300, 10, true),
                                  placed(7, 7, false, 1),    placed(120, 60, true), placed(500, 0, false),
                                  placed(1000, 10, false, 3)};
  const auto ranges = ranges_of(0, placements);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].offset, 0u);
  EXPECT_EQ(ranges[0].length, 180u) << "side by side in another order, and on top of each other";
  EXPECT_EQ(ranges[1].offset, 300u);
  EXPECT_EQ(ranges[1].length, 10u);
  EXPECT_TRUE(ranges_of(2, placements).empty());
}

// Processor seconds: other work on the machine doesn't count.
double seconds_used() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// Looking at every rank for every rank would be 5 thousand million comparisons.
TEST(Plan, OfAHundredThousandRanksTakesNoSecond) {
#ifdef __SANITIZE_ADDRESS__
  constexpr double most = 10;
#else
  constexpr double most = 1;
#endif
  constexpr std::size_t ranks = 100'000;
  for (const std::size_t ranks_of_a_store : {std::size_t{1}, std::size_t{64}, ranks}) {
    std::vector<Request> requests(ranks, request_of(1 << 20, 0.5));
    std::vector<StoreFacts> opened;
    for (std::size_t rank = 0; rank < ranks; ++rank) opened.push_back(store(rank / ranks_of_a_store));
    const double begin = seconds_used();
    ASSERT_TRUE(check_agreement(requests).ok());
    resolve_automatic(requests);
    const auto placements = place(requests, opened, page, false);
    ASSERT_TRUE(check_overlap(placements).ok());
    const auto ranges = ranges_of(0, placements);
    EXPECT_LT(seconds_used() - begin, most) << ranks_of_a_store << " ranks on each store";
    EXPECT_EQ(placements.back().leader, static_cast<int>((ranks - 1) / ranks_of_a_store * ranks_of_a_store));
    ASSERT_EQ(ranges.size(), 1u);
    EXPECT_EQ(ranges[0].length, ranks_of_a_store << 19);
  }
}

TEST(CheckOverlap, RefusesCopiesOfOnePlace) {
  const auto refused = [](std::vector<Placement> placements) { return !check_overlap(placements).ok(); };
  EXPECT_TRUE(refused({placed(0, 100, true), placed(0, 100, true)}));
  EXPECT_TRUE(refused({placed(0, 100, false), placed(50, 100, true)}));
  EXPECT_TRUE(refused({placed(0, 1000, true), placed(10, 10, false), placed(500, 10, false)}));
  EXPECT_FALSE(refused({placed(0, 100, false), placed(0, 100, false)})) << "one mapping for all";
  EXPECT_FALSE(refused({placed(100, 100, true), placed(0, 100, true)})) << "side by side";
  EXPECT_FALSE(refused({placed(0, 100, true), placed(0, 100, true, 1)})) << "on two stores";
  EXPECT_FALSE(refused({placed(0, 100, true), placed(0, 0, true)})) << "nothing in common with an empty one";
}

}  // namespace
}  // namespace sill::window
