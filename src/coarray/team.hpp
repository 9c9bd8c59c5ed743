#pragma once
// The current team: its communicator, and Sill's own beside it.
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "mpi/comm.hpp"

namespace sill::coarray {

struct TeamView {
  MPI_Comm comm = MPI_COMM_NULL;  // libcaf's
  std::shared_ptr<const mpi::OwnComm> own;
  std::string numbers;  // of this team and those it was formed in, "2.1"; "" for the initial team
  bool initial() const { return numbers.empty(); }
};

// That of now; valid once libcaf has been initialized, until it is finalized.
const TeamView& team();
// Counts changes of team: what was derived from the old one is stale.
std::uint64_t team_epoch();

// To be called by all images of the team when libcaf has been initialized, or has changed or ended a team.
Status begin_teams();
Status enter_team(int number);
Status leave_team();
// Before libcaf frees its communicators.
void end_teams();

}  // namespace sill::coarray
