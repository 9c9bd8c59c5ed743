#pragma once
// Which parts of a mapping are to be written out while the program goes on, so that the next sync finds little to do
// and reclaim finds clean pages. Pure arithmetic, no system calls.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sill::storage {

// Watches a mapping through samples of how many bytes of each of its chunks are dirty.
//
// A chunk that is full, and was so in the sample before or has a successor that is dirty, is finished: the program has
// gone on. What is stored to again afterwards was written out for nothing, so each chunk is written out at most once
// between two syncs, and a program that keeps doing that is left alone for more and more syncs.
class WriteBehind {
 public:
  // Chunks [begin, end).
  struct Run {
    std::size_t begin;
    std::size_t end;
  };

  struct Chunk {
    std::uint64_t bytes;
    std::uint64_t dirty;  // of them
  };

  explicit WriteBehind(std::size_t chunks) : states_(chunks, State::open) {}

  // Takes a sample, `seconds` after the last one; returns what is to be written out now.
  std::vector<Run> look(std::span<const Chunk> chunks, double seconds);
  // Whether nothing is written before the next sync, so that samples may be left out.
  bool rests() const { return rests_ > 0; }
  // To be called before the first sample after a sync.
  void synced();

 private:
  enum class State : std::uint8_t {
    open,  // not full
    full,
    written,  // and clean since then
    spoiled,  // dirty again, or full faster than anyone writes: touched here and there
  };
  void fill(std::span<const Chunk> chunks, double seconds);

  std::vector<State> states_;
  std::size_t written_ = 0;  // chunks since the last sync
  std::size_t wasted_ = 0;   // of those, dirty again
  unsigned rests_ = 0;       // syncs to go without
  unsigned next_rests_ = 1;
};

}  // namespace sill::storage
