#include "storage/file_lock.hpp"

#include <cerrno>

#include "base/log.hpp"

namespace sill::storage {

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

Turn::Turn(int fd, off_t byte) : fd_(fd), byte_(byte), held_(set_lock(fd, F_WRLCK, byte, 1, F_OFD_SETLKW) == 0) {}

Turn::~Turn() {
  if (held_ && set_lock(fd_, F_UNLCK, byte_, 1) != 0) log(LogLevel::debug, "giving a turn on a file back failed");
}

}  // namespace sill::storage
