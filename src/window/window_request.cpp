#include "window/window_request.hpp"

#include <algorithm>

#include "base/config.hpp"
#include "mpi/comm.hpp"

namespace sill::window {
namespace {

thread_local HintOverride* instead = nullptr;

bool has_key(const HintPairs& pairs, std::string_view key) {
  return std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) { return find_hint(pair.first)->key == key; });
}

}  // namespace

HintOverride::HintOverride() : before_(instead) { instead = this; }

HintOverride::HintOverride(WindowHints hints, std::shared_ptr<Front> front) : HintOverride() {
  asked.storage = true;
  asked.hints = std::move(hints);
  asked.front = std::move(front);
}

HintOverride::~HintOverride() { instead = before_; }

HintOverride* HintOverride::now() { return instead; }

WindowRequest read_window_request(MPI_Info info) {
  if (instead) return instead->asked;
  WindowRequest asked;
  HintPairs pairs = mpi::info_pairs(info, &is_hint);
  if (!has_key(pairs, "alloc_type")) {
    const auto& rules = window_rules();
    if (!rules.ok()) {
      asked.storage = true;
      asked.status = rules.status();
      return asked;
    }
    if (rules.value().empty()) return asked;
    for (const auto& rule : rules.value())
      if (!has_key(pairs, find_hint(rule.first)->key)) pairs.push_back(rule);
    if (!has_key(pairs, "alloc_type")) return asked;
  }
  auto hints = parse_hints(pairs);
  asked.status = hints.status();
  if (hints.ok()) asked.hints = std::move(hints).value();
  asked.storage = !asked.status.ok() || asked.hints.alloc_type == AllocType::storage;
  return asked;
}

}  // namespace sill::window
