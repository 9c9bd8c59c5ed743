// Along which path the MPI window below is made.
#include "window/paths.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "storage/mapping.hpp"
#include "unit/support/plans.hpp"

namespace sill::window {
namespace {

using mpi::Quirks;
using storage::large_page;
using test::mpich_4;
using test::mpich_5;
using test::open_mpi_4;
using test::open_mpi_5;
using test::request_of;
using test::unknown;

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t long_one = storage::long_mapping;

std::vector<Request> wishing(PathWish wish, std::size_t ranks = 4) {
  Request request = request_of(1 << 20);
  request.path = wish;
  return std::vector(ranks, request);
}

// The path's name, or the error's message.
std::string path_of(const std::vector<Request>& requests, const Surroundings& around) {
  const auto path = choose_path(requests, around, page);
  if (path.ok()) return name_of(path.value());
  EXPECT_EQ(path.status().cause(), Cause::unsupported);
  return path.status().message();
}

Surroundings on_a_node(const Quirks& library) { return {.library = library}; }
Surroundings on_nodes(const Quirks& library) { return {.one_node = false, .library = library}; }

TEST(ChoosePath, TheBestIsNativeWhereThatIsFast) {
  const auto requests = wishing(PathWish::best);
  EXPECT_EQ(path_of(requests, on_a_node(mpich_4)), "direct") << "its shared windows are slow";
  for (const Quirks& library : {mpich_5, open_mpi_4, open_mpi_5, unknown})
    EXPECT_EQ(path_of(requests, on_a_node(library)), "native");
  EXPECT_EQ(path_of(requests, on_nodes(mpich_5)), "native, several nodes");
  for (const Quirks& library : {mpich_4, open_mpi_4, open_mpi_5, unknown})
    EXPECT_EQ(path_of(requests, on_nodes(library)), "direct");
}

TEST(ChoosePath, AWishIsGrantedOrAnError) {
  for (const Quirks& library : {mpich_4, mpich_5, open_mpi_4, open_mpi_5, unknown}) {
    EXPECT_EQ(path_of(wishing(PathWish::native), on_a_node(library)), "native");
    for (const Surroundings& around : {on_a_node(library), on_nodes(library)}) {
      EXPECT_EQ(path_of(wishing(PathWish::create), around), "create");
      EXPECT_EQ(path_of(wishing(PathWish::direct), around), "direct");
    }
  }
  for (const Quirks& library : {mpich_4, open_mpi_4, open_mpi_5, unknown})
    EXPECT_TRUE(path_of(wishing(PathWish::native), on_nodes(library)).starts_with("SILL_WINDOW_PATH=native"));
  EXPECT_EQ(path_of(wishing(PathWish::native), on_nodes(mpich_5)), "native, several nodes");
}

TEST(ChoosePath, OpenMpi4CantCreateForOneRank) {
  for (const PathWish wish : {PathWish::best, PathWish::native, PathWish::create, PathWish::direct})
    EXPECT_EQ(path_of(wishing(wish, 1), on_a_node(open_mpi_4)), "native");
  EXPECT_EQ(path_of(wishing(PathWish::create, 1), on_a_node(open_mpi_5)), "create");
}

TEST(ChoosePath, OneNetworkCardThatPinsPagesIsEnough) {
  for (const PathWish wish : {PathWish::best, PathWish::native}) {
    auto requests = wishing(wish);
    requests[2].rdma_hardware = true;
    EXPECT_EQ(path_of(requests, on_a_node(mpich_5)), "native") << "nothing goes over it";
    EXPECT_NE(path_of(requests, on_nodes(mpich_5)), "native, several nodes");
  }
}

TEST(ChoosePath, MpichSharesNoMemoryWithAnotherWorld) {
  Surroundings two_worlds = on_a_node(mpich_5);
  two_worlds.one_world = false;
  EXPECT_EQ(path_of(wishing(PathWish::best), two_worlds), "direct");
  EXPECT_TRUE(path_of(wishing(PathWish::native), two_worlds).starts_with("SILL_WINDOW_PATH=native"));
  two_worlds.library = open_mpi_5;
  EXPECT_EQ(path_of(wishing(PathWish::best), two_worlds), "native");
}

TEST(ChoosePath, ASharedWindowIsOneWhateverTheWish) {
  for (const Quirks& library : {mpich_4, mpich_5, open_mpi_4, open_mpi_5}) {
    Surroundings around{.shared = true, .library = library};
    EXPECT_EQ(path_of(wishing(PathWish::create), around), "native");
    around.one_node = false;
    EXPECT_TRUE(path_of(wishing(PathWish::best), around).starts_with("MPI_Win_allocate_shared"));
  }
}

TEST(ChoosePath, SegmentsThatDontFitIntoSharedMemoryAreMappedBySill) {
  for (const PathWish wish : {PathWish::best, PathWish::native}) {
    auto requests = wishing(wish);  // 4 MiB together
    requests[3].shared_memory = 8 << 20;
    EXPECT_EQ(path_of(requests, on_a_node(open_mpi_5)), "native");
    requests[3].shared_memory = 4 << 20;
    EXPECT_EQ(path_of(requests, on_a_node(open_mpi_5)), wish == PathWish::best ? "direct" : "native");
  }
  auto requests = wishing(PathWish::best);
  for (Request& request : requests) request.size = long_one;
  requests[0].shared_memory = (4 * long_one + 4 * large_page) / 9 * 10;
  EXPECT_EQ(path_of(requests, on_a_node(open_mpi_5)), "direct") << "without room for padding";
  requests[0].shared_memory = (4 * long_one + 9 * large_page) / 9 * 10;
  EXPECT_EQ(path_of(requests, on_a_node(open_mpi_5)), "native");
}

}  // namespace
}  // namespace sill::window
