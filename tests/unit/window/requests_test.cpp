// What ranks ask for: that it agrees, what share goes to storage, and how it is settled.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "unit/support/plans.hpp"
#include "window/plan.hpp"

namespace sill::window {
namespace {

using test::request_of;

constexpr std::uint64_t gib = 1ull << 30;

TEST(MakeRequest, TakesWhatRanksMustKnowFromTheHints) {
  WindowHints hints;
  hints.alloc_type = AllocType::storage;
  hints.offset = 100;
  hints.factor = {.automatic = false, .share = 0.25};
  hints.order = Order::storage_first;
  hints.layout = Layout::overlap;
  hints.engine = EngineKind::staged;
  hints.reserve = Reserve::sparse;
  hints.unlink = true;
  hints.discard = true;
  const Request request = make_request(hints, 4096, 8);
  EXPECT_EQ(request.size, 4096u);
  EXPECT_EQ(request.disp_unit, 8);
  EXPECT_EQ(request.offset, 100u);
  EXPECT_EQ(request.share, 0.25);
  EXPECT_EQ(request.order, Order::storage_first);
  EXPECT_EQ(request.layout, Layout::overlap);
  EXPECT_EQ(request.engine, EngineKind::staged);
  EXPECT_EQ(request.reserve, Reserve::sparse);
  EXPECT_TRUE(request.unlink && request.discard);
}

TEST(MakeRequest, AMemoryWindowHasNoShare) {
  const Request request = make_request({}, 4096, 1);
  EXPECT_EQ(request.share, 0.0);
  EXPECT_FALSE(needs_store(request));
}

TEST(NeedsStore, WhenThereAreBytesForIt) {
  EXPECT_TRUE(needs_store(request_of(1)));
  EXPECT_TRUE(needs_store(request_of(1, 0.001)));
  EXPECT_FALSE(needs_store(request_of(0)));
  EXPECT_FALSE(needs_store(request_of(4096, 0.0)));
}

TEST(CheckAgreement, SaysWhichRankDiffersInWhat) {
  std::vector<Request> same(4, request_of(4096));
  same[2].size = 100;
  same[2].offset = 512;
  same[2].share = 0.5;
  same[2].disp_unit = 1;
  EXPECT_TRUE(check_agreement(same).ok()) << "these may differ";
  const std::pair<const char*, void (*)(Request&)> changes[] = {
      {"alloc_type", [](Request& request) { request.alloc_type = AllocType::memory; }},
      {"storage_alloc_order", [](Request& request) { request.order = Order::storage_first; }},
      {"storage_alloc_layout", [](Request& request) { request.layout = Layout::overlap; }},
      {"storage_alloc_engine", [](Request& request) { request.engine = EngineKind::staged; }},
      {"storage_alloc_reserve", [](Request& request) { request.reserve = Reserve::sparse; }},
      {"storage_alloc_unlink", [](Request& request) { request.unlink = true; }},
      {"storage_alloc_discard", [](Request& request) { request.discard = true; }},
      {"storage_alloc_readonly", [](Request& request) { request.readonly = true; }},
      {"SILL_WINDOW_PATH", [](Request& request) { request.path = PathWish::create; }}};
  for (const auto& [key, change] : changes) {
    std::vector<Request> requests = same;
    change(requests[3]);
    const Status status = check_agreement(requests);
    EXPECT_EQ(status.cause(), Cause::hints_differ) << key;
    EXPECT_TRUE(status.message().starts_with(key)) << status.message();
    EXPECT_NE(status.message().find("rank 3"), std::string::npos) << status.message();
  }
}

// Ranks of one node that put what does not fit on storage.
std::vector<Request> automatic(std::size_t ranks, std::uint64_t size, std::uint64_t available) {
  Request request = request_of(size);
  request.automatic = true;
  request.available_memory = available;
  return std::vector<Request>(ranks, request);
}

TEST(ResolveAutomatic, WhatFitsStaysInMemory) {
  auto requests = automatic(4, gib, 8 * gib);
  resolve_automatic(requests);
  for (const Request& request : requests) EXPECT_EQ(request.share, 0.0);
}

TEST(ResolveAutomatic, WhatExceedsNineTenthsOfTheNodeGoesToStorageInEqualShares) {
  auto requests = automatic(4, gib, 2 * gib);
  requests[3].size = 3 * gib;
  resolve_automatic(requests);
  for (const Request& request : requests) EXPECT_NEAR(request.share, (6 - 0.9 * 2) / 6, 1e-9);
}

TEST(ResolveAutomatic, TheRankThatSeesLeastMemoryDecides) {
  auto requests = automatic(2, gib, 8 * gib);
  requests[1].available_memory = gib;
  resolve_automatic(requests);
  for (const Request& request : requests) EXPECT_NEAR(request.share, (2 - 0.9) / 2, 1e-9);
}

TEST(ResolveAutomatic, WhatIsPromisedAlreadyIsNotGivenAgain) {
  auto requests = automatic(2, gib, 2 * gib);
  requests[1].promised_memory = gib;  // who looked
  resolve_automatic(requests);
  for (const Request& request : requests) EXPECT_NEAR(request.share, (2 - (0.9 * 2 - 1)) / 2, 1e-9);
  requests[1].promised_memory = 3 * gib;
  resolve_automatic(requests);
  EXPECT_EQ(requests[0].share, 1.0);
}

TEST(ResolveAutomatic, EachNodeDecidesForItself) {
  auto requests = automatic(4, gib, 100 * gib);
  for (std::size_t rank : {2u, 3u}) {
    requests[rank].node = 2;
    requests[rank].available_memory = gib;
  }
  resolve_automatic(requests);
  EXPECT_EQ(requests[0].share, 0.0);
  EXPECT_EQ(requests[1].share, 0.0);
  EXPECT_NEAR(requests[2].share, (2 - 0.9) / 2, 1e-9);
  EXPECT_EQ(requests[2].share, requests[3].share);
}

TEST(ResolveAutomatic, NoMemoryMeansAllOnStorageAndAskedSharesStay) {
  auto requests = automatic(2, gib, 0);
  requests.push_back(request_of(gib, 0.25));
  requests.push_back(automatic(1, 0, 0).front());
  resolve_automatic(requests);
  EXPECT_EQ(requests[0].share, 1.0);
  EXPECT_EQ(requests[2].share, 0.25);
}

TEST(Settle, AnswersAreHintsThatLeadToTheSame) {
  WindowHints hints;
  hints.filename = "/s/50%%.%r";
  hints.factor.automatic = true;
  Request request = request_of(gib, 0.25);
  Placement placement;
  placement.storage_length = 1;
  placement.engine = EngineKind::staged;
  const WindowHints settled = settle(hints, request, placement, {.rank = 7, .host = {}, .window = {}, .job = {}});
  EXPECT_EQ(settled.filename, "/s/50%%.7");
  EXPECT_FALSE(settled.factor.automatic);
  EXPECT_EQ(settled.factor.share, 0.25);
  EXPECT_EQ(settled.engine, EngineKind::staged);
}

}  // namespace
}  // namespace sill::window
