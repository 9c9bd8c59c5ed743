#pragma once
// Locks of bytes of an open file (open-file-description locks): held by all threads of whoever opened it, and given
// back by the kernel when the file is closed, however the process ends.
#include <fcntl.h>

namespace sill::storage {

// Takes (F_WRLCK) or gives back (F_UNLCK) bytes, 0 for the length meaning to the end; locks of this open file don't
// stand in its way. `command` F_OFD_SETLKW waits. 0, EAGAIN if another holds one of the bytes, or another errno where
// there are no locks.
int set_lock(int fd, short type, off_t begin, off_t length, int command = F_OFD_SETLK);

// Bytes no file has: who holds the lock of one may do what it stands for.
constexpr off_t write_turn = off_t{1} << 62;   // write the differences of a staged segment
constexpr off_t growth_turn = write_turn + 1;  // set the file's size
constexpr off_t claim_turn = write_turn + 2;   // claim the device for a moment

// Keeps other processes off the file, through whichever opens of it this one has called this, until the last of them is
// closed. 0, EAGAIN if another process came first, or another errno where there are no locks.
int keep_processes_off(int fd);

// Behind the turns: each process that keeps others off has a byte of its own, never the first one or the last.
constexpr off_t process_bytes = write_turn + 16;
constexpr off_t process_count = off_t{1} << 31;

// While it lives, this process has the turn. Where there are no locks, all have it.
class Turn {
 public:
  Turn(int fd, off_t byte);
  ~Turn();
  Turn& operator=(Turn&&) = delete;

 private:
  int fd_;
  off_t byte_;
  bool held_;
};

}  // namespace sill::storage
