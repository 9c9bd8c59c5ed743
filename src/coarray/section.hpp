#pragma once
// Sections of arrays, and copies between them: the same bytes at another place, element by element.
#include <cstddef>

#include "coarray/abi.hpp"

namespace sill::coarray {

// Elements of `element` bytes at `begin` and on: `extent` of them in each dimension, `stride` bytes apart or, where a
// vector subscript chose them, at `offsets` from it. What lies behind the rank isn't set.
struct Section {
  std::byte* begin;
  std::size_t element;
  int rank;
  std::size_t extent[most_dimensions];
  std::ptrdiff_t stride[most_dimensions];
  const std::ptrdiff_t* offsets[most_dimensions];  // nullptr where there is a stride

  void add(std::size_t elements, std::ptrdiff_t bytes, const std::ptrdiff_t* chosen = nullptr) {
    extent[rank] = elements;
    stride[rank] = bytes;
    offsets[rank++] = chosen;
  }
  std::size_t count() const {
    std::size_t number = 1;
    for (int i = 0; i < rank; ++i) number *= extent[i];
    return number;
  }
};

// That of a descriptor, with its data at `begin`.
Section section_of(const Descriptor& descriptor, std::byte* begin);

// Whether all of it lies within [begin, begin + size).
bool within(const Section& section, const std::byte* begin, std::size_t size);

// Gives a scalar the shape of `other`, every element being the same. False if the shapes differ.
bool conform(Section& section, const Section& other);

// Copies elements of sections of the same shape. Where they overlap, only if both are contiguous.
void copy(const Section& to, const Section& from);

// Whether the elements follow each other without a gap, in the order of the dimensions.
bool contiguous(const Section& section);

}  // namespace sill::coarray
