#include "storage/write_behind.hpp"

#include <algorithm>

namespace sill::storage {
namespace {

// Bytes a second that no core stores: what is full sooner has only been touched in each of its large pages.
constexpr double fastest_stores = 32e9;
constexpr unsigned most_rests = 64;

}  // namespace

void WriteBehind::fill(std::span<const Chunk> chunks, double seconds) {
  std::vector<std::size_t> news;
  std::uint64_t bytes = 0;
  for (std::size_t index = 0; index < states_.size(); ++index) {
    // Not quite all: a page that the program shares with what lies next to it may be clean.
    if (states_[index] != State::open || chunks[index].dirty < chunks[index].bytes / 16 * 15) continue;
    news.push_back(index);
    bytes += chunks[index].bytes;
  }
  const bool stored = static_cast<double>(bytes) <= fastest_stores * seconds;
  for (const std::size_t index : news) states_[index] = stored ? State::full : State::spoiled;
}

std::vector<WriteBehind::Run> WriteBehind::look(std::span<const Chunk> chunks, double seconds) {
  std::vector<Run> runs;
  if (rests_ > 0) return runs;
  const std::vector<State> before = states_;
  fill(chunks, seconds);
  const auto begun = [&](std::size_t index) { return index < states_.size() && chunks[index].dirty > 0; };
  for (std::size_t index = 0; index < states_.size(); ++index) {
    State& state = states_[index];
    if (state == State::written && chunks[index].dirty > 0) {
      state = State::spoiled;
      ++wasted_;
    }
    if (state != State::full || !(before[index] == State::full || begun(index + 1))) continue;
    state = State::written;
    ++written_;
    if (!runs.empty() && runs.back().end == index)
      runs.back().end = index + 1;
    else
      runs.push_back({index, index + 1});
  }
  return runs;
}

void WriteBehind::synced() {
  std::fill(states_.begin(), states_.end(), State::open);
  if (rests_ > 0) {
    --rests_;
  } else if (wasted_ * 2 > written_) {
    rests_ = next_rests_;
    next_rests_ = std::min(next_rests_ * 2, most_rests);
  } else if (written_ > 0) {
    next_rests_ = 1;
  }
  written_ = 0;
  wasted_ = 0;
}

}  // namespace sill::storage
