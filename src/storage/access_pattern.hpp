#pragma once
// What the pages that come into memory tell about how a mapping is accessed. Pure arithmetic, no system calls.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sill::storage {

// The advice that fits: whole stretches are read ahead (normal), or single pages are fetched (random).
enum class Advice { normal, random };

// Watches one piece of a mapping through samples of how many pages of each of its chunks are in memory.
//
// With normal advice a fault brings in `read_ahead` pages around it. Accesses that go on where the last ones ended are
// a stream; elsewhere they are jumps. Jumps that bring no more than what one fault brings are single accesses: random.
// With random advice every fault brings in one page, so many pages in few chunks are a stream.
class AccessPattern {
 public:
  // `chunks` chunks of `chunk_pages` pages each.
  AccessPattern(std::size_t chunks, std::uint64_t chunk_pages, std::uint64_t read_ahead);

  // Takes a sample, pages in memory of each chunk; returns the advice that fits from now on.
  Advice look(std::span<const std::uint64_t> resident);
  Advice advice() const { return advice_; }
  // Takes random for likely, because most other pieces are accessed so; not if it was tried and given up before.
  void follow_random();

 private:
  struct Growth {
    std::uint64_t pages = 0;
    std::size_t chunks = 0;  // that grew
    std::size_t jumps = 0;   // runs of such chunks that no stream leads to
  };
  Growth grow(std::span<const std::uint64_t> resident);
  bool seems_random(const Growth& growth);
  bool seems_streamed(const Growth& growth) const;
  void start_over(Advice advice);

  std::uint64_t chunk_pages_;
  std::uint64_t read_ahead_;
  Advice advice_ = Advice::normal;
  std::vector<std::uint64_t> resident_;  // of the last sample
  std::vector<std::size_t> fronts_;      // the last chunk of each run that grew in the last sample with growth
  Growth seen_;                          // since the advice last changed or was confirmed
  unsigned settling_ = 0;                // samples in which what was read ahead before may still come in
  unsigned patience_ = 0;                // samples for which random is not tried again
  unsigned next_patience_ = 8;
};

}  // namespace sill::storage
