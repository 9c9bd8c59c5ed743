#pragma once
// The table of engines: the ways to keep a segment's bytes and its file's alike. A new one is a row here, and
// src/storage/NAME_engine.cpp with the function that makes it.
#include <array>
#include <cstddef>
#include <string_view>

namespace sill {

// name; whether it works in place: the file's own pages are the segment, seen by every process of the node that maps
// them, so that address and offset must agree within a page; what `sill hints` says.
#define SILL_ENGINES(ENGINE)                              \
  ENGINE(mapped, true, "the file's pages are the window") \
  ENGINE(staged, false, "memory that a sync writes out")

enum class EngineKind {
#define SILL_ENGINE_NAME(name, in_place, help) name,
  SILL_ENGINES(SILL_ENGINE_NAME)
#undef SILL_ENGINE_NAME
};

struct EngineRow {
  std::string_view name;
  bool in_place;
};

inline constexpr std::array engine_rows = {
#define SILL_ENGINE_ROW(name, in_place, help) EngineRow{#name, in_place},
    SILL_ENGINES(SILL_ENGINE_ROW)
#undef SILL_ENGINE_ROW
};

constexpr const EngineRow& row_of(EngineKind kind) { return engine_rows[static_cast<std::size_t>(kind)]; }

}  // namespace sill
