#include "topology/split.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "mpi/below.hpp"
#include "mpi/comm.hpp"
#include "mpi/errors.hpp"

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

// Gathers and scatters of plain structs; only the root has those of all.
class Channel {
 public:
  explicit Channel(MPI_Comm comm) : comm_(comm) {
    below().Comm_rank(comm, &rank_);
    below().Comm_size(comm, &size_);
  }
  int rank() const { return rank_; }
  bool is_root() const { return rank_ == root; }
  MPI_Comm comm() const { return comm_; }

  template <class Record>
  Result<std::vector<Record>> gather(const Record& mine) const {
    std::vector<Record> all(is_root() ? static_cast<std::size_t>(size_) : 0);
    const int code = below().Gather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof(Record), MPI_BYTE, root, comm_);
    if (code != MPI_SUCCESS) return mpi::from_code(code, "MPI_Gather");
    return all;
  }

  template <class Record>
  Result<Record> scatter(const std::vector<Record>& all) const {
    Record mine;
    const int code = below().Scatter(all.data(), sizeof mine, MPI_BYTE, &mine, sizeof mine, MPI_BYTE, root, comm_);
    if (code != MPI_SUCCESS) return mpi::from_code(code, "MPI_Scatter");
    return mine;
  }

  // Nobody goes on before all are here.
  Status meet() const { return mpi::from_code(below().Barrier(comm_), "MPI_Barrier"); }

 private:
  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
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
  Worker(const Channel& channel, std::optional<Directory> directory, Status status)
      : channel_(channel), directory_(std::move(directory)), status_(std::move(status)) {}

  Result<Division> work(SplitMethod method) {
    std::optional<Director> director;
    const Announced mine{directory_ ? directory_->identity() : Identity{}, method, !status_.ok()};
    const auto all = channel_.gather(mine);
    if (!all.ok()) return all.status();
    if (channel_.is_root()) {
      director.emplace(all.value());
      if (status_.ok()) status_ = director->status();
    }
    for (;;) {
      const auto order = channel_.scatter(director ? director->next_orders() : std::vector<Order>());
      if (!order.ok()) return order.status();
      if (order.value().next != Order::Next::work) return end(order.value());
      const auto told = obey(order.value());
      if (!told.ok()) return told.status();
      if (director) director->take(told.value());
    }
  }

 private:
  // One round; the root gets what all ranks tell of it.
  Result<std::vector<Told>> obey(const Order& order) {
    const bool has_task = order.task != Task::none;
    // Who has made a token has no task in later rounds, so it stays until the end.
    if (has_task) note(traces_.emplace(*directory_, order.id, operations_).prepare(order.task, channel_.rank()));
    if (Status status = channel_.meet(); !status.ok()) return status;
    Told told{{}, 0};
    if (has_task && status_.ok()) {
      const auto answer = traces_->finish(order.task, channel_.rank());
      note(answer.status());
      if (answer.ok()) told.answer = answer.value();
    }
    told.failed = !status_.ok();
    return channel_.gather(told);
  }

  Result<Division> end(const Order& order) {
    traces_.reset();
    if (order.next == Order::Next::done) return Division{order.place, order.store_count, operations_};
    return mpi::agree(channel_.comm(), status_);
  }

  void note(const Status& status) {
    if (status_.ok()) status_ = status;
  }

  const Channel& channel_;
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
  const Channel channel(comm);
  Status status = mine;
  std::optional<Directory> opened;
  if (directory && status.ok()) {
    auto result = Directory::open(*directory);
    status = result.status();
    if (result.ok() && result.value()) opened.emplace(*std::move(result).value());
  }
  return Worker(channel, std::move(opened), std::move(status)).work(method);
}

const std::optional<Report>& last_report() { return report(); }

int split(const SplitCall& call, const Asked& asked) {
  const auto begin = std::chrono::steady_clock::now();
  *call.newcomm = MPI_COMM_NULL;
  int rank = 0;
  below().Comm_rank(call.comm, &rank);
  const auto directory = directory_of(asked, rank);
  const auto division =
      divide(call.comm, directory.ok() ? directory.value() : std::nullopt, asked.hints.method, directory.status());
  report() = Report{asked.hints.method, division.ok() ? division.value() : Division{}, {}};
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
