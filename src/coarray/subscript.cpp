#include "coarray/subscript.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace sill::coarray {
namespace {

template <class Index>
std::vector<std::ptrdiff_t> offsets_of(const void* indices, std::size_t count, std::ptrdiff_t lower,
                                       std::ptrdiff_t unit) {
  std::vector<std::ptrdiff_t> offsets(count);
  std::ranges::transform(std::span(static_cast<const Index*>(indices), count), offsets.begin(),
                         [=](Index index) { return (static_cast<std::ptrdiff_t>(index) - lower) * unit; });
  return offsets;
}

}  // namespace

const std::ptrdiff_t* Offsets::add(const void* indices, int kind, std::size_t count, std::ptrdiff_t lower,
                                   std::ptrdiff_t unit) {
  if (count == 0) return nullptr;
  switch (kind) {
    case 1: return lists_.emplace_back(offsets_of<std::int8_t>(indices, count, lower, unit)).data();
    case 2: return lists_.emplace_back(offsets_of<std::int16_t>(indices, count, lower, unit)).data();
    case 4: return lists_.emplace_back(offsets_of<std::int32_t>(indices, count, lower, unit)).data();
    case 8: return lists_.emplace_back(offsets_of<std::int64_t>(indices, count, lower, unit)).data();
    default: return nullptr;
  }
}

std::optional<Section> choose(const Descriptor& array, std::byte* begin, std::size_t size,
                              const VectorSubscript* subscripts, int other_rank, Offsets& offsets) {
  Section section = section_of(array, begin);
  const int rank = section.rank;
  // A single index is a dimension of one element here; the other side has none for it.
  int superfluous = other_rank > 0 ? rank - other_rank : 0;
  section.rank = 0;
  for (int i = 0; i < rank; ++i) {
    const VectorSubscript& subscript = subscripts[i];
    const std::ptrdiff_t lower = array.dimensions()[i].lower;
    const std::ptrdiff_t unit = section.stride[i];
    if (subscript.count > 0) {
      const auto& vector = subscript.vector;
      const std::ptrdiff_t* chosen = offsets.add(vector.values, vector.kind, subscript.count, lower, unit);
      if (!chosen) return std::nullopt;
      section.add(subscript.count, 0, chosen);
      continue;
    }
    const auto& triplet = subscript.triplet;
    const std::ptrdiff_t first = triplet.lower - lower;
    // An empty vector looks like a triplet of garbage.
    if (triplet.stride == 0 || first < 0 || first >= static_cast<std::ptrdiff_t>(size)) return std::nullopt;
    section.begin += first * unit;
    const std::ptrdiff_t count = (triplet.upper - triplet.lower + triplet.stride) / triplet.stride;
    if (count == 1 && superfluous > 0)
      --superfluous;
    else
      section.add(static_cast<std::size_t>(std::max<std::ptrdiff_t>(count, 0)), triplet.stride * unit);
  }
  return section;
}

}  // namespace sill::coarray
