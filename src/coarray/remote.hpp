#pragma once
// Accesses to images of other nodes: one transfer with a datatype, where libcaf makes one per element.
#include "coarray/registry.hpp"
#include "coarray/section.hpp"

namespace sill::coarray {

// Stores `from` in, or loads `to` from, the coarray of an image of the current team; the far section's `begin` is an
// address in this image's own coarray. False if nothing was done, for libcaf to do.
bool put_far(Coarray& coarray, int image, const Section& to, const Section& from);
bool get_far(Coarray& coarray, int image, const Section& to, const Section& from);

}  // namespace sill::coarray
