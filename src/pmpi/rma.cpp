// MPI 4.1, section 12.3: communication calls. They pass straight on, but for windows whose segments begin elsewhere
// than the MPI library thinks: there the displacement is translated.
#include "pmpi/entry.hpp"
#include "window/window.hpp"

namespace {

MPI_Aint translated(MPI_Win win, int target_rank, MPI_Aint target_disp) {
  const sill::window::Window* window = sill::window::find(win);
  return window && window->hidden().translated ? window->translate(target_rank, target_disp) : target_disp;
}

}  // namespace

#define SILL_RMA_SYMBOL(symbol, params, args)                                   \
  SILL_EXPORT int symbol params {                                               \
    static std::atomic<decltype(&symbol)> slot{nullptr};                        \
    const auto next = sill::pmpi::next_of(slot, #symbol);                       \
    if (!sill::window::any_translated() || sill::mpi::Inside::now()) [[likely]] \
      return next args;                                                         \
    const sill::mpi::Inside inside;                                             \
    target_disp = translated(win, target_rank, target_disp);                    \
    return next args;                                                           \
  }

#define SILL_RMA(name, params, args)        \
  SILL_RMA_SYMBOL(MPI_##name, params, args) \
  SILL_RMA_SYMBOL(PMPI_##name, params, args)

// The calls in two forms: counts of type int, and MPI_Count for the _c names.
#define SILL_RMA_COUNTED(suffix, count)                                                                                \
  SILL_RMA(Put##suffix,                                                                                                \
           (const void* origin_addr, count origin_count, MPI_Datatype origin_datatype, int target_rank,                \
            MPI_Aint target_disp, count target_count, MPI_Datatype target_datatype, MPI_Win win),                      \
           (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win)) \
  SILL_RMA(Get##suffix,                                                                                                \
           (void* origin_addr, count origin_count, MPI_Datatype origin_datatype, int target_rank,                      \
            MPI_Aint target_disp, count target_count, MPI_Datatype target_datatype, MPI_Win win),                      \
           (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win)) \
  SILL_RMA(                                                                                                            \
      Accumulate##suffix,                                                                                              \
      (const void* origin_addr, count origin_count, MPI_Datatype origin_datatype, int target_rank,                     \
       MPI_Aint target_disp, count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win),                \
      (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, op, win))  \
  SILL_RMA(Get_accumulate##suffix,                                                                                     \
           (const void* origin_addr, count origin_count, MPI_Datatype origin_datatype, void* result_addr,              \
            count result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,                   \
            count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win),                                 \
           (origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype, target_rank,       \
            target_disp, target_count, target_datatype, op, win))                                                      \
  SILL_RMA(                                                                                                            \
      Rput##suffix,                                                                                                    \
      (const void* origin_addr, count origin_count, MPI_Datatype origin_datatype, int target_rank,                     \
       MPI_Aint target_disp, count target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request),     \
      (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win,       \
       request))                                                                                                       \
  SILL_RMA(                                                                                                            \
      Rget##suffix,                                                                                                    \
      (void* origin_addr, count origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,     \
       count target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request),                           \
      (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win,       \
       request))                                                                                                       \
  SILL_RMA(Raccumulate##suffix,                                                                                        \
           (const void* origin_addr, count origin_count, MPI_Datatype origin_datatype, int target_rank,                \
            MPI_Aint target_disp, count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,            \
            MPI_Request* request),                                                                                     \
           (origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, op,   \
            win, request))                                                                                             \
  SILL_RMA(Rget_accumulate##suffix,                                                                                    \
           (const void* origin_addr, count origin_count, MPI_Datatype origin_datatype, void* result_addr,              \
            count result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,                   \
            count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request),           \
           (origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype, target_rank,       \
            target_disp, target_count, target_datatype, op, win, request))

SILL_RMA_COUNTED(, int)
#if MPI_VERSION >= 4
SILL_RMA_COUNTED(_c, MPI_Count)
#endif
SILL_RMA(Fetch_and_op,
         (const void* origin_addr, void* result_addr, MPI_Datatype datatype, int target_rank, MPI_Aint target_disp,
          MPI_Op op, MPI_Win win),
         (origin_addr, result_addr, datatype, target_rank, target_disp, op, win))
SILL_RMA(Compare_and_swap,
         (const void* origin_addr, const void* compare_addr, void* result_addr, MPI_Datatype datatype, int target_rank,
          MPI_Aint target_disp, MPI_Win win),
         (origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp, win))
