#pragma once
// Vector subscripts: elements that lists of indices choose.
#include <cstddef>
#include <optional>
#include <vector>

#include "coarray/section.hpp"

namespace sill::coarray {

// Offsets that sections point to: they stay where they are until it goes, also when it is moved.
class Offsets {
 public:
  // The offsets in bytes of the elements that `count` indices choose, of a dimension that begins at `lower` and has an
  // element every `unit` bytes. nullptr for none, and for integers of another kind than 1, 2, 4 and 8.
  const std::ptrdiff_t* add(const void* indices, int kind, std::size_t count, std::ptrdiff_t lower,
                            std::ptrdiff_t unit);

 private:
  std::vector<std::vector<std::ptrdiff_t>> lists_;
};

// What the subscripts, one for each dimension, choose of an array of at most `size` bytes, to be transferred to or from
// a section of `other_rank` dimensions. The descriptor is that of the whole array, but its upper bounds mean nothing.
// No value for what libcaf has to do.
std::optional<Section> choose(const Descriptor& array, std::byte* begin, std::size_t size,
                              const VectorSubscript* subscripts, int other_rank, Offsets& offsets);

}  // namespace sill::coarray
