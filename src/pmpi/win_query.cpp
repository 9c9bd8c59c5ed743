// MPI 4.1, sections 12.2.6, 12.2.7 and 12.2.3: what a program can ask about a window. Where the MPI window below
// differs from the one the user asked for, the answers are the user's.
#include <algorithm>
#include <cstring>

#include "mpi/comm.hpp"
#include "mpi/errors.hpp"
#include "pmpi/entry.hpp"
#include "pmpi/win_attribute.hpp"
#include "window/window.hpp"

namespace sill::pmpi {

bool answer_attribute(MPI_Win win, int keyval, void** answer) {
  window::Window* window = window::find(win);
  if (!window || !window->allocated()) return false;
  auto& attributes = window->attributes();
  if (keyval == MPI_WIN_BASE)
    *answer = attributes.base;
  else if (keyval == MPI_WIN_SIZE)
    *answer = &attributes.size;
  else if (keyval == MPI_WIN_DISP_UNIT)
    *answer = &attributes.disp_unit;
  else if (keyval == MPI_WIN_CREATE_FLAVOR)
    *answer = &attributes.flavor;
  else
    return false;
  return true;
}

}  // namespace sill::pmpi

namespace {

using sill::Status;
using sill::mpi::below;
using sill::window::Window;

template <class Next>
int on_Win_get_attr(Next next, MPI_Win win, int keyval, void* attribute_val, int* flag) {
  void* answer = nullptr;
  if (!sill::pmpi::answer_attribute(win, keyval, &answer)) return next(win, keyval, attribute_val, flag);
  std::memcpy(attribute_val, &answer, sizeof answer);
  *flag = 1;
  return MPI_SUCCESS;
}

template <class Next>
int on_Win_get_info(Next next, MPI_Win win, MPI_Info* info_used) {
  const int code = next(win, info_used);
  Window* window = sill::window::find(win);
  if (code != MPI_SUCCESS || !window) return code;
  if (window->allocated() && window->attributes().flavor != MPI_WIN_FLAVOR_SHARED)
    for (const auto& pair :
         sill::mpi::info_pairs(*info_used, [](const std::string& key) { return key == "alloc_shared_noncontig"; }))
      below().Info_delete(*info_used, pair.first.c_str());
  // A name too long for the MPI library's infos is left out; sill_win_get_path tells it.
  for (const auto& [key, value] : window->answers())
    if (value.size() < MPI_MAX_INFO_VAL) below().Info_set(*info_used, key.c_str(), value.c_str());
  return MPI_SUCCESS;
}

// Of the hints, how a window ends and how it is accessed can still change; the rest is settled at allocation.
Status change_hints(Window& window, MPI_Info info) {
  sill::WindowHints& hints = window.hints();
  sill::HintPairs pairs = sill::format_hints(hints);
  for (auto& pair : sill::mpi::info_pairs(info, &sill::is_hint)) {
    const auto* key = sill::find_hint(pair.first);
    std::erase_if(pairs, [&](const auto& old) { return sill::find_hint(old.first) == key; });
    pairs.push_back(std::move(pair));
  }
  const auto changed = sill::parse_hints(pairs);
  if (Status status = window.comm()->agree(changed.status()); !status.ok()) return status;
  struct Ending {
    bool unlink;
    bool discard;
  };
  const Ending mine{changed.value().unlink, changed.value().discard};
  const auto endings = window.comm()->gather_all(mine);
  if (!endings.ok()) return endings.status();
  for (const Ending& other : endings.value())
    if (other.unlink != endings.value()[0].unlink || other.discard != endings.value()[0].discard)
      return {sill::Cause::hints_differ,
              "MPI_Win_set_info: storage_alloc_unlink and storage_alloc_discard must be the same on all ranks"};
  hints.unlink = mine.unlink;
  if (auto* own = window.own_segment()) own->expect_name(!mine.unlink);
  hints.discard = mine.discard;
  const bool advise = hints.access_style != changed.value().access_style;
  hints.access_style = changed.value().access_style;
  return window.comm()->agree(advise ? window.advise() : Status());
}

template <class Next>
int on_Win_set_info(Next next, MPI_Win win, MPI_Info info) {
  Window* window = sill::window::find(win);
  if (window && window->allocated())
    if (const Status status = change_hints(*window, info); !status.ok()) return sill::mpi::raise_on_window(win, status);
  return next(win, info);
}

template <class Unit>
int answer_query(const Window& window, int rank, MPI_Aint* size, Unit* disp_unit, void* baseptr) {
  const auto& placements = window.placements();
  if (rank == MPI_PROC_NULL) {
    const auto first = std::find_if(placements.begin(), placements.end(), [](const auto& p) { return p.size > 0; });
    rank = first == placements.end() ? 0 : static_cast<int>(first - placements.begin());
  }
  void* base = window.whole_base(rank);
  *size = base ? static_cast<MPI_Aint>(placements[rank].size) : 0;
  *disp_unit = static_cast<Unit>(placements[rank].disp_unit);
  std::memcpy(baseptr, &base, sizeof base);
  return MPI_SUCCESS;
}

template <class Next, class Unit>
int on_Win_shared_query(Next next, MPI_Win win, int rank, MPI_Aint* size, Unit* disp_unit, void* baseptr) {
  const Window* window = sill::window::find(win);
  const bool valid = window && window->allocated() &&
                     (rank == MPI_PROC_NULL || (rank >= 0 && rank < static_cast<int>(window->placements().size())));
  return valid ? answer_query(*window, rank, size, disp_unit, baseptr) : next(win, rank, size, disp_unit, baseptr);
}

[[maybe_unused]] constexpr auto on_Win_shared_query_c = [](auto... args) { return on_Win_shared_query(args...); };

}  // namespace

SILL_ENTRY(Win_get_attr, (MPI_Win win, int win_keyval, void* attribute_val, int* flag),
           (next, win, win_keyval, attribute_val, flag))
SILL_ENTRY(Win_get_info, (MPI_Win win, MPI_Info* info_used), (next, win, info_used))
SILL_ENTRY(Win_set_info, (MPI_Win win, MPI_Info info), (next, win, info))
SILL_ENTRY(Win_shared_query, (MPI_Win win, int rank, MPI_Aint* size, int* disp_unit, void* baseptr),
           (next, win, rank, size, disp_unit, baseptr))
#if MPI_VERSION >= 4
SILL_ENTRY(Win_shared_query_c, (MPI_Win win, int rank, MPI_Aint* size, MPI_Aint* disp_unit, void* baseptr),
           (next, win, rank, size, disp_unit, baseptr))
#endif
