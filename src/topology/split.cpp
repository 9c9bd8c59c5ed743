#include "topology/split.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "mpi/below.hpp"
#include "mpi/errors.hpp"
#include "mpi/team.hpp"

namespace sill::topology {
namespace {

using mpi::below;

// The rank that collects what all tell and decides.
constexpr int root = 0;

struct Announced {
  Identity identity;
  SplitMethod method;
  std::int32_t failed;
};

// What the root tells a rank to do next.
struct Order {
  enum class Next : std::int32_t { work, done, fail } next = Next::fail;
  Task task = Task::none;
  SplitId id{};  // of the round, for work
  Place place;   // when done
  std::int32_t store_count = 0;
};

struct Told {
  Answer answer;
  std::int32_t failed;
};

// The root's part.
class Director {
 public:
  explicit Director(const std::vector<Announced>& all) : orders_(all.size()) {
    std::vector<Identity> identities;
    std::optional<SplitMethod> method;
    for (const Announced& announced : all) {
      identities.push_back(announced.identity);
      failed_ = failed_ || announced.failed;
      if (announced.identity.presence == Presence::absent) continue;
      if (!method) method = announced.method;
      if (*method != announced.method) note({Cause::hints_differ, "nbhd_method differs between ranks"});
    }
    auto id = random_split_id();
    if (id.ok()) id_ = id.value();
    note(id.status());
    grouping_.emplace(method.value_or(SplitMethod::automatic), identities);
  }

  // What is wrong that no rank has said.
  const Status& status() const { return status_; }

  void take(const std::vector<Told>& all) {
    std::vector<Answer> answers;
    for (const Told& told : all) {
      answers.push_back(told.answer);
      failed_ = failed_ || told.failed;
    }
    grouping_->take(answers);
  }

  const std::vector<Order>& next_orders() {
    if (failed_) {
      for (Order& order : orders_) order.next = Order::Next::fail;
    } else if (grouping_->next_round()) {
      ++id_.back();
      for (std::size_t rank = 0; rank < orders_.size(); ++rank) {
        orders_[rank].next = Order::Next::work;
        orders_[rank].task = grouping_->tasks()[rank];
        orders_[rank].id = id_;
      }
    } else {
      finish();
    }
    return orders_;
  }

 private:
  void note(const Status& status) {
    if (status.ok()) return;
    failed_ = true;
    status_ = status;
  }

  void finish() {
    const auto places = grouping_->places();
    std::int32_t count = 0;
    for (const Place& place : places) count = std::max(count, place.store + 1);
    for (std::size_t rank = 0; rank < orders_.size(); ++rank)
      orders_[rank] = {.next = Order::Next::done, .place = places[rank], .store_count = count};
  }

  std::optional<Grouping> grouping_;
  std::vector<Order> orders_;
  SplitId id_{};
  bool failed_ = false;
  Status status_;
};

// Every rank's part: does what it is told until it is told its place.
class Worker {
 public:
  Worker(const mpi::Team& team, std::optional<Directory> directory, Status status)
      : team_(team), directory_(std::move(directory)), status_(std::move(status)) {}

  Result<Division> work(SplitMethod method) {
    std::optional<Director> director;
    const Announced mine{directory_ ? directory_->identity() : Identity{}, method, !status_.ok()};
    const auto all = team_.gather(std::span(&mine, 1), root);
    if (!all.ok()) return all.status();
    if (team_.rank == root) {
      director.emplace(all.value());
      status_.note(director->status());
    }
    for (;;) {
      const auto orders =
          team_.scatter(director ? std::span<const Order>(director->next_orders()) : std::span<const Order>(), 1, root);
      if (!orders.ok()) return orders.status();
      const Order& order = orders.value().front();
      if (order.next != Order::Next::work) return end(order);
      const auto told = obey(order);
      if (!told.ok()) return told.status();
      if (director) director->take(told.value());
    }
  }

 private:
  // One round; the root gets what all ranks tell of it.
  Result<std::vector<Told>> obey(const Order& order) {
    const bool has_task = order.task != Task::none;
    // Who has made a token has no task in later rounds, so it stays until the end.
    if (has_task) status_.note(traces_.emplace(*directory_, order.id, operations_).prepare(order.task, team_.rank));
    if (Status status = team_.meet(); !status.ok()) return status;
    Told told{{}, 0};
    if (has_task && status_.ok()) {
      const auto answer = traces_->finish(order.task, team_.rank);
      status_.note(answer.status());
      if (answer.ok()) told.answer = answer.value();
    }
    told.failed = !status_.ok();
    return team_.gather(std::span<const Told>(&told, 1), root);
  }

  Result<Division> end(const Order& order) {
    traces_.reset();
    if (order.next == Order::Next::done) return Division{order.place, order.store_count, operations_};
    return team_.agree(status_);
  }

  const mpi::Team& team_;
  std::optional<Directory> directory_;
  Status status_;
  Operations operations_;
  std::optional<Traces> traces_;
};

std::optional<Report>& report() {
  thread_local std::optional<Report> last;
  return last;
}

void log_split(const std::optional<std::string>& directory, const Report& last) {
  if (!directory || !log_enabled(LogLevel::info)) return;
  const auto& [place, stores, operations] = last.division;
  log(LogLevel::info, "split by " + *directory + " (" + std::string(method_name(last.method)) +
                          "): " + (place.store < 0 ? "not seen from here" : "store " + std::to_string(place.store)) +
                          " of " + std::to_string(stores) + (place.unproven ? ", unproven; " : "; ") +
                          std::to_string(operations.creates) + " creates, " + std::to_string(operations.looks) +
                          " looks here");
}

}  // namespace

Result<Division> divide(MPI_Comm comm, const std::optional<std::string>& directory, SplitMethod method,
                        const Status& mine) {
  const mpi::Team team(comm);
  Status status = mine;
  std::optional<Directory> opened;
  if (directory && status.ok()) {
    auto result = Directory::open(*directory);
    status = result.status();
    if (result.ok() && result.value()) opened.emplace(*std::move(result).value());
  }
  return Worker(team, std::move(opened), std::move(status)).work(method);
}

const std::optional<Report>& last_report() { return report(); }

int split(const SplitCall& call, const SplitRequest& request) {
  const auto begin = std::chrono::steady_clock::now();
  *call.newcomm = MPI_COMM_NULL;
  const auto directory = directory_of(request, mpi::Team(call.comm).rank);
  const auto division =
      divide(call.comm, directory.ok() ? directory.value() : std::nullopt, request.hints.method, directory.status());
  report() = Report{request.hints.method, division.ok() ? division.value() : Division{}, {}};
  int code = MPI_SUCCESS;
  if (division.ok()) {
    const int store = division.value().place.store;
    code = below().Comm_split(call.comm, store < 0 ? MPI_UNDEFINED : store, call.key, call.newcomm);
  }
  report()->time = std::chrono::steady_clock::now() - begin;
  if (division.ok()) log_split(directory.value(), *report());
  return division.ok() ? code : mpi::raise_on_comm(call.comm, division.status());
}

}  // namespace sill::topology
