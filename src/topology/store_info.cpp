#include "topology/store_info.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <string>

namespace sill::topology {
namespace {

template <std::size_t size>
void copy_text(const std::string& text, char (&field)[size]) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(field, text.data(), length);
  std::memset(field + length, 0, size - length);
}

// Two long identities that differ at the end only must stay different.
template <std::size_t size>
void copy_identity(const std::string& text, char (&field)[size]) {
  copy_text(text, field);
  if (text.size() < size) return;
  std::array<char, 18> checksum{};
  std::snprintf(checksum.data(), checksum.size(), "#%016zx", std::hash<std::string>{}(text));
  std::memcpy(field + size - checksum.size(), checksum.data(), checksum.size());
}

int answer(std::optional<bool> known) { return !known ? SILL_CANT_TELL : *known ? SILL_YES : SILL_NO; }

int medium(Medium known) {
  switch (known) {
    case Medium::memory: return SILL_MEDIUM_MEMORY;
    case Medium::solid_state: return SILL_MEDIUM_SOLID_STATE;
    case Medium::rotational: return SILL_MEDIUM_ROTATIONAL;
    case Medium::unknown: break;
  }
  return SILL_MEDIUM_UNKNOWN;
}

}  // namespace

sill_store_info to_info(const Store& store) {
  sill_store_info info{};
  info.size = sizeof info;
  copy_text(store.file_system, info.file_system);
  copy_text(store.source, info.source);
  copy_text(store.mount_point, info.mount_point);
  copy_text(store.device, info.device);
  copy_identity(store.identity, info.identity);
  info.capacity_bytes = store.capacity;
  info.available_bytes = store.available;
  info.block_bytes = store.block_size;
  info.medium = medium(store.medium);
  info.shared = answer(store.shared);
  info.served = answer(store.served);
  info.read_only = answer(store.read_only);
  info.dax = answer(store.dax);
  info.reflink = answer(store.reflink);
  info.direct_io = answer(store.direct_io);
  return info;
}

}  // namespace sill::topology
