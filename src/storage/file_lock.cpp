#include "storage/file_lock.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/log.hpp"

namespace sill::storage {
namespace {

// Drawn at random, for processes of several machines may have one number.
off_t draw_byte() {
  std::uint32_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint32_t>(::getpid());
  return process_bytes + 1 + number % (process_count - 2);
}

}  // namespace

int set_lock(int fd, short type, off_t begin, off_t length, int command) {
  struct flock range = {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = begin;
  range.l_len = length;
  int error;
  do error = ::fcntl(fd, command, &range) == 0 ? 0 : errno;
  while (error == EINTR);
  return error == EACCES ? EAGAIN : error;
}

// All opens of this process share the lock of its own byte. Who can have all others for a moment is alone.
int keep_processes_off(int fd) {
  static const off_t own = draw_byte();
  int error = set_lock(fd, F_RDLCK, own, 1);
  if (error != 0) return error;
  constexpr off_t end = process_bytes + process_count;
  for (const auto& [begin, length] :
       {std::pair(process_bytes, own - process_bytes), std::pair(own + 1, end - own - 1)}) {
    if (error == 0) error = set_lock(fd, F_WRLCK, begin, length);
    if (error == 0) error = set_lock(fd, F_UNLCK, begin, length);
  }
  if (error != 0 && set_lock(fd, F_UNLCK, own, 1) != 0) log(LogLevel::debug, "giving a lock back failed");
  return error;
}

Turn::Turn(int fd, off_t byte) : fd_(fd), byte_(byte), held_(set_lock(fd, F_WRLCK, byte, 1, F_OFD_SETLKW) == 0) {}

Turn::~Turn() {
  if (held_ && set_lock(fd_, F_UNLCK, byte_, 1) != 0) log(LogLevel::debug, "giving a turn on a file back failed");
}

}  // namespace sill::storage
