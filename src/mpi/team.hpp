#pragma once
// Team: what the ranks of a communicator tell each other, as plain structs; and their agreement on a Status. All is
// collective over the communicator unless it says otherwise, and errors are those of the MPI library on this rank.
#include <mpi.h>

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/status.hpp"

namespace sill::mpi {

struct Team {
  MPI_Comm comm = MPI_COMM_NULL;  // whose errors come back as codes
  int rank = 0;
  int size = 1;

  Team() = default;
  // That of a communicator. Local.
  explicit Team(MPI_Comm of);

  // Every rank gets the same status: ok, or the lowest failing rank's, "rank 3: ...".
  Status agree(const Status& mine) const;
  // Nobody goes on before all are here.
  Status meet() const;

  // One struct of each rank, by rank, on all of them.
  template <class Struct>
  Result<std::vector<Struct>> gather_all(const Struct& mine) const {
    std::vector<Struct> all(static_cast<std::size_t>(size));
    return given(gather_all_bytes(&mine, bytes_of<Struct>(1), all.data()), std::move(all));
  }
  // As many of each rank, by rank, on the root; nothing on the others.
  template <class Struct>
  Result<std::vector<Struct>> gather(std::span<const Struct> mine, int root) const {
    std::vector<Struct> all(rank == root ? mine.size() * static_cast<std::size_t>(size) : 0);
    return given(gather_bytes(mine.data(), bytes_of<Struct>(mine.size()), all.data(), root), std::move(all));
  }
  // The same where each rank may have another number of them; the root knows them all.
  template <class Struct>
  Result<std::vector<Struct>> gather(std::span<const Struct> mine, const std::vector<int>& counts, int root) const {
    std::size_t total = 0;
    std::vector<int> bytes;
    for (const int count : counts) {
      total += static_cast<std::size_t>(count);
      bytes.push_back(bytes_of<Struct>(static_cast<std::size_t>(count)));
    }
    std::vector<Struct> all(total);
    return given(gather_bytes(mine.data(), bytes_of<Struct>(mine.size()), all.data(), bytes, root), std::move(all));
  }
  // What the root has for each rank, `each` of them by rank.
  template <class Struct>
  Result<std::vector<Struct>> scatter(std::span<const Struct> all, std::size_t each, int root) const {
    std::vector<Struct> mine(each);
    return given(scatter_bytes(all.data(), bytes_of<Struct>(each), mine.data(), root), std::move(mine));
  }
  // One struct to and from each of the given ranks, in their order; collective over these.
  template <class Struct>
  Result<std::vector<Struct>> exchange(const std::vector<int>& ranks, const Struct& mine) const {
    std::vector<Struct> theirs(ranks.size());
    return given(exchange_bytes(ranks, &mine, bytes_of<Struct>(1), theirs.data()), std::move(theirs));
  }

 private:
  template <class Struct>
  static int bytes_of(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<Struct>);
    return static_cast<int>(count * sizeof(Struct));
  }
  template <class Struct>
  static Result<std::vector<Struct>> given(const Status& status, std::vector<Struct>&& structs) {
    if (!status.ok()) return status;
    return std::move(structs);
  }
  Status gather_all_bytes(const void* mine, int bytes, void* all) const;
  Status gather_bytes(const void* mine, int bytes, void* all, int root) const;
  Status gather_bytes(const void* mine, int bytes, void* all, const std::vector<int>& bytes_of_all, int root) const;
  Status scatter_bytes(const void* all, int bytes, void* mine, int root) const;
  Status exchange_bytes(const std::vector<int>& ranks, const void* mine, int bytes, void* theirs) const;
};

}  // namespace sill::mpi
