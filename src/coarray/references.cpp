// The _by_ref forms: chains of references from a coarray to a part of it. Those that stay within the coarray's own
// memory are direct; allocatable components lie elsewhere, and go on to libcaf.
#include <algorithm>
#include <cstddef>
#include <optional>

#include "coarray/libcaf.hpp"
#include "coarray/move.hpp"

namespace sill::coarray {
namespace {

// What a reference to an array adds to a section, dimension by dimension; false for what libcaf has to do.
bool follow_array(const Reference& reference, const Descriptor& bounds, Section& section, Offsets& offsets) {
  const auto& array = reference.array;
  for (int i = 0; i < most_dimensions && array.mode[i] != static_cast<unsigned char>(Subscript::none); ++i) {
    if (i >= bounds.type.rank) return false;
    const Dimension& dimension = bounds.dimensions()[i];
    std::ptrdiff_t begin = dimension.lower;
    std::ptrdiff_t end = dimension.upper;
    const std::ptrdiff_t step = array.dim[i].range.stride;
    const auto mode = static_cast<Subscript>(array.mode[i]);
    const std::ptrdiff_t unit = dimension.stride * static_cast<std::ptrdiff_t>(reference.item_size);
    if (mode == Subscript::vector) {
      const auto& vector = array.dim[i].vector;
      const std::ptrdiff_t* chosen = offsets.add(vector.values, vector.kind, vector.count, dimension.lower, unit);
      if (!chosen) return false;
      section.add(vector.count, 0, chosen);
      continue;
    }
    if (mode != Subscript::full && mode != Subscript::open_start) begin = array.dim[i].range.start;
    if (mode == Subscript::range || mode == Subscript::open_start) end = array.dim[i].range.end;
    section.begin += (begin - dimension.lower) * unit;
    if (mode == Subscript::single) continue;
    if (step == 0) return false;
    const std::ptrdiff_t count = std::max<std::ptrdiff_t>((end - begin + step) / step, 0);
    section.add(static_cast<std::size_t>(count), step * unit);
  }
  return true;
}

// The same for an array of fixed bounds: positions and steps are counted in elements, from its first one.
bool follow_static_array(const Reference& reference, Section& section) {
  const auto& array = reference.array;
  const auto unit = static_cast<std::ptrdiff_t>(reference.item_size);
  for (int i = 0; i < most_dimensions && array.mode[i] != static_cast<unsigned char>(Subscript::none); ++i) {
    const auto mode = static_cast<Subscript>(array.mode[i]);
    const auto& range = array.dim[i].range;
    if (mode != Subscript::full && mode != Subscript::range && mode != Subscript::single) return false;
    section.begin += range.start * unit;
    if (mode == Subscript::single) continue;
    if (range.stride == 0) return false;
    const std::ptrdiff_t count = (range.end - range.start + range.stride) / range.stride;
    section.add(static_cast<std::size_t>(std::max<std::ptrdiff_t>(count, 0)), range.stride * unit);
  }
  return true;
}

// Follows one reference; false for what libcaf has to do.
bool follow_one(const Reference& reference, bool first, Part& part) {
  const Coarray& coarray = *part.coarray;
  Section& section = part.section;
  section.element = reference.item_size;
  switch (static_cast<ReferenceKind>(reference.kind)) {
    case ReferenceKind::component:
      section.begin += reference.component.offset;
      return reference.component.token_offset == 0;
    case ReferenceKind::static_array: return follow_static_array(reference, section);
    case ReferenceKind::array: {
      const Descriptor* bounds = static_cast<LibcafToken*>(coarray.token())->descriptor;
      return first && coarray.allocatable && bounds && follow_array(reference, *bounds, section, part.offsets);
    }
  }
  return false;
}

// The part that a chain leads to, if all of it lies in the coarray.
std::optional<Part> follow(Token token, int image, const Reference* reference) {
  Coarray* coarray = find(token);
  if (!coarray) return std::nullopt;
  Part part{coarray, image, {}, {}};
  part.section.begin = coarray->own_base();
  part.section.rank = 0;
  for (bool first = true; reference; reference = reference->next, first = false)
    if (!follow_one(*reference, first, part)) return std::nullopt;
  if (!part.valid()) return std::nullopt;
  return part;
}

bool fits(const Descriptor& here, int here_kind, const Part& part, int there_kind, int there_type) {
  return here.type.type == there_type && here_kind == there_kind && here.type.type != type_class &&
         here.type.element_length == part.section.element;
}

}  // namespace

SILL_CAF_EXPORT void _gfortran_caf_send_by_ref(Token token, int image, Descriptor* from, Reference* references,
                                               int to_kind, int from_kind, bool may_overlap, bool reallocates,
                                               int* stat, int to_type) {
  const auto part = follow(token, image, references);
  if (part && fits(*from, from_kind, *part, to_kind, to_type)) {
    const auto here = section_of(*from, static_cast<std::byte*>(from->data));
    if (store(*part, here, may_overlap)) return succeed(stat);
  }
  libcaf().next_send_by_ref(token, image, from, references, to_kind, from_kind, may_overlap, reallocates, stat,
                            to_type);
}

SILL_CAF_EXPORT void _gfortran_caf_get_by_ref(Token token, int image, Descriptor* to, Reference* references,
                                              int to_kind, int from_kind, bool may_overlap, bool reallocates, int* stat,
                                              int from_type) {
  const auto part = follow(token, image, references);
  // An array that has to be allocated, or to another shape, is libcaf's business.
  if (part && to->data && fits(*to, to_kind, *part, from_kind, from_type) && part->section.rank == to->type.rank) {
    const auto here = section_of(*to, static_cast<std::byte*>(to->data));
    if (load(*part, here, may_overlap)) return succeed(stat);
  }
  libcaf().next_get_by_ref(token, image, to, references, to_kind, from_kind, may_overlap, reallocates, stat, from_type);
}

SILL_CAF_EXPORT void _gfortran_caf_sendget_by_ref(Token to_token, int to_image, Reference* to_references,
                                                  Token from_token, int from_image, Reference* from_references,
                                                  int to_kind, int from_kind, bool may_overlap, int* to_stat,
                                                  int* from_stat, int to_type, int from_type) {
  const auto to = follow(to_token, to_image, to_references);
  const auto from = follow(from_token, from_image, from_references);
  const bool same = to_kind == from_kind && to_type == from_type && to_type != type_class;
  if (to && from && same && transfer(*to, *from, may_overlap)) {
    succeed(from_stat);
    return succeed(to_stat);
  }
  libcaf().next_sendget_by_ref(to_token, to_image, to_references, from_token, from_image, from_references, to_kind,
                               from_kind, may_overlap, to_stat, from_stat, to_type, from_type);
}

}  // namespace sill::coarray
