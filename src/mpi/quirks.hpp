#pragma once
// Which MPI library is below, and what is particular about it. Needs no MPI.

namespace sill::mpi {

enum class Library { mpich, open_mpi, other };

struct Version {
  Library library = Library::other;
  int major = 0;
  int minor = 0;
};

// What Sill must know of an MPI library. One that it doesn't know is taken for one without any of this.
struct Quirks {
  bool shares_within_world = false;  // memory is shared among ranks of one MPI_COMM_WORLD only
  bool shares_across_nodes = false;  // MPI_Win_allocate shares it on each node, also of several
  bool shares_slowly = false;        // shared windows have a tenth of the speed of others: all goes by active messages
  bool shares_at_random = false;     // shared windows are mapped at addresses drawn by lot
  bool shares_limited = false;       // MPI_Win_allocate_shared checks that /dev/shm has room for the segments
  bool begins_inside_pages = false;  // segments do
  bool cannot_create_alone = false;  // MPI_Win_create refuses a communicator of one rank
  bool flushes_early = false;        // MPI_Win_flush_all and MPI_Win_unlock_all may return before gets are complete
  bool loses_last_words = false;     // the text of some fatal errors, on its way to the launcher
};

constexpr Quirks quirks_of(const Version& version) {
  const bool mpich = version.library == Library::mpich;
  const bool open_mpi = version.library == Library::open_mpi;
  const bool before_5 = version.major < 5;
  return {
      .shares_within_world = mpich,
      .shares_across_nodes = mpich && !before_5,
      .shares_slowly = mpich && before_5,
      .shares_at_random = mpich && before_5,
      .shares_limited = open_mpi,
      .begins_inside_pages = open_mpi && before_5,
      .cannot_create_alone = open_mpi && before_5,
      .flushes_early = mpich && before_5,
      .loses_last_words = open_mpi && before_5,
  };
}

}  // namespace sill::mpi
