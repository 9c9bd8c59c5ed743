#include "mpi/worlds.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <vector>

#include "base/child.hpp"
#include "mpi/below.hpp"

namespace sill::mpi {
namespace {

std::atomic<bool> other_worlds{false};

// Each a communicator that spawned and the world that it spawned. Never freed: communicators come from them at any
// time.
std::mutex spawned_mutex;
std::vector<MPI_Group>& spawned() {
  static auto* all = new std::vector<MPI_Group>;
  return *all;
}

class Group {
 public:
  Group() = default;
  // The ranks of a communicator, both sides of it.
  explicit Group(MPI_Comm comm) {
    int inter = 0;
    below().Comm_group(comm, &group);
    below().Comm_test_inter(comm, &inter);
    if (!inter) return;
    Group remote;
    below().Comm_remote_group(comm, &remote.group);
    add(remote.group);
  }
  ~Group() {
    if (group != MPI_GROUP_NULL) below().Group_free(&group);
  }
  Group& operator=(Group&&) = delete;

  void add(MPI_Group more) {
    MPI_Group both = MPI_GROUP_NULL;
    below().Group_union(group, more, &both);
    below().Group_free(&group);
    group = both;
  }

  bool lies_in(MPI_Group other) const {
    int size = 0;
    below().Group_size(group, &size);
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<int> there(ranks.size());
    below().Group_translate_ranks(group, size, ranks.data(), other, there.data());
    return std::ranges::find(there, MPI_UNDEFINED) == there.end();
  }

  MPI_Group group = MPI_GROUP_NULL;
};

}  // namespace

void expect_other_worlds() { other_worlds = true; }

void note_spawned(MPI_Comm local, MPI_Comm inter) {
  Group all(local);
  all.add(Group(inter).group);
  const std::lock_guard lock(spawned_mutex);
  spawned().push_back(all.group);
  all.group = MPI_GROUP_NULL;
}

void note_parents() {
  MPI_Comm parent = MPI_COMM_NULL;
  if (below().Comm_get_parent(&parent) != MPI_SUCCESS || parent == MPI_COMM_NULL) return;
  expect_other_worlds();
  if (spawned_by_sill()) note_spawned(MPI_COMM_WORLD, parent);
}

bool is_one_world(MPI_Comm comm) { return !other_worlds || Group(comm).lies_in(Group(MPI_COMM_WORLD).group); }

bool is_first_of_world(MPI_Comm comm) {
  Group here;
  below().Group_intersection(Group(MPI_COMM_WORLD).group, Group(comm).group, &here.group);
  int rank = 0;
  below().Group_rank(here.group, &rank);
  return rank == 0;
}

bool all_have_sill(MPI_Comm comm) {
  if (is_one_world(comm)) return true;
  const Group ranks(comm);
  const std::lock_guard lock(spawned_mutex);
  return std::ranges::any_of(spawned(), [&](MPI_Group group) { return ranks.lies_in(group); });
}

}  // namespace sill::mpi
