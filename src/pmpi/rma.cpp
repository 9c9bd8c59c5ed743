// MPI 4.1, section 12.3: communication calls. They pass straight on, but for windows whose segments begin elsewhere
// than the MPI library thinks: there the displacement is translated; and for those with direct copies.
#include <mutex>
#include <string_view>

#include "mpi/errors.hpp"
#include "pmpi/entry.hpp"
#include "window/window.hpp"

namespace sill::pmpi {

// Asks to be called whenever windows that need rerouting come or go.
struct Rerouting {
  explicit Rerouting(void (*call)()) { window::when_rerouting_changes(call); }
};

// Whether a call of that name can change a window.
constexpr bool can_write(std::string_view symbol) {
  for (const std::string_view only_reads : {"MPI_Get", "MPI_Rget", "MPI_Get_c", "MPI_Rget_c"})
    if (symbol.ends_with(only_reads)) return false;
  return true;
}

inline int refuse_to_write(MPI_Win win, window::Window& window, const char* symbol) {
  return mpi::raise_on_window(
      win, {Cause::read_only, std::string(symbol) + ": window " + window.name() + " on " +
                                  window.store_path().value_or("storage") + " is only read (storage_alloc_readonly)"});
}

}  // namespace sill::pmpi

// An entry is one jump along its way: to the next library, or through Sill once there is a window that needs it. A
// memory put takes 20 ns, so even a test of a flag would be seen. Ways are chosen anew at the first call, and whenever
// such windows come or go.
//
// `writes`: whether these arguments would change a window. `copied` is true if the transfer has been done without the
// MPI library; it may use `window`.
#define SILL_RMA_SYMBOL(name, symbol, params, args, writes, copied)                                             \
  namespace {                                                                                                   \
  namespace symbol##_route {                                                                                    \
    using Call = decltype(&symbol);                                                                             \
    Call next() {                                                                                               \
      static std::atomic<Call> slot{nullptr};                                                                   \
      return sill::pmpi::next_of(slot, #symbol);                                                                \
    }                                                                                                           \
    int through_sill params {                                                                                   \
      sill::mpi::Call call{&entry_##name, sill::mpi::digest(win, target_rank, target_disp)};                    \
      if (sill::mpi::Turn::is_again(call)) return next() args;                                                  \
      sill::window::Window* window = sill::window::find(win);                                                   \
      if (window && window->readonly() && (writes)) return sill::pmpi::refuse_to_write(win, *window, #symbol);  \
      if (window && window->mpi_window().direct && (copied)) return MPI_SUCCESS;                                \
      if (window && window->mpi_window().translated) target_disp = window->translate(target_rank, target_disp); \
      call.arguments = sill::mpi::digest(win, target_rank, target_disp);                                        \
      const sill::mpi::Turn turn(call);                                                                         \
      return next() args;                                                                                       \
    }                                                                                                           \
    int choose params;                                                                                          \
    std::atomic<Call> way{&choose};                                                                             \
    int choose params {                                                                                         \
      if (!next()) return MPI_ERR_UNSUPPORTED_OPERATION;                                                        \
      std::unique_lock lock(sill::window::rerouting_mutex);                                                     \
      const Call chosen = sill::window::any_rerouted(sill::pmpi::can_write(#symbol)) ? &through_sill : next();  \
      way.store(chosen);                                                                                        \
      lock.unlock();                                                                                            \
      return chosen args;                                                                                       \
    }                                                                                                           \
    const sill::pmpi::Rerouting watch([] { way.store(&choose); });                                              \
  }                                                                                                             \
  }                                                                                                             \
  SILL_EXPORT int symbol params { return symbol##_route::way.load(std::memory_order_relaxed) args; }

#define SILL_RMA_DIRECT(name, params, args, writes, copied)       \
  namespace {                                                     \
  const char entry_##name{};                                      \
  }                                                               \
  SILL_RMA_SYMBOL(name, MPI_##name, params, args, writes, copied) \
  SILL_RMA_SYMBOL(name, PMPI_##name, params, args, writes, copied)
#define SILL_RMA(name, params, args, writes) SILL_RMA_DIRECT(name, params, args, writes, false)

#define SILL_ORIGIN \
  { const_cast<void*>(origin_addr), origin_count, origin_datatype }
#define SILL_TARGET \
  { target_rank, target_disp, target_count, target_datatype }

// Parameters that the calls have in common, and what is passed on of them.
#define SILL_FROM(count) const void *origin_addr, count origin_count, MPI_Datatype origin_datatype
#define SILL_INTO(count) void *origin_addr, count origin_count, MPI_Datatype origin_datatype
#define SILL_RESULT(count) void *result_addr, count result_count, MPI_Datatype result_datatype
#define SILL_AT(count) int target_rank, MPI_Aint target_disp, count target_count, MPI_Datatype target_datatype
#define SILL_ORIGIN_ARGS origin_addr, origin_count, origin_datatype
#define SILL_RESULT_ARGS result_addr, result_count, result_datatype
#define SILL_TARGET_ARGS target_rank, target_disp, target_count, target_datatype

// The calls in two forms: counts of type int, and MPI_Count for the _c names.
#define SILL_RMA_COUNTED(suffix, count)                                                                            \
  SILL_RMA_DIRECT(Put##suffix, (SILL_FROM(count), SILL_AT(count), MPI_Win win),                                    \
                  (SILL_ORIGIN_ARGS, SILL_TARGET_ARGS, win), true,                                                 \
                  (sill::window::put_directly(*window, win, SILL_ORIGIN, SILL_TARGET)))                            \
  SILL_RMA_DIRECT(Get##suffix, (SILL_INTO(count), SILL_AT(count), MPI_Win win),                                    \
                  (SILL_ORIGIN_ARGS, SILL_TARGET_ARGS, win), false,                                                \
                  (sill::window::get_directly(*window, win, SILL_ORIGIN, SILL_TARGET)))                            \
  SILL_RMA(Accumulate##suffix, (SILL_FROM(count), SILL_AT(count), MPI_Op op, MPI_Win win),                         \
           (SILL_ORIGIN_ARGS, SILL_TARGET_ARGS, op, win), op != MPI_NO_OP)                                         \
  SILL_RMA(Get_accumulate##suffix, (SILL_FROM(count), SILL_RESULT(count), SILL_AT(count), MPI_Op op, MPI_Win win), \
           (SILL_ORIGIN_ARGS, SILL_RESULT_ARGS, SILL_TARGET_ARGS, op, win), op != MPI_NO_OP)                       \
  SILL_RMA(Rput##suffix, (SILL_FROM(count), SILL_AT(count), MPI_Win win, MPI_Request * request),                   \
           (SILL_ORIGIN_ARGS, SILL_TARGET_ARGS, win, request), true)                                               \
  SILL_RMA(Rget##suffix, (SILL_INTO(count), SILL_AT(count), MPI_Win win, MPI_Request * request),                   \
           (SILL_ORIGIN_ARGS, SILL_TARGET_ARGS, win, request), false)                                              \
  SILL_RMA(Raccumulate##suffix, (SILL_FROM(count), SILL_AT(count), MPI_Op op, MPI_Win win, MPI_Request * request), \
           (SILL_ORIGIN_ARGS, SILL_TARGET_ARGS, op, win, request), op != MPI_NO_OP)                                \
  SILL_RMA(Rget_accumulate##suffix,                                                                                \
           (SILL_FROM(count), SILL_RESULT(count), SILL_AT(count), MPI_Op op, MPI_Win win, MPI_Request * request),  \
           (SILL_ORIGIN_ARGS, SILL_RESULT_ARGS, SILL_TARGET_ARGS, op, win, request), op != MPI_NO_OP)

SILL_RMA_COUNTED(, int)
#if MPI_VERSION >= 4
SILL_RMA_COUNTED(_c, MPI_Count)
#endif
SILL_RMA(Fetch_and_op,
         (const void* origin_addr, void* result_addr, MPI_Datatype datatype, int target_rank, MPI_Aint target_disp,
          MPI_Op op, MPI_Win win),
         (origin_addr, result_addr, datatype, target_rank, target_disp, op, win), op != MPI_NO_OP)
SILL_RMA(Compare_and_swap,
         (const void* origin_addr, const void* compare_addr, void* result_addr, MPI_Datatype datatype, int target_rank,
          MPI_Aint target_disp, MPI_Win win),
         (origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp, win), true)
