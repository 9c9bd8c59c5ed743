// MPI 4.1, section 7.4: communicators of the ranks that share something.
#include "mpi/errors.hpp"
#include "mpi/worlds.hpp"
#include "pmpi/entry.hpp"
#include "topology/split.hpp"
#include "topology/split_request.hpp"

namespace {

using sill::Cause;
using sill::Status;
using sill::mpi::raise_on_comm;
using namespace sill::topology;

// MPI_UNDEFINED says nothing of what the other ranks want, so every split asks them all.
template <class Next>
int on_Comm_split_type(Next next, MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm) {
  int inter = 0;
  if (comm == MPI_COMM_NULL || sill::mpi::below().Comm_test_inter(comm, &inter) != MPI_SUCCESS)
    return next(comm, split_type, key, info, newcomm);
  if (!sill::mpi::all_have_sill(comm)) return next(comm, split_type, key, info, newcomm);
  const SplitRequest request = read_split_request(split_type, info);
  const auto all = all_wishes(comm, request.wish, inter != 0);
  if (!all.ok()) return raise_on_comm(comm, all.status());
  const unsigned wishes = all.value();
  if (!(wishes & (wish_directory | wish_open)) || (wishes & (wish_directory | wish_pass)) == wish_pass)
    return next(comm, request.split_type, key, info, newcomm);
  *newcomm = MPI_COMM_NULL;
  if (!(wishes & wish_directory)) return MPI_SUCCESS;
  if (wishes & wish_pass)
    return raise_on_comm(
        comm, {Cause::hints_differ, "MPI_Comm_split_type: some ranks ask for a directory, others for something else"});
  if (inter)
    return raise_on_comm(
        comm, {Cause::unsupported, "MPI_Comm_split_type: an inter-communicator can't be split by directory"});
  return split({comm, key, newcomm}, request);
}

}  // namespace

SILL_ENTRY(Comm_split_type, (MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm),
           (next, comm, split_type, key, info, newcomm))
