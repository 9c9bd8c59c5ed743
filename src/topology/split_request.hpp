#pragma once
// What a call of MPI_Comm_split_type asks for, and whether that is for Sill.
#include <mpi.h>

#include <optional>
#include <string>

#include "base/split_hints.hpp"
#include "base/status.hpp"

namespace sill::topology {

// Each rank's wish is a bit, so that all learn of all by one reduction.
enum Wish : unsigned {
  wish_nothing = 0,          // MPI_UNDEFINED: along with what the others want
  wish_pass = 1u << 0,       // for the MPI library
  wish_open = 1u << 1,       // a neighborhood, but not which
  wish_guided = 1u << 2,     // a guided split without a resource
  wish_directory = 1u << 3,  // by directory, or faulty
};

struct SplitRequest {
  unsigned wish = wish_pass;
  int split_type = MPI_UNDEFINED;  // as the MPI library knows it
  Status status{};                 // what is wrong with it
  SplitHints hints{};
};

// What a call asks for. Local.
SplitRequest read_split_request(int split_type, MPI_Info info);

// A split by the directory of these pairs; what is wrong with them is in its status.
SplitRequest directory_request(const HintPairs& pairs);

// This rank's directory, by its name; nullopt for a rank that gives none. `rank` stands for %r where there is no world.
Result<std::optional<std::string>> directory_of(const SplitRequest& request, int rank);

// The wishes of all ranks of both groups, if there are two. Collective.
Result<unsigned> all_wishes(MPI_Comm comm, unsigned mine, bool inter);

}  // namespace sill::topology
