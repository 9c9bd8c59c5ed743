#pragma once
// An entry point: both of a function's names, MPI_X and PMPI_X (Fortran calls the second), unwrapped and forwarded.
//
//   SILL_ENTRY(Win_free, (MPI_Win * win), (next, win))
//
// calls `on_Win_free(next, win)`, to be defined before it. `next` is the same name one library further: a tool's
// wrapper or the MPI library. Where such a tool calls the function's other name, that goes straight on.
#include <mpi.h>

#include <atomic>
#include <cstdint>

#include "mpi/below.hpp"
#include "mpi/guard.hpp"
#include "mpi/load_order.hpp"

#define SILL_EXPORT extern "C" __attribute__((visibility("default")))

namespace sill::pmpi {

template <class Function>
Function next_of(std::atomic<Function>& slot, const char* symbol) {
  Function next = slot.load(std::memory_order_relaxed);
  if (next) [[likely]]
    return next;
  next = reinterpret_cast<Function>(mpi::next_symbol(symbol));
  slot.store(next, std::memory_order_relaxed);
  return next;
}

template <class Function>
Function next_of_entry(std::atomic<Function>& slot, const char* symbol) {
  if (!slot.load(std::memory_order_relaxed)) [[unlikely]]
    mpi::note_entry();
  return next_of(slot, symbol);
}

// Drops the first of its arguments: the call as the next library wants it.
template <class Next, class... Args>
int forward(Next next, Args... args) {
  return next(args...);
}

// What tells a call from others of the same function.
template <class Next, class... Args>
std::uint64_t digest(Next, Args... args) {
  return mpi::digest(args...);
}

// Of MPI_Win_free the window, wherever its handle lies.
template <class Next>
std::uint64_t digest(Next, MPI_Win* win) {
  return mpi::digest(win ? *win : MPI_WIN_NULL);
}

}  // namespace sill::pmpi

#define SILL_ENTRY_SYMBOL(name, symbol, params, args)                     \
  SILL_EXPORT int symbol params {                                         \
    static std::atomic<decltype(&symbol)> slot{nullptr};                  \
    const auto next = sill::pmpi::next_of_entry(slot, #symbol);           \
    if (!next) return MPI_ERR_UNSUPPORTED_OPERATION;                      \
    const sill::mpi::Call call{&entry_##name, sill::pmpi::digest args};   \
    if (sill::mpi::Turn::is_again(call)) return sill::pmpi::forward args; \
    const sill::mpi::Turn turn(call);                                     \
    return on_##name args;                                                \
  }

#define SILL_ENTRY(name, params, args)              \
  namespace {                                       \
  const char entry_##name{};                        \
  }                                                 \
  SILL_ENTRY_SYMBOL(name, MPI_##name, params, args) \
  SILL_ENTRY_SYMBOL(name, PMPI_##name, params, args)
