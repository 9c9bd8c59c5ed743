#pragma once
// What programs that this one starts by MPI_Comm_spawn get from it: the library and the rules.
#include <string>
#include <vector>

namespace sill {

// Which of the worlds (MPI_COMM_WORLDs) of a job this is: "" for the one that the launcher started, else its number
// among those that started it, such as "s0.1" for the first that rank 0 spawned, and "s0.1-s2.1" one generation on.
std::string world_name();

// A window's name with that of its world in front.
std::string name_in_world(const std::string& name);

// Whether this world's program was started by ranks that all run with Sill.
bool spawned_by_sill();

// How env(1) is told to start `command` in `folder` ("": the current one); "" if there is no such program, or if it
// would not load what LD_PRELOAD names (linked statically, set-uid).
std::string preloadable_command(const std::string& command, const std::string& folder);

// VARIABLE=VALUE for env(1), so that a child has `library` preloaded and the same rules, and knows who it is. Empty if
// the library's path can't be preloaded.
std::vector<std::string> child_environment(const std::string& library, const std::string& world, bool all_with_sill);

}  // namespace sill
