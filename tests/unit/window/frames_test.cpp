// What the MPI library is asked for, and where segments begin in what it gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "storage/mapping.hpp"
#include "unit/support/plans.hpp"
#include "window/paths.hpp"

namespace sill::window {
namespace {

using mpi::Quirks;
using storage::large_page;
using storage::round_down;
using storage::round_up;
using test::mpich_4;
using test::mpich_5;
using test::open_mpi_5;
using test::request_of;
using test::store;
using test::unknown;

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t long_one = storage::long_mapping;

// All ranks on one file for each, or all on the same.
std::vector<Placement> placed(const std::vector<Request>& requests, bool one_file = false) {
  std::vector<StoreFacts> opened;
  for (std::size_t rank = 0; rank < requests.size(); ++rank)
    opened.push_back(needs_store(requests[rank]) ? store(one_file ? 0 : rank) : StoreFacts());
  return place(requests, opened, page, requests[0].contiguous);
}

std::vector<Request> contiguous(std::vector<Request> requests) {
  for (Request& request : requests) request.contiguous = true;
  return requests;
}

TEST(FirstFrame, HasPaddingWhereAskingAgainIsInVain) {
  const auto padded = [](const std::vector<Request>& requests, const Quirks& library) {
    return first_frame(requests, placed(requests), library, page).padded;
  };
  const std::vector few(3, request_of(5000));
  const std::vector many(3, request_of(long_one));
  for (const Quirks& library : {mpich_5, open_mpi_5, unknown}) {
    EXPECT_FALSE(padded(few, library));
    EXPECT_FALSE(padded(many, library));
    EXPECT_FALSE(padded({request_of(long_one, 1.0, large_page + page), few[0]}, library));
    EXPECT_TRUE(padded({few[0]}, library)) << "a single rank's memory may come from anywhere";
    EXPECT_FALSE(padded({request_of(5000, 1.0, 100), few[0]}, library));
    EXPECT_TRUE(padded({request_of(long_one, 1.0, 100), few[0]}, library)) << "translated anyhow";
  }
  EXPECT_FALSE(padded(few, mpich_4));
  EXPECT_TRUE(padded(many, mpich_4)) << "addresses drawn by lot";
  auto seen = few;
  seen[2].bases_unaligned = true;
  EXPECT_TRUE(padded(seen, mpich_5)) << "one rank has seen a base inside a page";
}

// An MPI library that begins each segment, or the one that all are, where it likes, in each process elsewhere. Only
// within a page, processes agree.
class Given {
 public:
  Given(const std::vector<Placement>& placements, const Frame& frame) : placements_(placements), frame_(frame) {
    for (std::size_t rank = 0; rank < placements.size(); ++rank) sizes_.push_back(framed_size(placements, rank, frame));
  }
  // Where it begins rank `of` as process `seen_by` sees it; `choose(of, seen_by)` gives an address. Then all agree.
  template <class Choose>
  void begin(Choose choose) {
    const std::size_t ranks = placements_.size();
    bases_.assign(ranks, std::vector<std::uint64_t>(ranks));
    std::vector<Shift> found;
    for (std::size_t process = 0; process < ranks; ++process) {
      std::uint64_t address = choose(0, process);
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        bases_[process][rank] = frame_.contiguous ? address : choose(rank, process);
        address += sizes_[rank];
      }
      found.push_back(find_shift(placements_, process, base_seen(process), frame_));
    }
    found_ = found;
    shifts_ = common_shifts(found, frame_);
  }
  Fit fit() const { return fit_of(found_, frame_); }
  std::uint64_t excess(std::size_t rank) const { return found_[rank].excess; }
  // Where the user's segment begins.
  std::uint64_t user(std::size_t rank, std::size_t process) const { return bases_[process][rank] + shifts_[rank]; }
  std::uint64_t user(std::size_t rank) const { return user(rank, rank); }

  // What must be true before pages are put over segments.
  void expect_right() const {
    for (std::size_t process = 0; process < placements_.size(); ++process)
      for (std::size_t rank = 0; rank < placements_.size(); ++rank) expect_right(rank, process);
    for (const std::uint64_t shift : shifts_) EXPECT_TRUE(shift == 0 || translates(placements_, frame_));
  }

 private:
  // The address that find_shift() wants.
  std::uint64_t base_seen(std::size_t rank) const {
    const auto first = std::ranges::find_if(placements_, [](const Placement& placement) { return placement.size > 0; });
    if (!frame_.contiguous) return placements_[rank].size > 0 ? bases_[rank][rank] : 0;
    return first == placements_.end() ? 0 : bases_[rank][static_cast<std::size_t>(first - placements_.begin())];
  }
  void expect_right(std::size_t rank, std::size_t process) const {
    const Placement& placement = placements_[rank];
    const std::uint64_t begin = bases_[process][frame_.contiguous ? 0 : rank];
    const std::uint64_t end = frame_.contiguous ? bases_[process].back() + sizes_.back() : begin + sizes_[rank];
    const std::uint64_t address = user(rank, process);
    EXPECT_GE(address, begin);
    EXPECT_LE(address + placement.size, end);
    if (frame_.contiguous && rank > 0) {
      EXPECT_EQ(address, user(rank - 1, process) + placements_[rank - 1].size) << "a gap";
    }
    if (!placement.in_place()) return;
    const std::uint64_t storage = address + placement.storage_begin;
    EXPECT_GE(round_down(storage, page), begin) << "pages would lie over what isn't the window's";
    EXPECT_LE(round_up(storage + placement.storage_length, page), end)
        << "pages would lie over what isn't the window's";
    EXPECT_EQ(storage % page, placement.file_offset % page);
    const std::uint64_t model = user(frame_.contiguous ? 0 : rank, process);
    if (process == (frame_.contiguous ? 0 : rank)) {
      EXPECT_EQ((model - placement.shift) % placement.align, 0u) << "large pages";
    }
  }

  const std::vector<Placement>& placements_;
  Frame frame_;
  std::vector<std::uint64_t> sizes_;
  std::vector<std::vector<std::uint64_t>> bases_;  // [process][rank]
  std::vector<Shift> found_;
  std::vector<std::uint64_t> shifts_;
};

constexpr std::uint64_t somewhere = 1ull << 40;  // a multiple of all that matters

TEST(Frame, AsksForNoMoreThanNeeded) {
  const auto asked = [](const std::vector<Request>& requests, bool one_file) {
    const auto placements = placed(requests, one_file);
    const Frame frame{.contiguous = requests[0].contiguous, .page = page};
    std::vector<std::uint64_t> sizes;
    for (std::size_t rank = 0; rank < requests.size(); ++rank) sizes.push_back(framed_size(placements, rank, frame));
    return sizes;
  };
  const std::vector requests = {request_of(5000), request_of(5000, 0.0), request_of(0), request_of(5000, 1.0, page - 1),
                                request_of(long_one, 1.0, page)};
  EXPECT_EQ(asked(requests, false), (std::vector<std::uint64_t>{2 * page, 5000, 0, 3 * page, long_one}));
  const auto together = asked(contiguous({request_of(5000), request_of(0), request_of(100)}), true);
  EXPECT_EQ(together[0], 5000u) << "no gap behind it";
  EXPECT_EQ(together[1], 0u);
  EXPECT_GE(together[2], 2 * page - 5000);
  EXPECT_LE(together[2], 100 + 2 * page);
  EXPECT_EQ(asked(contiguous({request_of(5000), request_of(100)}), false), (std::vector<std::uint64_t>{5000, 100}))
      << "staged";
}

TEST(Frame, AnAlignedBaseStaysAndTheUsersFollowsTheFile) {
  const std::vector requests = {request_of(5000), request_of(5000, 1.0, 5000), request_of(5000, 0.0), request_of(0)};
  const auto placements = placed(requests);
  const Frame frame = first_frame(requests, placements, mpich_5, page);
  Given given(placements, frame);
  given.begin([](std::size_t rank, std::size_t) { return somewhere + rank * 16 * page; });
  EXPECT_EQ(given.fit(), Fit::right);
  EXPECT_TRUE(translates(placements, frame));
  EXPECT_EQ(given.user(0), somewhere);
  EXPECT_EQ(given.user(1), somewhere + 16 * page + 5000 % page);
  EXPECT_EQ(given.user(2), somewhere + 32 * page);
  given.expect_right();
}

TEST(Frame, ABaseInsideAPageIsNoPlaceWithoutPadding) {
  const std::vector requests(2, request_of(5000));
  const auto placements = placed(requests);
  Frame frame = first_frame(requests, placements, mpich_5, page);
  const auto choose = [](std::size_t rank, std::size_t) { return somewhere + rank * 16 * page + (rank == 1 ? 64 : 0); };
  Given given(placements, frame);
  given.begin(choose);
  EXPECT_EQ(given.fit(), Fit::inside_page) << "though on one rank only";
  EXPECT_TRUE(must_pad(given.fit(), 1));
  frame.padded = true;
  Given padded(placements, frame);
  padded.begin(choose);
  EXPECT_EQ(padded.fit(), Fit::right);
  EXPECT_TRUE(translates(placements, frame));
  padded.expect_right();
}

// The kernel puts mappings below each other, so what is taken above moves them down.
TEST(Frame, ALongSegmentTooHighIsRightThatFarBelow) {
  const std::vector requests(2, request_of(long_one));
  const auto placements = placed(requests);
  const Frame frame = first_frame(requests, placements, mpich_5, page);
  std::uint64_t top = somewhere + 3 * page;
  const auto choose = [&](std::size_t rank, std::size_t) { return top - rank * long_one; };
  Given given(placements, frame);
  given.begin(choose);
  EXPECT_EQ(given.fit(), Fit::too_high);
  EXPECT_FALSE(must_pad(given.fit(), 1));
  top -= given.excess(1);
  given.begin(choose);
  EXPECT_EQ(given.fit(), Fit::right);
  EXPECT_FALSE(translates(placements, frame));
  given.expect_right();
}

TEST(Frame, MemoryAndEmptyRanksMayComeFirstInOneMapping) {
  const auto requests = contiguous({request_of(0, 0.0), request_of(page, 0.0), request_of(long_one)});
  const auto placements = placed(requests);
  ASSERT_TRUE(placements[2].in_place());
  const Frame frame = first_frame(requests, placements, open_mpi_5, page);
  Given given(placements, frame);
  given.begin([](std::size_t, std::size_t) { return somewhere; });
  EXPECT_EQ(given.fit(), Fit::too_high) << "the file doesn't begin where memory does";
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(given.excess(rank), page) << "all must move it alike";
  given.begin([](std::size_t, std::size_t) { return somewhere - page; });
  EXPECT_EQ(given.fit(), Fit::right);
  EXPECT_EQ(given.user(2), somewhere);
  given.expect_right();
}

TEST(Frame, NothingMovesWhereNothingIsMapped) {
  for (const bool one_mapping : {false, true}) {
    std::vector requests(3, request_of(5000));
    for (Request& request : requests) request.engine = EngineKind::staged;
    if (one_mapping) requests = contiguous(requests);
    const auto placements = placed(requests);
    for (const bool padded : {false, true}) {
      const Frame frame{.contiguous = one_mapping, .padded = padded, .page = page};
      EXPECT_FALSE(translates(placements, frame));
      EXPECT_EQ(framed_size(placements, 2, frame), 5000u);
      Given given(placements, frame);
      given.begin([](std::size_t rank, std::size_t) { return somewhere + 24 + rank * 16 * page; });
      EXPECT_EQ(given.fit(), Fit::right);
      given.expect_right();
    }
  }
}

// Random windows of random libraries, asked again and again as the real ones are.
class RandomFrames : public testing::TestWithParam<bool> {
 protected:
  std::uint64_t below(std::uint64_t end) { return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random_); }

  std::uint64_t size() {
    switch (below(4)) {
      case 0: return below(4) * page;
      case 1: return long_one + below(4) * page;
      default: return below(40'000);
    }
  }

  std::vector<Request> requests() {
    std::vector<Request> requests(below(5) + 1);
    const std::uint64_t offset = below(2) * below(4 * large_page);
    const auto order = static_cast<Order>(below(2));
    const bool unaligned = below(4) == 0;
    for (Request& request : requests) {
      const double shares[] = {0.0, 0.25, 1.0, 1.0};
      request = request_of(size(), shares[below(4)], below(4) == 0 ? round_down(offset, page) : offset);
      request.order = order;
      request.contiguous = GetParam();
      request.bases_unaligned = unaligned;
    }
    return requests;
  }

  std::mt19937 random_{11};
};

TEST_P(RandomFrames, EndWithPagesWhereTheyBelong) {
  int untranslated = 0;
  int moved = 0;
  for (int round = 0; round < 20'000 && !HasFailure(); ++round) {
    const auto asked = requests();
    const auto placements = placed(asked, below(2) == 0);
    Frame frame = first_frame(asked, placements, below(4) == 0 ? mpich_4 : mpich_5, page);
    const bool inside_pages = below(3) == 0;
    for (int tries = 1;; ++tries) {
      Given given(placements, frame);
      std::vector<std::uint64_t> in_page;
      for (std::size_t rank = 0; rank < placements.size(); ++rank)
        in_page.push_back(inside_pages ? 16 + below(255) * 16 : 0);
      given.begin([&](std::size_t rank, std::size_t) {
        return somewhere + rank * 4 * long_one + below(1024) * page * below(2) + in_page[rank];
      });
      if (given.fit() == Fit::right) {
        given.expect_right();
        untranslated += translates(placements, frame) ? 0 : 1;
        moved += tries > 1 && !frame.padded ? 1 : 0;
        break;
      }
      EXPECT_EQ(given.fit() == Fit::inside_page, inside_pages);
      ASSERT_FALSE(frame.padded) << "with padding any address is right";
      frame.padded = must_pad(given.fit(), tries);
    }
    if (HasFailure()) ADD_FAILURE() << "round " << round;
  }
  EXPECT_GT(untranslated, 1000);
  EXPECT_GT(moved, 20) << "some must come right without padding";
}

INSTANTIATE_TEST_SUITE_P(Apart, RandomFrames, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Contiguous, RandomFrames, testing::Values(true));

// MPICH 4.0 misplaces data in others.
TEST(LeadOf, CreatedWindowsBeginAtMultiplesOf16) {
  for (const std::uint64_t offset : {0u, 8u, 16u, 100u, 5001u, 8191u}) {
    const Placement placement = placed({request_of(5000, 1.0, offset)}).front();
    const std::uint64_t user = somewhere + placement.shift;
    const std::uint64_t begin = user - lead_of(placement);
    EXPECT_GE(begin, somewhere);
    EXPECT_EQ(begin % 16, 0u);
    EXPECT_LT(user - begin, 16u);
  }
}

}  // namespace
}  // namespace sill::window
