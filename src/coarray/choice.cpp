// The procedures of the Fortran module sill_coarrays: what a program knows and decides about its kept coarrays.
#include <ISO_Fortran_binding.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "coarray/files.hpp"
#include "coarray/libcaf.hpp"
#include "coarray/lifetime.hpp"
#include "coarray/registry.hpp"
#include "coarray/stat.hpp"
#include "coarray/sync.hpp"
#include "coarray/team.hpp"
#include "mpi/below.hpp"
#include "mpi/errors.hpp"
#include "window/allocate.hpp"

namespace sill::coarray {

namespace {

std::string text_of(const CFI_cdesc_t* text) {
  if (!text) return "";
  return std::string(trim({static_cast<const char*>(text->base_addr), text->elem_len}));
}

// What both procedures want of their argument.
Status check_argument(const std::string& procedure, const Coarray* coarray) {
  if (!coarray)
    return {Cause::bad_argument, procedure + ": its argument is no coarray of non-zero size that is allocated"};
  if (coarray->window().comm()->size != team().own->size)
    return {Cause::bad_argument, procedure + ": '" + coarray->name() +
                                     "' has other images than the current team; call it in the one it was " +
                                     "allocated in"};
  return {};
}

Status check(const Coarray* coarray) {
  if (Status status = check_argument("coarray_persist", coarray); !status.ok()) return status;
  if (coarray->kept) return {Cause::bad_argument, "coarray_persist: '" + coarray->name() + "' is kept already"};
  if (coarray->has_components)
    return {Cause::unsupported, "coarray_persist: '" + coarray->name() +
                                    "' has allocatable components, which lie elsewhere and can't be kept"};
  if (!options().value().whole())
    return {Cause::unsupported, "coarray_persist: PCAF_WINDOW's storage_alloc_factor leaves a part in memory"};
  if (!keeping() && !team().initial())
    return {Cause::unsupported, "coarray_persist: the first one belongs outside of change team"};
  return {};
}

Status persist_all(Coarray* coarray, const std::string& path) {
  if (Status status = team().own->agree(check(coarray)); !status.ok()) return status;
  auto place = place_of({coarray->name(), coarray->by_order}, coarray->size(), options().value(), path, true);
  if (!place.ok()) return place.status();
  if (Status status = window::move_to(coarray->window(), place.value().hints, place.value().file); !status.ok())
    return status;
  coarray->file = place.value().file;
  coarray->kept = true;
  coarray->restored = place.value().restored;
  keep_from_now_on();
  return {};
}

Status forget_all(Coarray* coarray) {
  Status status = check_argument("coarray_volatile", coarray);
  if (status = team().own->agree(status); !status.ok()) return status;
  return team().own->agree(coarray->kept ? forget_file(*coarray) : Status());
}

}  // namespace

SILL_CAF_EXPORT bool sill_coarrays_restored(void) { return restored(); }

SILL_CAF_EXPORT void sill_coarray_persist(const CFI_cdesc_t* coarray, const CFI_cdesc_t* path, int* stat) {
  give(persist_all(holder_of(coarray->base_addr), text_of(path)), {stat});
}

SILL_CAF_EXPORT void sill_coarray_volatile(const CFI_cdesc_t* coarray, int* stat) {
  give(forget_all(holder_of(coarray->base_addr)), {stat});
}

}  // namespace sill::coarray
