// The functions of sill.h.
#include "sill/sill.h"

#include <cstring>

#include "base/config.hpp"
#include "base/versioned.hpp"
#include "mpi/below.hpp"
#include "mpi/errors.hpp"
#include "mpi/load_order.hpp"
#include "pmpi/entry.hpp"
#include "topology/split.hpp"
#include "window/window.hpp"

namespace {

using sill::Cause;
using sill::Status;
using sill::mpi::below;
using sill::window::Window;

// Bytes of the structs in the first version of SILL_ABI 1.
constexpr std::size_t first_win_stats = 64;
constexpr std::size_t first_split_stats = 56;

// What a function of a program that Sill knows nothing of has to say; MPI_SUCCESS if it knows.
int unseen() { return sill::mpi::to_code(sill::mpi::check_entered()); }

int bad_argument(const char* what) { return sill::mpi::to_code({Cause::bad_argument, what}); }

// Bytes of a window that Sill has nothing to do with.
std::uint64_t plain_size(MPI_Win win) {
  MPI_Aint* size = nullptr;
  int found = 0;
  const bool got = below().Win_get_attr(win, MPI_WIN_SIZE, &size, &found) == MPI_SUCCESS;
  return got && found ? static_cast<std::uint64_t>(*size) : 0;
}

}  // namespace

SILL_EXPORT int sill_abi(void) { return SILL_ABI; }

SILL_EXPORT int sill_win_sync_all(MPI_Win win) {
  if (const int code = unseen(); code != MPI_SUCCESS) return code;
  if (win == MPI_WIN_NULL) return bad_argument("sill_win_sync_all: win is MPI_WIN_NULL");
  Window* window = sill::window::find(win);
  if (!window) return MPI_SUCCESS;
  return sill::mpi::to_code(window->sync_all());
}

SILL_EXPORT int sill_win_get_restored(MPI_Win win, int* restored) {
  if (const int code = unseen(); code != MPI_SUCCESS) return code;
  if (win == MPI_WIN_NULL || !restored) return bad_argument("sill_win_get_restored: a null argument");
  const Window* window = sill::window::find(win);
  *restored = window && window->restored();
  return MPI_SUCCESS;
}

SILL_EXPORT int sill_win_get_path(MPI_Win win, char* buffer, size_t* size) {
  if (const int code = unseen(); code != MPI_SUCCESS) return code;
  if (win == MPI_WIN_NULL || !size || (!buffer && *size > 0)) return bad_argument("sill_win_get_path: a null argument");
  const Window* window = sill::window::find(win);
  const auto path = window ? window->store_path() : std::nullopt;
  if (!path) return bad_argument("sill_win_get_path: the window has no storage on this rank");
  const std::size_t room = *size;
  *size = path->size() + 1;
  if (room == 0) return MPI_SUCCESS;
  if (room < *size) return bad_argument("sill_win_get_path: the buffer is too small for the path");
  std::memcpy(buffer, path->c_str(), *size);
  return MPI_SUCCESS;
}

SILL_EXPORT int sill_win_get_stats(MPI_Win win, sill_win_stats* stats) {
  if (const int code = unseen(); code != MPI_SUCCESS) return code;
  if (win == MPI_WIN_NULL || !stats) return bad_argument("sill_win_get_stats: a null argument");
  Window* window = sill::window::find(win);
  const Window::Stats now = window ? window->stats() : Window::Stats{plain_size(win), 0, 0, 0, 0, 0, 0};
  const sill_win_stats own = {sizeof own,
                              now.memory,
                              now.storage,
                              now.resident.value_or(SILL_UNKNOWN),
                              now.dirty.value_or(SILL_UNKNOWN),
                              now.synced.value_or(SILL_UNKNOWN),
                              now.syncs,
                              now.nanoseconds};
  return sill::mpi::to_code(sill::hand_out("sill_win_stats", first_win_stats, &own, stats));
}

SILL_EXPORT int sill_split_get_stats(sill_split_stats* stats) {
  if (const int code = unseen(); code != MPI_SUCCESS) return code;
  const auto& report = sill::topology::last_report();
  if (!stats) return bad_argument("sill_split_get_stats: a null argument");
  if (!report) return bad_argument("sill_split_get_stats: this thread has made no split by directory");
  const auto& [place, store_count, operations] = report->division;
  const sill_split_stats own = {sizeof own,
                                static_cast<int>(report->method),
                                place.store,
                                store_count,
                                place.unproven,
                                operations.creates,
                                operations.looks,
                                operations.removes,
                                static_cast<std::uint64_t>(report->time.count())};
  return sill::mpi::to_code(sill::hand_out("sill_split_stats", first_split_stats, &own, stats));
}

SILL_EXPORT int sill_check_rule(const char* rule) {
  const Status status =
      rule ? sill::rules_with(rule).status() : Status(Cause::bad_argument, "sill_check_rule: a null argument");
  return status.ok() ? MPI_SUCCESS : sill::mpi::to_code_at_any_time(status);
}

SILL_EXPORT const char* sill_error_string(void) { return sill::mpi::last_error_text().c_str(); }
