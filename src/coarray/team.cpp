#include "coarray/team.hpp"

#include <vector>

#include "coarray/libcaf.hpp"
#include "coarray/stat.hpp"

namespace sill::coarray {
namespace {

TeamView current;
std::vector<std::string> numbers;
std::uint64_t epoch = 1;

Status look() {
  ++epoch;
  current.comm = *libcaf().current_comm;
  auto own = mpi::own_comm(current.comm);
  if (!own.ok()) return own.status();
  current.own = std::move(own).value();
  current.numbers = numbers.empty() ? "" : numbers.back();
  return {};
}

}  // namespace

const TeamView& team() { return current; }

std::uint64_t team_epoch() { return epoch; }

Status begin_teams() { return look(); }

Status enter_team(int number) {
  numbers.push_back((numbers.empty() ? "" : numbers.back() + ".") + std::to_string(number));
  return look();
}

Status leave_team() {
  if (!numbers.empty()) numbers.pop_back();
  return look();
}

void end_teams() { current = {}; }

SILL_CAF_EXPORT void _gfortran_caf_change_team(Team* team, int unused) {
  {
    const LibcafTurn inside;
    libcaf().next_change_team(team, unused);
  }
  stop_on_error(enter_team(libcaf().next_team_number(nullptr)));
}

SILL_CAF_EXPORT void _gfortran_caf_end_team(Team* team) {
  {
    const LibcafTurn inside;
    libcaf().next_end_team(team);
  }
  stop_on_error(leave_team());
}

}  // namespace sill::coarray
