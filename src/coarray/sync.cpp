// sync all and sync images: after libcaf has synchronized the images, kept coarrays are made durable.
#include "coarray/sync.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "base/log.hpp"
#include "coarray/files.hpp"
#include "coarray/libcaf.hpp"
#include "coarray/lifetime.hpp"
#include "coarray/stat.hpp"
#include "coarray/team.hpp"
#include "mpi/below.hpp"
#include "mpi/errors.hpp"

namespace sill::coarray {
namespace {

using Clock = std::chrono::steady_clock;
using mpi::below;

bool switched_on = false;
std::optional<Clock::time_point> last_sync;

bool time_has_come() {
  return !last_sync || Clock::now() - *last_sync >= std::chrono::milliseconds(options().value().sync_interval_ms);
}

bool always() { return options().value().sync_interval_ms == 0; }

// `together`: all images of the team do.
Status sync_kept(bool together) {
  Status first;
  for (Coarray* coarray : coarrays()) {
    if (!coarray->kept) continue;
    const Status status = coarray->window().sync_own();
    // The first image has given it up, and all will in the next sync of all.
    if (together || !coarray->file->shared() || status.cause() != Cause::no_such_file) first.note(status);
  }
  last_sync = Clock::now();
  return first;
}

// To be called when so many images have synced, all of a team or one.
Status mark_kept(int images) {
  Status first;
  for (Coarray* coarray : coarrays()) {
    if (!coarray->kept) continue;
    window::Window& window = coarray->window();
    // A file that images share is marked when all of them have synced it.
    if ((coarray->file->shared() && window.comm()->size > images) || !window.leads_store()) continue;
    if (coarray->file->record().state == CoarrayRecord::State::kept) continue;
    first.note(coarray->file->mark(window.own_segment()->file(), CoarrayRecord::State::kept));
  }
  return first;
}

// Clocks differ, so the first image decides for all. Collective.
Result<bool> all_sync_now() {
  if (always()) return true;
  int now = time_has_come();
  const int code = below().Bcast(&now, 1, MPI_INT, 0, team().own->comm);
  if (code != MPI_SUCCESS) return mpi::from_code(code, "MPI_Bcast");
  return now != 0;
}

// What one image has given up of a file that all share, all give up: it is whole or nothing. Collective.
Status give_up_together() {
  if (options().value().sharing != Sharing::images) return {};
  std::vector<Coarray*> shared = coarrays();
  std::erase_if(shared, [](const Coarray* coarray) {
    return !coarray->file || !coarray->file->shared() || coarray->window().comm()->size != team().own->size;
  });
  std::vector<int> mine(shared.size());
  std::ranges::transform(shared, mine.begin(), [](const Coarray* coarray) { return coarray->kept ? 1 : 0; });
  std::vector<int> all = mine;
  const int code =
      below().Allreduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_INT, MPI_MIN, team().own->comm);
  Status first = mpi::from_code(code, "MPI_Allreduce");
  for (std::size_t i = 0; i < shared.size(); ++i) {
    if (!first.ok() || mine[i] == all[i]) continue;
    shared[i]->file->tell_not_kept();
    first = forget_file(*shared[i]);
  }
  return team().own->agree(first);
}

Status make_durable() {
  const auto now = all_sync_now();
  if (!now.ok()) return now.status();
  if (!now.value()) return {};
  Status status = give_up_together();
  if (!status.ok()) return status;
  status = team().own->agree(sync_kept(true));
  if (!status.ok()) return status;
  return team().own->agree(mark_kept(team().own->size));
}

// Which of the ranks sync now: a pair does if either of the two wants to, so both know.
Result<std::vector<int>> syncing_now(const std::vector<int>& ranks) {
  if (always()) return ranks;
  const int mine = time_has_come();
  const auto theirs = team().own->exchange(ranks, mine);
  if (!theirs.ok()) return theirs.status();
  std::vector<int> now;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (mine || theirs.value()[i]) now.push_back(ranks[i]);
  return now;
}

// The same with the images named only. Each learns whether the others' data is durable.
Status make_durable_with(const std::vector<int>& ranks) {
  const auto partners = syncing_now(ranks);
  if (!partners.ok()) return partners.status();
  if (partners.value().empty()) return {};
  const Status status = keep_own();
  struct Outcome {
    int cause;
    char message[252];
  };
  Outcome mine{static_cast<int>(status.cause()), {}};
  std::strncpy(mine.message, status.message().c_str(), sizeof mine.message - 1);
  const auto theirs = team().own->exchange(partners.value(), mine);
  if (!status.ok() || !theirs.ok()) return status.ok() ? theirs.status() : status;
  for (const Outcome& outcome : theirs.value())
    if (outcome.cause != static_cast<int>(Cause::ok)) return {static_cast<Cause>(outcome.cause), outcome.message};
  return {};
}

std::vector<int> ranks_named(int count, const int* images) {
  const mpi::OwnComm& own = *team().own;
  std::vector<int> ranks;
  if (count < 0) {
    for (int rank = 0; rank < own.size; ++rank)
      if (rank != own.rank) ranks.push_back(rank);
    return ranks;
  }
  for (int i = 0; i < count; ++i)
    if (images[i] - 1 != own.rank) ranks.push_back(images[i] - 1);
  return ranks;
}

// gfortran 12 hands over the address of a pointer to errmsg=, into which nothing may be stored: the message goes to the
// log. An error of one image alone is told by that one, else by the first.
void give_sync(const Status& status, int* stat, bool alone) {
  if (!status.ok() && stat && (alone || team().own->rank == 0)) log(LogLevel::error, "coarrays: " + status.message());
  if (!status.ok() && !stat && alone) stop_alone(status);
  give(status, {stat});
}

}  // namespace

void keep_from_now_on() { switched_on = true; }

Status keep_own() {
  const Status status = sync_kept(false);
  return status.ok() ? mark_kept(1) : status;
}

bool keeping() { return switched_on || options().value().enabled; }

Status forget_file(Coarray& coarray) {
  window::Window& window = coarray.window();
  coarray.kept = false;
  window.hints().discard = true;
  window.hints().unlink = false;
  const storage::File& file = window.own_segment()->file();
  if (window.leads_store()) return coarray.file->unlink(file);
  // One file for all images: until the first one deletes it, in the next sync at the latest, it means nothing.
  const Status status = coarray.file->mark(file, CoarrayRecord::State::fresh);
  return status.cause() == Cause::no_such_file ? Status() : status;
}

SILL_CAF_EXPORT void _gfortran_caf_sync_all(int* stat, char* errmsg, std::size_t length) {
  // Direct stores before the barrier, loads after it: libcaf's own accesses are ordered by the MPI library.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (LibcafTurn::now()) return libcaf().next_sync_all(stat, errmsg, length);
  start();
  settle();
  {
    const LibcafTurn inside;
    libcaf().next_sync_all(stat, nullptr, 0);
  }
  if (!keeping() || (stat && *stat != 0)) return;
  give_sync(make_durable(), stat, false);
}

SILL_CAF_EXPORT void _gfortran_caf_sync_images(int count, int* images, int* stat, char* errmsg, std::size_t length) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (LibcafTurn::now()) return libcaf().next_sync_images(count, images, stat, errmsg, length);
  start();
  settle();
  {
    const LibcafTurn inside;
    libcaf().next_sync_images(count, images, stat, nullptr, 0);
  }
  if (!keeping() || (stat && *stat != 0)) return;
  const auto ranks = ranks_named(count, images);
  if (!ranks.empty()) give_sync(make_durable_with(ranks), stat, true);
}

}  // namespace sill::coarray
