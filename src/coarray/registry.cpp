#include "coarray/registry.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <set>

#include "coarray/team.hpp"
#include "mpi/below.hpp"

namespace sill::coarray {
namespace {

using mpi::below;

std::mutex mutex;
std::vector<std::unique_ptr<Coarray>>& all() {
  static auto* one = new std::vector<std::unique_ptr<Coarray>>;  // outlives static destructors of the program
  return *one;
}

std::set<std::string>& names() {
  static auto* one = new std::set<std::string>;
  return *one;
}

// The ranks in `to` of the images of the current team.
std::vector<int> translate(const mpi::OwnComm& to) {
  const mpi::OwnComm& from = *team().own;
  std::vector<int> images(static_cast<std::size_t>(from.size));
  std::vector<int> ranks(images.size());
  std::iota(images.begin(), images.end(), 0);
  MPI_Group from_group = MPI_GROUP_NULL;
  MPI_Group to_group = MPI_GROUP_NULL;
  below().Comm_group(from.comm, &from_group);
  below().Comm_group(to.comm, &to_group);
  below().Group_translate_ranks(from_group, from.size, images.data(), to_group, ranks.data());
  below().Group_free(&from_group);
  below().Group_free(&to_group);
  for (int& rank : ranks)
    if (rank == MPI_UNDEFINED) rank = -1;
  return ranks;
}

}  // namespace

std::atomic<std::uint64_t> registry_generation{1};

Coarray::Coarray(Token token, MPI_Win win, window::Window* window, std::string name)
    : token_(token),
      win_(win),
      window_(window),
      name_(std::move(name)),
      size_(static_cast<std::size_t>(window->placements()[static_cast<std::size_t>(window->rank())].size)) {}

std::uint64_t Coarray::seen_epoch() { return team_epoch(); }

void Coarray::look() {
  ranks_ = translate(*window_->comm());
  bases_.clear();
  for (const int rank : ranks_) bases_.push_back(rank < 0 ? nullptr : window_->whole_base(rank));
  epoch_ = team_epoch();
}

void enter(std::unique_ptr<Coarray> coarray) {
  const std::lock_guard lock(mutex);
  names().insert(coarray->name());
  all().push_back(std::move(coarray));
  ++registry_generation;
}

void leave(Token token) {
  const std::lock_guard lock(mutex);
  std::erase_if(all(), [&](const auto& coarray) { return coarray->token() == token; });
  ++registry_generation;
}

void leave_all() {
  const std::lock_guard lock(mutex);
  all().clear();
  ++registry_generation;
}

std::vector<Coarray*> coarrays() {
  const std::lock_guard lock(mutex);
  std::vector<Coarray*> list;
  for (const auto& coarray : all()) list.push_back(coarray.get());
  return list;
}

bool known(const std::string& name) {
  const std::lock_guard lock(mutex);
  return names().contains(name);
}

Coarray* holder_of(const void* address) {
  const std::lock_guard lock(mutex);
  const auto at = std::ranges::find_if(all(), [&](const auto& coarray) { return coarray->holds(address); });
  return at == all().end() ? nullptr : at->get();
}

Coarray* look_up(Token token) {
  const std::lock_guard lock(mutex);
  const auto at = std::ranges::find(all(), token, &Coarray::token);
  return at == all().end() ? nullptr : at->get();
}

}  // namespace sill::coarray
