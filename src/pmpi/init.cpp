// MPI 4.1, chapter 11: start and end of MPI, and the text of Sill's errors (section 9.4).
#include <cstdio>
#include <cstdlib>

#include "base/config.hpp"
#include "base/log.hpp"
#include "mpi/comm.hpp"
#include "mpi/errors.hpp"
#include "mpi/team.hpp"
#include "mpi/worlds.hpp"
#include "pmpi/entry.hpp"
#include "window/memory.hpp"
#include "window/report.hpp"
#include "window/window.hpp"

namespace {

using sill::Status;

void greet(int code) {
  if (code != MPI_SUCCESS) return;
  sill::set_log_rank(sill::mpi::world_rank(-1));
  sill::log(sill::LogLevel::debug, "version " SILL_VERSION ", family " SILL_FAMILY);
}

// Open MPI attaches at most 64 separate regions to a dynamic window. Small blocks of its own MPI_Alloc_mem share
// regions; blocks on storage are one each.
void make_room_for_regions() {
#ifdef SILL_FAMILY_OMPI
  constexpr int keep_the_users = 0;
  const auto& rules = sill::window_rules();
  if (rules.ok() && !rules.value().empty() && ::setenv("OMPI_MCA_osc_rdma_max_attach", "8192", keep_the_users) != 0)
    sill::log(sill::LogLevel::debug, "osc_rdma_max_attach could not be raised");
#endif
}

constexpr auto on_Init = [](auto next, auto... args) {
  make_room_for_regions();
  const int code = next(args...);
  greet(code);
  sill::mpi::note_parents();
  return code;
};
constexpr auto on_Init_thread = on_Init;

// Windows that the program never freed are made durable like those it did.
Status sync_open_windows() {
  Status first;
  for (sill::window::Window* window : sill::window::open_windows()) {
    if (window->hints().discard || window->hints().unlink) continue;
    first.note(window->sync());
  }
  return first;
}

template <class Next>
int on_Finalize(Next next) {
  Status status = sync_open_windows();
  status.note(sill::window::finish_memories());
  status = sill::mpi::Team(MPI_COMM_WORLD).agree(status);
  sill::window::print_report();
  // As long as there is an MPI that the program's error handler can use.
  const int code = sill::mpi::raise_on_comm(MPI_COMM_WORLD, status);
  const int ended = next();
  return ended == MPI_SUCCESS ? code : ended;
}

template <class Next>
int on_Error_string(Next next, int errorcode, char* string, int* resultlen) {
  const std::string* text = sill::mpi::text_of(errorcode);
  if (!text) return next(errorcode, string, resultlen);
  *resultlen = std::snprintf(string, MPI_MAX_ERROR_STRING, "%s", text->c_str());
  return MPI_SUCCESS;
}

}  // namespace

SILL_ENTRY(Init, (int* argc, char*** argv), (next, argc, argv))
SILL_ENTRY(Init_thread, (int* argc, char*** argv, int required, int* provided), (next, argc, argv, required, provided))
SILL_ENTRY(Finalize, (void), (next))
SILL_ENTRY(Error_string, (int errorcode, char* string, int* resultlen), (next, errorcode, string, resultlen))

#if MPI_VERSION >= 4
namespace {

template <class Next>
int on_Session_init(Next next, MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  const int code = next(info, errhandler, session);
  greet(code);
  return code;
}

template <class Next>
int on_Session_finalize(Next next, MPI_Session* session) {
  const int code = sill::mpi::to_code(sync_open_windows());
  if (code != MPI_SUCCESS) {
    const sill::mpi::ProgramTurn outside;
    sill::mpi::below().Session_call_errhandler(*session, code);
  }
  const int ended = next(session);
  return ended == MPI_SUCCESS ? code : ended;
}

}  // namespace

SILL_ENTRY(Session_init, (MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session),
           (next, info, errhandler, session))
SILL_ENTRY(Session_finalize, (MPI_Session * session), (next, session))
#endif
