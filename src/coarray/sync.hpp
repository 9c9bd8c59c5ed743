#pragma once
// Which coarrays are kept, as a program chooses while it runs.
#include "base/status.hpp"
#include "coarray/registry.hpp"

namespace sill::coarray {

// From now on synchronization makes coarrays durable, although PCAF_ENABLED isn't set. To be called by all images.
void keep_from_now_on();
bool keeping();

// Makes this image's part of all kept coarrays durable. Local; the first error, after all have been tried.
Status keep_own();

// The coarray is kept no longer: it goes on as memory, and what is on storage won't be taken by another run. Local.
Status forget_file(Coarray& coarray);

}  // namespace sill::coarray
