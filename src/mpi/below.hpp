#pragma once
// The MPI below: the functions of the MPI library that the program runs with, found at run time behind our own entries.
// Sill calls MPI only through this table, so its own calls never come back to it, and the MPICH families need no link.
#include <mpi.h>

#include <string_view>

#include "mpi/quirks.hpp"

namespace sill::mpi {

#if MPI_VERSION >= 4
#define SILL_VERSION_CALLS(X) X(Info_get_string) X(Session_call_errhandler)
#else
#define SILL_VERSION_CALLS(X) X(Info_get)
#endif

// clang-format off
#define SILL_BELOW_CALLS(X)                                                                                        \
  X(Abort) X(Add_error_code) X(Add_error_string) X(Allgather) X(Allreduce) X(Barrier) X(Bcast)                     \
  X(Comm_call_errhandler) X(Comm_create_keyval) X(Comm_free) X(Comm_get_attr) X(Comm_get_errhandler)                   \
  X(Comm_get_parent) X(Comm_group) X(Comm_rank) X(Comm_remote_group)                                               \
  X(Comm_set_attr) X(Comm_set_errhandler) X(Comm_size) X(Comm_split) X(Comm_split_type) X(Comm_test_inter)         \
  X(Errhandler_free) X(Error_class) X(Error_string) X(Finalized) X(Gather) X(Gatherv) X(Get)                       \
  X(Get_library_version) X(Group_free) X(Group_intersection) X(Group_rank) X(Group_size) X(Group_union)           \
  X(Group_translate_ranks) X(Info_create) X(Info_delete) X(Info_dup) X(Info_free) X(Info_get_nkeys)                \
  X(Info_get_nthkey) X(Info_set) X(Initialized) X(Iprobe) X(Irecv) X(Isend) X(Query_thread) X(Scatter)             \
  X(Type_commit) X(Type_contiguous) X(Type_create_hindexed_block) X(Type_create_hvector) X(Type_free)              \
  X(Type_get_envelope) X(Type_get_extent)                                                                          \
  X(Type_size) X(Waitall) X(Win_allocate) X(Win_allocate_shared) X(Win_call_errhandler) X(Win_create)              \
  X(Win_create_keyval) X(Win_flush) X(Win_free) X(Win_get_attr) X(Win_get_errhandler) X(Win_set_attr)              \
  X(Win_set_errhandler)                                                                                            \
  X(Win_shared_query)                                                                                              \
  SILL_VERSION_CALLS(X)
// clang-format on

struct Below {
#define X(name) decltype(&PMPI_##name) name;
  SILL_BELOW_CALLS(X)
#undef X
};

// The table, filled at first use. A function the library lacks is a null pointer; `below_is_whole` says if any is.
const Below& below();
bool below_is_whole();

// Whether MPI_COMM_WORLD is there: after MPI_Init, before MPI_Finalize.
bool between_init_and_finalize();

// The next definition of a symbol behind libsill's own: a tool's, or the MPI library's, also one that was loaded
// privately (as mpi4py does). nullptr if there is none.
void* next_symbol(const char* name);

// Whether a loaded object is an MPI library, by its path.
bool is_mpi_library(std::string_view path);

// Which MPI library is below, and what is particular about it.
Version version();
Quirks quirks();

}  // namespace sill::mpi
