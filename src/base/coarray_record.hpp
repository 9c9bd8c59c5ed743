#pragma once
// What a sidecar tells of a coarray's file: whose it is. Written and read here, so that both sides agree.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace sill {

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
};

// The record as a JSON object.
std::string to_json(const CoarrayRecord& record);

// The record in a sidecar's text; Cause::bad_file if there is none, or one that this Sill doesn't read.
Result<CoarrayRecord> find_coarray_record(std::string_view sidecar);

// The sidecar's text with another record in place of its own; Cause::bad_file as above.
Result<std::string> replace_coarray_record(std::string_view sidecar, const CoarrayRecord& record);

}  // namespace sill
