#pragma once
// The coarrays whose windows are Sill's, by token.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coarray/abi.hpp"
#include "coarray/kept_file.hpp"
#include "window/window.hpp"

namespace sill::coarray {

class Coarray {
 public:
  Coarray(Token token, MPI_Win win, window::Window* window, std::string name);

  Token token() const { return token_; }
  MPI_Win win() const { return win_; }
  window::Window& window() const { return *window_; }
  const std::string& name() const { return name_; }
  std::size_t size() const { return size_; }  // bytes of this image; the same on all
  std::byte* own_base() const { return window_->base(window_->rank()); }
  bool holds(const void* address) const {
    const auto* at = static_cast<const std::byte*>(address);
    return at >= own_base() && at < own_base() + size_;
  }

  // Where an image of the current team (from 1) has the coarray in this process; nullptr if it can't be reached.
  std::byte* base(int image) {
    if (epoch_ != seen_epoch()) look();
    return image >= 1 && image <= static_cast<int>(bases_.size()) ? bases_[static_cast<std::size_t>(image) - 1]
                                                                  : nullptr;
  }
  // Its rank in the window; -1 if it has none.
  int rank_of(int image) {
    if (epoch_ != seen_epoch()) look();
    return image >= 1 && image <= static_cast<int>(ranks_.size()) ? ranks_[static_cast<std::size_t>(image) - 1] : -1;
  }

  bool by_order = false;  // its name is a count
  bool allocatable = false;
  std::shared_ptr<KeptFile> file;  // on storage; stays when the coarray isn't kept any more
  bool kept = false;
  bool restored = false;        // it came from there
  bool unexpected = false;      // new, without the program's doing; to be told if others were restored
  bool shielded = false;        // initialisers are still to run
  bool has_components = false;  // that are allocatable: pointers to memory elsewhere
  void* const* variable = nullptr;

 private:
  static std::uint64_t seen_epoch();
  void look();

  Token token_;
  MPI_Win win_;
  window::Window* window_;
  std::string name_;
  std::size_t size_;
  std::uint64_t epoch_ = 0;
  std::vector<int> ranks_;
  std::vector<std::byte*> bases_;
};

// Enters, finds and drops. Local.
void enter(std::unique_ptr<Coarray> coarray);
void leave(Token token);
void leave_all();
std::vector<Coarray*> coarrays();
// Whether there has been a coarray of this name.
bool known(const std::string& name);
// That whose memory of this image holds an address; nullptr if none does.
Coarray* holder_of(const void* address);

extern std::atomic<std::uint64_t> registry_generation;
Coarray* look_up(Token token);

// The coarray behind a token; nullptr for those that libcaf has alone. Every access asks this: threads remember.
inline Coarray* find(Token token) {
  struct Remembered {
    std::uint64_t generation;
    Token token;
    Coarray* coarray;
  };
  static constinit thread_local std::array<Remembered, 8> remembered{};
  Remembered& entry = remembered[(reinterpret_cast<std::uintptr_t>(token) >> 5) % remembered.size()];
  const std::uint64_t now = registry_generation.load(std::memory_order_acquire);
  if (entry.generation != now || entry.token != token) [[unlikely]]
    entry = {now, token, look_up(token)};
  return entry.coarray;
}

}  // namespace sill::coarray
