#pragma once
// A file descriptor that is closed by who has it last.
#include <unistd.h>

#include <utility>

namespace sill {

class Descriptor {
 public:
  // -1: none.
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    Descriptor taken(std::move(other));
    std::swap(fd_, taken.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

}  // namespace sill
