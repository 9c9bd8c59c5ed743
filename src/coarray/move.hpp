#pragma once
// What send, get and their kin have in common: a transfer between a section of a coarray of some image and another.
#include "coarray/registry.hpp"
#include "coarray/section.hpp"
#include "coarray/subscript.hpp"

namespace sill::coarray {

// Types, kinds and lengths are the same on both sides, so that the bytes are.
inline bool same_type(const Descriptor& to, int to_kind, const Descriptor& from, int from_kind) {
  return to.type.type == from.type.type && to_kind == from_kind && to.type.element_length == from.type.element_length &&
         to.type.type != type_class;
}

// A section of a coarray, as it lies in this image's own copy of it.
struct Part {
  Coarray* coarray;
  int image;
  Section section;
  Offsets offsets;  // the section's

  bool valid() const { return within(section, coarray->own_base(), coarray->size()); }
};

// Stores or loads; false if libcaf has to do it. `may_overlap`: the two may be the same memory.
bool store(const Part& to, Section from, bool may_overlap);
bool load(const Part& from, const Section& to, bool may_overlap);
// From one image's coarray to another's.
bool transfer(const Part& to, const Part& from, bool may_overlap);

inline void succeed(int* stat) {
  if (stat) *stat = 0;
}

}  // namespace sill::coarray
