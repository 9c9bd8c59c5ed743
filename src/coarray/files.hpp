#pragma once
// The files of kept coarrays: where they lie, whose they are, and whether what is there may be taken.
#include <string>

#include "base/coarray_options.hpp"
#include "base/coarray_record.hpp"
#include "base/hints.hpp"
#include "base/status.hpp"
#include "coarray/names.hpp"

namespace sill::coarray {

// The PCAF_* variables; read once.
const Result<CoarrayOptions>& options();

struct Place {
  WindowHints hints;
  bool restored = false;
  bool is_new = false;  // no image has anything of it that a sync covered
};

// Where this image keeps a coarray of `size` bytes: in the file `path`, or that of the options if it is "". What is
// there without having been covered by a sync is removed. Cause::bad_file if it is another program's, or was left by
// another number of images or with another size. Collective over the current team; all images get the same status.
// `moves`: the coarray has a value already, which goes where no file has held anything.
Result<Place> place_of(const Name& name, std::size_t size, const CoarrayOptions& options, const std::string& path = "",
                       bool moves = false);

}  // namespace sill::coarray
