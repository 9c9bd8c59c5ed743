#include "storage/access_pattern.hpp"

#include <algorithm>

namespace sill::storage {
namespace {

constexpr std::size_t jumps_wanted = 4;              // before normal advice is given up
constexpr std::uint64_t streamed_pages_wanted = 64;  // before random advice is given up

}  // namespace

AccessPattern::AccessPattern(std::size_t chunks, std::uint64_t chunk_pages, std::uint64_t read_ahead)
    : chunk_pages_(chunk_pages), read_ahead_(read_ahead), resident_(chunks, 0) {}

// Adds up what came since the last sample, and remembers where it ended.
AccessPattern::Growth AccessPattern::grow(std::span<const std::uint64_t> resident) {
  Growth growth;
  std::vector<std::size_t> fronts;
  for (std::size_t chunk = 0; chunk < resident_.size(); ++chunk) {
    if (resident[chunk] <= resident_[chunk]) continue;
    growth.pages += resident[chunk] - resident_[chunk];
    ++growth.chunks;
    const bool run_goes_on = !fronts.empty() && fronts.back() + 1 == chunk;
    const bool stream = std::any_of(fronts_.begin(), fronts_.end(), [&](std::size_t front) {
      return chunk == front || chunk == front + 1 || chunk + 1 == front;
    });
    if (!run_goes_on && !stream) ++growth.jumps;
    if (run_goes_on)
      fronts.back() = chunk;
    else
      fronts.push_back(chunk);
  }
  std::copy_n(resident.begin(), resident_.size(), resident_.begin());
  if (!fronts.empty()) fronts_ = std::move(fronts);
  return growth;
}

bool AccessPattern::seems_random(const Growth& growth) {
  // All over the piece at once, and nowhere a whole chunk: too many faults for telling jumps from one another.
  if (growth.chunks * 2 >= resident_.size() && growth.pages * 2 < growth.chunks * chunk_pages_) return true;
  seen_.pages += growth.pages;
  seen_.jumps += growth.jumps;
  if (seen_.jumps < jumps_wanted) return false;
  const bool single = seen_.pages <= seen_.jumps * read_ahead_ * 3 / 2;
  seen_ = {};
  return single;
}

bool AccessPattern::seems_streamed(const Growth& growth) const {
  return growth.pages >= streamed_pages_wanted && growth.pages >= growth.chunks * 16 &&
         growth.chunks * 4 <= std::max<std::size_t>(resident_.size(), 4);
}

void AccessPattern::start_over(Advice advice) {
  advice_ = advice;
  seen_ = {};
  settling_ = advice == Advice::random ? 2 : 0;
}

void AccessPattern::follow_random() {
  if (advice_ == Advice::normal && patience_ == 0) start_over(Advice::random);
}

Advice AccessPattern::look(std::span<const std::uint64_t> resident) {
  const Growth growth = grow(resident);
  if (growth.pages == 0) return advice_;
  if (settling_ > 0) {
    --settling_;
    return advice_;
  }
  if (advice_ == Advice::normal) {
    if (patience_ > 0)
      --patience_;
    else if (seems_random(growth))
      start_over(Advice::random);
  } else if (seems_streamed(growth)) {
    // A pattern that keeps changing its mind is tried more and more seldom.
    patience_ = next_patience_;
    next_patience_ = std::min(next_patience_ * 2, 1024u);
    start_over(Advice::normal);
  }
  return advice_;
}

}  // namespace sill::storage
