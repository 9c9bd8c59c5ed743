#pragma once
// What the record of a file tells of the coarrays in it: whose they are.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "storage/record.hpp"

namespace sill::coarray {

struct CoarrayRecord {
  // `fresh`: no sync has covered it yet, so its bytes mean nothing. `freed`: the program itself deallocated it.
  enum class State { fresh, kept, freed };
  std::string program;      // name of the executable
  std::string build;        // of the executable, for coarrays known by order only; "" for those with a name
  std::string name;         // "module::variable", or where it was registered
  std::string team;         // numbers of the teams it was allocated in, "" for the initial team
  std::uint64_t size = 0;   // bytes of each image
  std::uint64_t image = 0;  // from 1; 0 for a file that all images share
  std::uint64_t images = 0;
  State state = State::fresh;
  // Where it begins in a file that holds all coarrays of its image; none for a file of its own.
  std::optional<std::uint64_t> offset = {};

  friend bool operator==(const CoarrayRecord&, const CoarrayRecord&) = default;
  // As it is read again: in names that aren't UTF-8, what isn't has been replaced.
  CoarrayRecord as_written() const;
};
using CoarrayRecords = std::vector<CoarrayRecord>;

// The coarrays of a record: one without an offset, or those of all coarrays of an image, each with an offset and a name
// of its own, in order of creation. Cause::bad_file if it tells of none, or of such as this Sill doesn't read.
Result<CoarrayRecords> coarrays_in(const storage::Record& record);
void put_coarrays(storage::Record& record, const CoarrayRecords& coarrays);

// The same of the record beside the file at `path`; nothing if there is none. Errors name its path.
Result<std::optional<CoarrayRecords>> read_coarrays(const std::string& path);
// Does what `change` does to the coarrays in the record of a file; durable when it returns. `synced`: a sync has just
// ended, which the record's time is to tell.
Status change_coarrays(const storage::File& file, bool synced, const std::function<void(CoarrayRecords&)>& change);
// Takes one out, if it is there.
Status drop_coarray(const storage::File& file, const std::string& name);

// The first offset, a multiple of `align` and not below `from`, at which `size` bytes meet none of the coarrays.
std::uint64_t free_offset(CoarrayRecords coarrays, std::uint64_t size, std::uint64_t align, std::uint64_t from);

}  // namespace sill::coarray
