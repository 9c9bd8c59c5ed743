#pragma once
// What a sidecar tells of a coarray's file: whose it is. Written and read here, so that both sides agree.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  // Where it begins in a file that holds all coarrays of its image; none for a file of its own.
  std::optional<std::uint64_t> offset = {};
};

// The record as a JSON object.
std::string to_json(const CoarrayRecord& record);

// The records in a sidecar's text: one, without an offset, or those of all coarrays of an image, each with an offset
// and a name of its own, in order of creation. Cause::bad_file if there are none, or such as this Sill doesn't read.
Result<std::vector<CoarrayRecord>> find_coarray_records(std::string_view sidecar);

// The sidecar's text with other records, of the same kind, in place of its own; Cause::bad_file as above.
Result<std::string> replace_coarray_records(std::string_view sidecar, const std::vector<CoarrayRecord>& records);

// The first offset, a multiple of `align` and not below `from`, at which `size` bytes meet none of the records'.
std::uint64_t free_offset(std::vector<CoarrayRecord> records, std::uint64_t size, std::uint64_t align,
                          std::uint64_t from);

}  // namespace sill
