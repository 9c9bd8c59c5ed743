#pragma once
// Front: what makes windows for something of its own, and notes beside their stores what that is.
#include "base/status.hpp"
#include "storage/file.hpp"
#include "storage/record.hpp"

namespace sill::window {

// All of it is local, for a window of storage that lives. The rank that leads a store tells of it for all of its ranks.
class Front {
 public:
  virtual ~Front() = default;
  // Adds to the record of the store that this rank leads, which is about to be written. `created`: the file is new, so
  // what an older record says isn't of it.
  virtual Status describe(const storage::File& file, bool created, storage::Record& record) = 0;
  // The window has been synced for the last time and will be freed. By ranks that lead a store.
  virtual Status close(const storage::File& file) = 0;
  // This rank would have kept its bytes, but others give up theirs, so nobody may find any of them again. `led`:
  // nullptr on ranks that don't lead a store.
  virtual Status give_up(const storage::File* led) = 0;
};

}  // namespace sill::window
