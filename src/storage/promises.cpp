#include "storage/promises.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "storage/file_lock.hpp"
#include "storage/mapping.hpp"

namespace sill::storage {

struct Promised {
  std::uint64_t bytes;
  std::uint64_t untouched;             // when it was last looked
  const std::byte* address = nullptr;  // nullptr: not known yet
};

namespace {

constexpr const char* folder = "/dev/shm";  // of shm_open
constexpr off_t turn_byte = off_t{1} << 40;
constexpr int most_slots = 4096;  // processes of one job on one node

// The record of a job on this node: a file in shared memory with a number of bytes for each process. A process holds
// the lock of its number's first byte, so that the kernel tells which numbers are of processes that have ended, however
// they did.
class Record {
 public:
  Record() {
    const std::string beginning = "sill-" + std::to_string(::geteuid()) + "-";
    name_ = job_name();
    std::replace(name_.begin(), name_.end(), '/', '_');
    name_ = "/" + beginning + name_;
    for (int attempt = 0; attempt < 100 && !is_open(); ++attempt) join();
    if (!is_open()) {
      log(LogLevel::info, folder + name_ + ": the node's processes can't tell each other what memory is promised");
      return;
    }
    remove_abandoned(beginning);
    std::atexit([] { Record::of_process().leave(); });
  }
  static Record& of_process() {
    static auto* one = new Record;
    return *one;
  }

  bool is_open() const { return slot_ >= 0; }
  int fd() const { return fd_; }

  void write(std::uint64_t bytes) {
    if (!is_open()) return;
    if (::pwrite(fd_, &bytes, sizeof bytes, place(slot_)) != sizeof bytes)
      log(LogLevel::info, folder + name_ + ": writing failed");
  }

  // What the living others have written.
  std::uint64_t others() const {
    if (!is_open()) return 0;
    struct stat found;
    if (::fstat(fd_, &found) != 0) return 0;
    std::vector<std::uint64_t> all(static_cast<std::size_t>(found.st_size) / sizeof(std::uint64_t));
    const ssize_t got = ::pread(fd_, all.data(), all.size() * sizeof(std::uint64_t), 0);
    if (got < 0) return 0;
    all.resize(static_cast<std::size_t>(got) / sizeof(std::uint64_t));
    std::uint64_t sum = 0;
    for (std::size_t slot = 0; slot < all.size(); ++slot)
      if (all[slot] > 0 && static_cast<int>(slot) != slot_ && is_alive(static_cast<int>(slot))) sum += all[slot];
    return sum;
  }

 private:
  static off_t place(int slot) { return static_cast<off_t>(slot) * static_cast<off_t>(sizeof(std::uint64_t)); }

  // Takes a number in the file that has the name. One that the last process of another job has just removed isn't it.
  void join() {
    fd_ = ::shm_open(name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd_ < 0) return;
    for (int slot = 0; slot < most_slots && !is_open(); ++slot)
      if (const int error = set_lock(fd_, F_WRLCK, place(slot), 1); error == 0)
        slot_ = slot;
      else if (error != EAGAIN)
        break;
    struct stat found;
    if (is_open() && ::fstat(fd_, &found) == 0 && found.st_nlink > 0) return write(0);
    slot_ = -1;
    ::close(std::exchange(fd_, -1));
  }

  // Jobs that were killed have left theirs.
  static void remove_abandoned(const std::string& beginning) {
    std::error_code error;
    const std::filesystem::directory_iterator end;
    for (std::filesystem::directory_iterator at(folder, error); !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename();
      if (!name.starts_with(beginning)) continue;
      const Descriptor fd(::shm_open(("/" + name).c_str(), O_RDWR | O_CLOEXEC, 0));
      if (fd.get() >= 0 && set_lock(fd.get(), F_WRLCK, 0, 0) == 0) ::shm_unlink(("/" + name).c_str());
    }
  }

  bool is_alive(int slot) const {
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = place(slot);
    lock.l_len = 1;
    return ::fcntl(fd_, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  }

  // The last one to leave takes the file along. The own number is given up first, for two may leave at the same time.
  void leave() {
    // A child of fork() has the number in common with its parent, whose it is.
    if (!is_open() || ::getpid() != pid_) return;
    write(0);
    set_lock(fd_, F_UNLCK, place(slot_), 1);
    if (set_lock(fd_, F_WRLCK, 0, 0) == 0) ::shm_unlink(name_.c_str());
  }

  std::string name_;
  const pid_t pid_ = ::getpid();
  int fd_ = -1;
  int slot_ = -1;
};

std::mutex promises_mutex;
std::set<Promised*>& promises() {
  static auto* all = new std::set<Promised*>;
  return *all;
}

// Threads of one process share the descriptor of the turn's lock.
std::mutex turn_mutex;

// Bytes of whole pages of [address, address + length) that are in memory.
std::uint64_t touched(const std::byte* address, std::uint64_t length) {
  constexpr std::uint64_t most_pages = 1 << 16;
  std::array<unsigned char, most_pages> pages;
  const auto begin = reinterpret_cast<std::uintptr_t>(address) / page_size() * page_size();
  const auto end = reinterpret_cast<std::uintptr_t>(address) + length;
  std::uint64_t resident = 0;
  for (std::uintptr_t at = begin; at < end; at += most_pages * page_size()) {
    const std::uint64_t count = std::min<std::uint64_t>((end - at + page_size() - 1) / page_size(), most_pages);
    if (::mincore(reinterpret_cast<void*>(at), count * page_size(), pages.data()) != 0) return resident;
    resident +=
        static_cast<std::uint64_t>(std::count_if(pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(count),
                                                 [](unsigned char page) { return page & 1; })) *
        page_size();
  }
  return std::min(resident, length);
}

// Of this process, also written to the record. With the mutex held.
std::uint64_t count_own() {
  std::uint64_t sum = 0;
  for (const Promised* promised : promises()) sum += promised->untouched;
  Record::of_process().write(sum);
  return sum;
}

// The same as it is now.
std::uint64_t look_at_own() {
  const std::lock_guard lock(promises_mutex);
  for (Promised* promised : promises())
    if (promised->address) promised->untouched = promised->bytes - touched(promised->address, promised->bytes);
  return count_own();
}

}  // namespace

Promise::Promise(std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(promises_mutex);
  promised_.reset(new Promised{bytes, bytes});
  promises().insert(promised_.get());
  count_own();
}

void Promise::TakeBack::operator()(Promised* promised) const {
  const std::lock_guard lock(promises_mutex);
  promises().erase(promised);
  delete promised;
  count_own();
}

void Promise::lies_at(const std::byte* address) {
  if (!promised_) return;
  const std::lock_guard lock(promises_mutex);
  promised_->address = address;
}

void note_touched() { look_at_own(); }

std::uint64_t promised_memory() { return look_at_own() + Record::of_process().others(); }

PromiseTurn::PromiseTurn() {
  turn_mutex.lock();
  const Record& record = Record::of_process();
  held_ = record.is_open() && set_lock(record.fd(), F_WRLCK, turn_byte, 1, F_OFD_SETLKW) == 0;
}

PromiseTurn::~PromiseTurn() {
  if (held_) set_lock(Record::of_process().fd(), F_UNLCK, turn_byte, 1);
  turn_mutex.unlock();
}

}  // namespace sill::storage
