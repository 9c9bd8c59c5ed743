#pragma once
// The files of kept coarrays: where they lie, whose they are, and whether what is there may be taken.
#include <memory>
#include <string>

#include "base/hints.hpp"
#include "base/status.hpp"
#include "coarray/kept_file.hpp"
#include "coarray/names.hpp"
#include "coarray/options.hpp"

namespace sill::coarray {

// The PCAF_* variables; read once.
const Result<Options>& options();

struct Place {
  WindowHints hints;
  std::shared_ptr<KeptFile> file = nullptr;
  bool restored = false;
  bool is_new = false;  // no image has anything of it that a sync covered
};

// Where this image keeps a coarray of `size` bytes: in the file `path`, or that of the options if it is "". What is
// there without having been covered by a sync is removed. Cause::bad_file if it is another program's, or was left by
// another number of images or with another size. Collective over the current team; all images get the same status.
// `moves`: the coarray has a value already, which goes where no file has held anything.
Result<Place> place_of(const Name& name, std::size_t size, const Options& options, const std::string& path = "",
                       bool moves = false);

}  // namespace sill::coarray
