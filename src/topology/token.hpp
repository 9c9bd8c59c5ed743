#pragma once
// Traces that ranks leave in a directory for each other to see, and that are gone when the split is.
#include <array>
#include <cstdint>
#include <ctime>
#include <string>

#include "base/status.hpp"
#include "topology/grouping.hpp"
#include "topology/identity.hpp"

namespace sill::topology {

// Names one round of a split: random, so that no two look alike. A network file system may remember for a while that a
// name was not there, so no name is looked for in a second round.
using SplitId = std::array<std::uint64_t, 2>;
Result<SplitId> random_split_id();

// Operations on a directory that its file system had to answer.
struct Operations {
  std::uint64_t creates = 0;
  std::uint64_t looks = 0;
  std::uint64_t removes = 0;
};

// What one rank does in its directory during a round. What it has made is removed with the object.
class Traces {
 public:
  // Operations are added to `operations`.
  Traces(const Directory& directory, SplitId id, Operations& operations);
  ~Traces();
  Traces& operator=(Traces&&) = delete;

  // The part of a task that comes before all ranks have met: makes this rank's traces.
  Status prepare(Task task, int rank);
  // The part behind: looks for those of others.
  Result<Answer> finish(Task task, int rank);
  // Removes what was made; a failure is logged, for the split itself is over.
  void remove();

 private:
  Status make_token(int rank);
  Status make_folder(int rank, bool must_be_first);
  Status note_failure(const char* what);
  Result<Answer> failed_look(int error) const;
  Result<Answer> look();
  Result<Answer> list();

  const Directory& directory_;
  std::string name_;
  Operations& operations_;
  Outcome prepared_ = Outcome::idle;
  bool token_made_ = false;
  bool folder_seen_ = false;
  int file_ = -1;  // the rank whose file was made in the folder
};

// Removes what splits of killed jobs of this user have left: what is an hour older than `now`, by the file system's
// clock.
void remove_old_traces(const Directory& directory, std::time_t now, Operations& operations);

// Whether a name is one that a split gives.
bool is_trace(const std::string& name);

}  // namespace sill::topology
