// MPI 4.1, chapter 11: programs that start others, or meet them. What is spawned gets the library and the rules.
#include <atomic>
#include <string>
#include <vector>

#include "base/child.hpp"
#include "base/log.hpp"
#include "mpi/comm.hpp"
#include "mpi/load_order.hpp"
#include "mpi/worlds.hpp"
#include "pmpi/entry.hpp"

namespace {

using sill::mpi::below;

// Each program of a spawn becomes an argument of env(1), which gives it its surroundings on whatever node it starts.
constexpr const char* env_program = "/usr/bin/env";

struct Program {
  const char* command;
  char** arguments;
  MPI_Info info;
  std::string start{};  // what env is given
};

std::string folder_of(MPI_Info info) {
  const auto pairs = sill::mpi::info_pairs(info, [](const std::string& key) { return key == "wdir"; });
  return pairs.empty() ? "" : pairs.front().second;
}

// The numbers of the worlds that this process has spawned as a root, from 1.
std::string next_world() {
  static std::atomic<int> last{0};
  const std::string before = sill::world_name();
  return (before.empty() ? "" : before + "-") + "s" + std::to_string(sill::mpi::world_rank(0)) + "." +
         std::to_string(++last);
}

// What stands before each program; empty if one of them can't be helped. At the root.
std::vector<std::string> words_before(std::vector<Program>& programs, bool all_with_sill) {
  if (programs.empty()) return {};
  for (Program& program : programs) {
    program.start = sill::preloadable_command(program.command, folder_of(program.info));
    if (program.start.empty()) return {};
  }
  if (sill::preloadable_command(env_program, "").empty()) return {};
  return sill::child_environment(sill::mpi::own_library(), next_world(), all_with_sill);
}

// One program's arguments behind the words; both have to live as long.
std::vector<char*> arguments_of(std::vector<std::string>& words, Program& program) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(program.start.data());
  for (char** argument = program.arguments; argument && *argument; ++argument) all.push_back(*argument);
  all.push_back(nullptr);
  return all;
}

// Spawns by `call(words)`, and notes that all of the new world have Sill where that is so.
template <class Call>
int spawn(std::vector<Program>& programs, int root, MPI_Comm comm, MPI_Comm* inter, Call call) {
  sill::mpi::expect_other_worlds();
  const bool all_with_sill = sill::mpi::all_have_sill(comm);
  int rank = -1;
  below().Comm_rank(comm, &rank);
  std::vector<std::string> words;
  if (rank == root) {
    words = words_before(programs, all_with_sill);
    if (words.empty() && !programs.empty())
      sill::log(sill::LogLevel::warn, std::string("MPI_Comm_spawn: ") + programs.front().command +
                                          " can't be given Sill (docs/spawn.md): its windows stay in memory");
  }
  int helped = !words.empty();
  if (all_with_sill) below().Bcast(&helped, 1, MPI_INT, root, comm);
  const int code = call(words);
  if (code == MPI_SUCCESS && all_with_sill && helped) sill::mpi::note_spawned(comm, *inter);
  return code;
}

template <class Next>
int on_Comm_spawn(Next next, const char* command, char* argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm,
                  MPI_Comm* intercomm, int errcodes[]) {
  std::vector<Program> programs{{command, argv == MPI_ARGV_NULL ? nullptr : argv, info}};
  return spawn(programs, root, comm, intercomm, [&](std::vector<std::string>& words) {
    if (words.empty()) return next(command, argv, maxprocs, info, root, comm, intercomm, errcodes);
    return next(env_program, arguments_of(words, programs.front()).data(), maxprocs, info, root, comm, intercomm,
                errcodes);
  });
}

template <class Next>
int on_Comm_spawn_multiple(Next next, int count, char* commands[], char** argvs[], const int maxprocs[],
                           const MPI_Info infos[], int root, MPI_Comm comm, MPI_Comm* intercomm, int errcodes[]) {
  int rank = -1;
  below().Comm_rank(comm, &rank);
  std::vector<Program> programs;  // known to the root alone
  for (int i = 0; rank == root && i < count; ++i)
    programs.push_back({commands[i], argvs == MPI_ARGVS_NULL ? nullptr : argvs[i], infos[i]});
  return spawn(programs, root, comm, intercomm, [&](std::vector<std::string>& words) {
    if (words.empty()) return next(count, commands, argvs, maxprocs, infos, root, comm, intercomm, errcodes);
    std::vector<std::vector<char*>> arguments;
    for (Program& program : programs) arguments.push_back(arguments_of(words, program));
    std::vector<char**> lists;
    for (auto& list : arguments) lists.push_back(list.data());
    std::string name = env_program;
    std::vector<char*> names(programs.size(), name.data());
    return next(count, names.data(), lists.data(), maxprocs, infos, root, comm, intercomm, errcodes);
  });
}

// Programs that meet: nobody knows whether the others run with Sill.
constexpr auto meet = [](auto next, auto... args) {
  sill::mpi::expect_other_worlds();
  return next(args...);
};

constexpr auto on_Comm_accept = meet;
constexpr auto on_Comm_connect = meet;
constexpr auto on_Comm_join = meet;
// Its leaders alone may know where the remote group comes from.
constexpr auto on_Intercomm_create = meet;

}  // namespace

SILL_ENTRY(Comm_spawn,
           (const char* command, char* argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm,
            MPI_Comm* intercomm, int errcodes[]),
           (next, command, argv, maxprocs, info, root, comm, intercomm, errcodes))
SILL_ENTRY(Comm_spawn_multiple,
           (int count, char* commands[], char** argvs[], const int maxprocs[], const MPI_Info infos[], int root,
            MPI_Comm comm, MPI_Comm* intercomm, int errcodes[]),
           (next, count, commands, argvs, maxprocs, infos, root, comm, intercomm, errcodes))
SILL_ENTRY(Comm_accept, (const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm),
           (next, port, info, root, comm, newcomm))
SILL_ENTRY(Comm_connect, (const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm),
           (next, port, info, root, comm, newcomm))
SILL_ENTRY(Comm_join, (int fd, MPI_Comm* intercomm), (next, fd, intercomm))
SILL_ENTRY(Intercomm_create,
           (MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag,
            MPI_Comm* newintercomm),
           (next, local_comm, local_leader, peer_comm, remote_leader, tag, newintercomm))
