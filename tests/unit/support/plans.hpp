#pragma once
// What ranks ask for and open, and the MPI libraries below, in tests of plans.
#include "mpi/quirks.hpp"
#include "window/plan.hpp"

namespace sill::test {

using window::Request;
using window::StoreFacts;

// A rank that puts `share` of `size` bytes on storage.
inline Request request_of(std::uint64_t size, double share = 1.0, std::uint64_t offset = 0) {
  WindowHints hints;
  hints.alloc_type = AllocType::storage;
  hints.factor.share = share;
  hints.offset = offset;
  return window::make_request(hints, size, 8);
}

// A rank's store: the number stands for a file. Machine 0: on a file system that machines share.
inline StoreFacts store(std::uint64_t number, std::uint64_t machine = 1) {
  StoreFacts opened;
  opened.open = true;
  opened.identity = {.machine = machine, .device = 1, .inode = number};
  return opened;
}

inline constexpr mpi::Quirks mpich_4 = mpi::quirks_of({mpi::Library::mpich, 4, 2});
inline constexpr mpi::Quirks mpich_5 = mpi::quirks_of({mpi::Library::mpich, 5, 0});
inline constexpr mpi::Quirks open_mpi_4 = mpi::quirks_of({mpi::Library::open_mpi, 4, 1});
inline constexpr mpi::Quirks open_mpi_5 = mpi::quirks_of({mpi::Library::open_mpi, 5, 0});
inline constexpr mpi::Quirks unknown = mpi::quirks_of({});

}  // namespace sill::test
