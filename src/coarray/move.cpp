// send, get and sendget: on a node by direct access through the peer's mapping, else by one transfer. What needs a
// conversion goes on to libcaf.
#include "coarray/move.hpp"

#include <cstring>
#include <vector>

#include "coarray/libcaf.hpp"
#include "coarray/lifetime.hpp"
#include "coarray/remote.hpp"

namespace sill::coarray {
namespace {

// The section where the part's image has it in this process; begin is nullptr if it can't be reached.
Section seen(const Part& part, Section section) {
  std::byte* base = part.coarray->base(part.image);
  section.begin = base ? base + (section.begin - part.coarray->own_base()) : nullptr;
  return section;
}

bool safe_to_copy(const Section& to, const Section& from, bool may_overlap) {
  return !may_overlap || (contiguous(to) && contiguous(from));
}

// The commonest access, an element or a stretch without strides, needs none of the generality.
inline std::byte* direct_scalar(Token token, std::size_t offset, int image, const Descriptor& there, int there_kind,
                                const VectorSubscript* subscript, const Descriptor& here, int here_kind) {
  if (subscript || there.type.rank != 0 || here.type.rank != 0) return nullptr;
  if (!same_type(there, there_kind, here, here_kind)) return nullptr;
  Coarray* coarray = find(token);
  if (!coarray || offset > coarray->size() || here.type.element_length > coarray->size() - offset) return nullptr;
  std::byte* base = coarray->base(image);
  return base ? base + offset : nullptr;
}

inline void copy_scalar(void* to, const void* from, std::size_t length) {
  // Of a fixed length, a copy is one store, which nobody sees half done.
  if (length == 4)
    std::memcpy(to, from, 4);
  else if (length == 8)
    std::memcpy(to, from, 8);
  else
    std::memmove(to, from, length);
}

// The part that a descriptor, an offset and subscripts name, for a transfer to or from `other`; no coarray if it can't
// be told.
Part part_of(Token token, std::size_t offset, int image, const Descriptor& descriptor, const VectorSubscript* subscript,
             const Descriptor& other) {
  Coarray* coarray = find(token);
  if (!coarray || offset > coarray->size()) return {};
  std::byte* begin = coarray->own_base() + offset;
  if (!subscript) {
    Part part{coarray, image, section_of(descriptor, begin), {}};
    if (!part.valid()) part.coarray = nullptr;
    return part;
  }
  Part part{coarray, image, {}, {}};
  const auto chosen = choose(descriptor, begin, coarray->size(), subscript, other.type.rank, part.offsets);
  if (chosen) part.section = *chosen;
  if (!chosen || !part.valid()) part.coarray = nullptr;
  return part;
}

}  // namespace

bool store(const Part& to, Section from, bool may_overlap) {
  if (!conform(from, to.section)) return false;
  const Section direct = seen(to, to.section);
  if (!direct.begin) return put_far(*to.coarray, to.image, to.section, from);
  if (direct.begin == to.section.begin && !safe_to_copy(direct, from, may_overlap)) return false;
  copy(direct, from);
  return true;
}

bool load(const Part& from, const Section& to, bool may_overlap) {
  Section fitting = from.section;
  if (!conform(fitting, to)) return false;
  const Section direct = seen(from, fitting);
  if (!direct.begin) return get_far(*from.coarray, from.image, to, fitting);
  if (direct.begin == fitting.begin && !safe_to_copy(to, direct, may_overlap)) return false;
  copy(to, direct);
  return true;
}

bool transfer(const Part& to, const Part& from, bool may_overlap) {
  const Section direct = seen(from, from.section);
  if (!direct.begin) return false;
  const bool same_image = to.coarray == from.coarray && to.image == from.image;
  if (!same_image) return store(to, direct, false);
  return safe_to_copy(to.section, from.section, may_overlap) && store(to, direct, may_overlap);
}

SILL_CAF_EXPORT void _gfortran_caf_send(Token token, std::size_t offset, int image, Descriptor* to,
                                        VectorSubscript* subscript, Descriptor* from, int to_kind, int from_kind,
                                        bool may_overlap, int* stat, Team* team) {
  if (std::byte* there = direct_scalar(token, offset, image, *to, to_kind, subscript, *from, from_kind)) {
    copy_scalar(there, from->data, from->type.element_length);
    return succeed(stat);
  }
  if (same_type(*to, to_kind, *from, from_kind)) {
    const Part part = part_of(token, offset, image, *to, subscript, *from);
    const auto here = section_of(*from, static_cast<std::byte*>(from->data));
    if (part.coarray && store(part, here, may_overlap)) return succeed(stat);
  }
  libcaf().next_send(token, offset, image, to, subscript, from, to_kind, from_kind, may_overlap, stat, team);
}

SILL_CAF_EXPORT void _gfortran_caf_get(Token token, std::size_t offset, int image, Descriptor* from,
                                       VectorSubscript* subscript, Descriptor* to, int from_kind, int to_kind,
                                       bool may_overlap, int* stat) {
  if (const std::byte* there = direct_scalar(token, offset, image, *from, from_kind, subscript, *to, to_kind)) {
    copy_scalar(to->data, there, to->type.element_length);
    return succeed(stat);
  }
  if (same_type(*to, to_kind, *from, from_kind)) {
    const Part part = part_of(token, offset, image, *from, subscript, *to);
    const auto here = section_of(*to, static_cast<std::byte*>(to->data));
    if (part.coarray && load(part, here, may_overlap)) return succeed(stat);
  }
  libcaf().next_get(token, offset, image, from, subscript, to, from_kind, to_kind, may_overlap, stat);
}

SILL_CAF_EXPORT void _gfortran_caf_sendget(Token to_token, std::size_t to_offset, int to_image, Descriptor* to,
                                           VectorSubscript* to_subscript, Token from_token, std::size_t from_offset,
                                           int from_image, Descriptor* from, VectorSubscript* from_subscript,
                                           int to_kind, int from_kind, bool may_overlap, int* stat) {
  if (same_type(*to, to_kind, *from, from_kind)) {
    const Part target = part_of(to_token, to_offset, to_image, *to, to_subscript, *from);
    const Part source = part_of(from_token, from_offset, from_image, *from, from_subscript, *to);
    if (target.coarray && source.coarray && transfer(target, source, may_overlap)) return succeed(stat);
  }
  libcaf().next_sendget(to_token, to_offset, to_image, to, to_subscript, from_token, from_offset, from_image, from,
                        from_subscript, to_kind, from_kind, may_overlap, stat);
}

}  // namespace sill::coarray
