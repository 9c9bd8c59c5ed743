#pragma once
// What windows and memories were promised of the node's memory and haven't touched yet: for the kernel it is still
// available, so that each new window with storage_alloc_factor=auto would be given it once more.
#include <cstddef>
#include <cstdint>
#include <memory>

namespace sill::storage {

struct Promised;

// Counts bytes of memory as promised while it lives, for all processes of this user's job on this node. Thread-safe.
class Promise {
 public:
  Promise() = default;
  explicit Promise(std::uint64_t bytes);
  // Where the bytes lie: from now on those that have been touched don't count. They must be mapped as long as the
  // promise lives.
  void lies_at(const std::byte* address);

 private:
  struct TakeBack {
    void operator()(Promised* promised) const;
  };
  std::unique_ptr<Promised, TakeBack> promised_;
};

// Tells the node's others what of this process's promises is untouched now.
void note_touched();

// Bytes that are promised and untouched: this process's as they are now, those of the node's others as they were when
// these last noted it or were promised something. Where the processes can't share a record, this process's only.
std::uint64_t promised_memory();

// While it lives, no other process of the job is promised anything: for who looks and then promises by itself.
class PromiseTurn {
 public:
  PromiseTurn();
  ~PromiseTurn();
  PromiseTurn& operator=(PromiseTurn&&) = delete;

 private:
  bool held_;
};

}  // namespace sill::storage
