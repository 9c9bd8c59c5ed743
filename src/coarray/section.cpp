#include "coarray/section.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace sill::coarray {
namespace {

struct Loop {
  std::size_t extent;
  std::ptrdiff_t to;
  std::ptrdiff_t from;
  const std::ptrdiff_t* to_offsets = nullptr;  // as in Section
  const std::ptrdiff_t* from_offsets = nullptr;

  bool strided() const { return !to_offsets && !from_offsets; }
  std::ptrdiff_t to_at(std::size_t i) const { return to_offsets ? to_offsets[i] : static_cast<std::ptrdiff_t>(i) * to; }
  std::ptrdiff_t from_at(std::size_t i) const {
    return from_offsets ? from_offsets[i] : static_cast<std::ptrdiff_t>(i) * from;
  }
};
struct Nest {
  std::size_t element;  // bytes that lie together on both sides
  int depth = 0;
  Loop loops[most_dimensions];
};

// Dimensions of one element go, and such as continue the one before them on both sides join it.
Nest make_nest(const Section& to, const Section& from) {
  Nest nest;
  nest.element = to.element;
  for (int i = 0; i < to.rank; ++i) {
    const Loop loop{to.extent[i], to.stride[i], from.stride[i], to.offsets[i], from.offsets[i]};
    if (loop.extent == 1 && loop.strided()) continue;
    const auto bytes = static_cast<std::ptrdiff_t>(nest.element);
    if (nest.depth == 0 && loop.strided() && loop.to == bytes && loop.from == bytes) {
      nest.element *= loop.extent;
      continue;
    }
    Loop* inner = nest.depth > 0 ? &nest.loops[nest.depth - 1] : nullptr;
    if (inner && inner->strided() && loop.strided() &&
        loop.to == inner->to * static_cast<std::ptrdiff_t>(inner->extent) &&
        loop.from == inner->from * static_cast<std::ptrdiff_t>(inner->extent)) {
      inner->extent *= loop.extent;
      continue;
    }
    nest.loops[nest.depth++] = loop;
  }
  return nest;
}

template <class Element>
void copy_row(std::byte* to, const std::byte* from, const Loop& loop) {
  for (std::size_t i = 0; i < loop.extent; ++i) {
    Element element;
    std::memcpy(&element, from, sizeof element);
    std::memcpy(to, &element, sizeof element);
    to += loop.to;
    from += loop.from;
  }
}

void copy_rows(std::byte* to, const std::byte* from, const Loop& loop, std::size_t element) {
  for (std::size_t i = 0; i < loop.extent; ++i) {
    std::memmove(to, from, element);
    to += loop.to;
    from += loop.from;
  }
}

struct Wide {
  std::uint64_t words[2];
};

void run_inner(std::byte* to, const std::byte* from, const Loop& loop, std::size_t element) {
  switch (element) {
    case 1: return copy_row<std::uint8_t>(to, from, loop);
    case 2: return copy_row<std::uint16_t>(to, from, loop);
    case 4: return copy_row<std::uint32_t>(to, from, loop);
    case 8: return copy_row<std::uint64_t>(to, from, loop);
    case 16: return copy_row<Wide>(to, from, loop);
    default: return copy_rows(to, from, loop, element);
  }
}

// Two dimensions that run across each other, as in a transposition: blocks that stay in the cache.
void run_plane(std::byte* to, const std::byte* from, const Loop& inner, const Loop& outer, std::size_t element) {
  constexpr std::size_t block = 32;
  for (std::size_t i = 0; i < inner.extent; i += block) {
    const Loop part{std::min(block, inner.extent - i), inner.to, inner.from};
    const auto at = static_cast<std::ptrdiff_t>(i);
    for (std::size_t j = 0; j < outer.extent; ++j) {
      const auto row = static_cast<std::ptrdiff_t>(j);
      run_inner(to + at * inner.to + row * outer.to, from + at * inner.from + row * outer.from, part, element);
    }
  }
}

bool crosses(const Loop& inner, const Loop& outer) {
  const auto larger = [](std::ptrdiff_t a, std::ptrdiff_t b) { return std::abs(a) > std::abs(b); };
  return inner.strided() && outer.strided() && (larger(inner.from, outer.from) || larger(inner.to, outer.to));
}

void run(const Nest& nest, int depth, std::byte* to, const std::byte* from) {
  if (depth == 0) {
    std::memmove(to, from, nest.element);
    return;
  }
  const Loop& loop = nest.loops[depth - 1];
  if (depth == 1 && loop.strided()) return run_inner(to, from, loop, nest.element);
  if (depth == 2 && crosses(nest.loops[0], loop)) return run_plane(to, from, nest.loops[0], loop, nest.element);
  for (std::size_t i = 0; i < loop.extent; ++i) run(nest, depth - 1, to + loop.to_at(i), from + loop.from_at(i));
}

}  // namespace

Section section_of(const Descriptor& descriptor, std::byte* begin) {
  Section section;
  section.begin = begin;
  section.element = descriptor.type.element_length;
  section.rank = 0;
  const std::ptrdiff_t unit = descriptor.span != 0 ? descriptor.span : static_cast<std::ptrdiff_t>(section.element);
  for (int i = 0; i < descriptor.type.rank; ++i) {
    const Dimension& dimension = descriptor.dimensions()[i];
    const std::ptrdiff_t count = std::max<std::ptrdiff_t>(dimension.upper - dimension.lower + 1, 0);
    section.add(static_cast<std::size_t>(count), dimension.stride * unit);
  }
  return section;
}

bool within(const Section& section, const std::byte* begin, std::size_t size) {
  std::ptrdiff_t low = section.begin - begin;
  std::ptrdiff_t high = low + static_cast<std::ptrdiff_t>(section.element);
  for (int i = 0; i < section.rank; ++i) {
    if (section.extent[i] == 0) return true;
    if (const std::ptrdiff_t* offsets = section.offsets[i]) {
      const auto [least, most] = std::minmax_element(offsets, offsets + section.extent[i]);
      low += *least;
      high += *most;
      continue;
    }
    const std::ptrdiff_t reach = static_cast<std::ptrdiff_t>(section.extent[i] - 1) * section.stride[i];
    (reach < 0 ? low : high) += reach;
  }
  return low >= 0 && high <= static_cast<std::ptrdiff_t>(size);
}

bool conform(Section& section, const Section& other) {
  if (section.element != other.element) return false;
  if (section.rank == 0) {
    for (int i = 0; i < other.rank; ++i) section.add(other.extent[i], 0);
    return true;
  }
  return section.rank == other.rank && std::equal(section.extent, section.extent + section.rank, other.extent);
}

void copy(const Section& to, const Section& from) {
  if (to.count() == 0) return;
  const Nest nest = make_nest(to, from);
  run(nest, nest.depth, to.begin, from.begin);
}

bool contiguous(const Section& section) {
  auto next = static_cast<std::ptrdiff_t>(section.element);
  for (int i = 0; i < section.rank; ++i) {
    if (section.offsets[i] || (section.extent[i] != 1 && section.stride[i] != next)) return false;
    next *= static_cast<std::ptrdiff_t>(section.extent[i]);
  }
  return true;
}

}  // namespace sill::coarray
