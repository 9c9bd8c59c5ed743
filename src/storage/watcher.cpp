#include "storage/watcher.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "storage/access_pattern.hpp"
#include "storage/mapping.hpp"
#include "storage/memory_limit.hpp"
#include "storage/page_cache.hpp"
#include "storage/write_behind.hpp"

namespace sill::storage {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t most_chunks = 1024;  // of a mapping: a sample asks the kernel about each
constexpr std::size_t most_pieces = 8;     // of a mapping: each has an advice of its own
constexpr auto shortest_period = 5ms;
constexpr auto idle_period = 80ms;   // when nothing faults
constexpr int work_share = 20;       // samples may take one part of so many of the time
constexpr auto longest_stay = 20ms;  // with breaking up large pages, before others may have the lock
constexpr long faults_wanted = 8;    // fewer between two samples are no reason to look

std::size_t chunk_bytes(std::size_t length) {
  std::size_t chunk = std::max<std::size_t>(large_page, page_size());
  while (length / chunk > most_chunks) chunk *= 2;
  return chunk;
}

// Pages that the kernel reads around a fault on this device.
std::uint64_t read_ahead_pages(dev_t device) {
  const std::string number = std::to_string(major(device)) + ":" + std::to_string(minor(device));
  for (const std::string& path :
       {"/sys/class/bdi/" + number + "/read_ahead_kb", "/sys/dev/block/" + number + "/queue/read_ahead_kb",
        "/sys/dev/block/" + number + "/../queue/read_ahead_kb"}) {
    std::uint64_t kib = 0;
    if (std::ifstream(path) >> kib) return std::max<std::uint64_t>(kib * 1024 / page_size(), 1);
  }
  return std::max<std::size_t>((128u << 10) / page_size(), 1);  // the kernel's own default
}

long faults_so_far() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_majflt + usage.ru_minflt;
}

}  // namespace

struct Watch::Watched {
  struct Piece {
    std::size_t begin;  // chunks
    std::size_t count;
    AccessPattern pattern;
    std::size_t unbroken = 0;  // chunks at its end that may have large pages, though the access is random
  };

  std::byte* address;
  std::size_t length;
  const File* file;
  std::uint64_t offset;
  std::size_t chunk;  // bytes; chunks begin at its multiples in the file
  bool large_pages;
  bool alone;  // no other process maps these bytes
  std::vector<Piece> pieces;
  std::optional<WriteBehind> behind;
  std::atomic<bool> synced = false;  // since the last sample
  bool blind = false;                // the kernel doesn't tell what is in memory

  std::size_t lead() const { return offset % chunk; }
  std::size_t chunks() const { return (lead() + length + chunk - 1) / chunk; }
  // Where a chunk begins, in the mapping.
  std::size_t begin(std::size_t index) const { return std::min(std::max(index * chunk, lead()) - lead(), length); }
  std::size_t bytes(std::size_t first, std::size_t last) const { return begin(last) - begin(first); }
};

namespace {

using Watched = Watch::Watched;

// What the kernel has of a part of the mapping in memory. Where it doesn't tell of files, it does of mappings, but not
// what is dirty.
std::optional<CacheUse> use_of(const Watched& watched, std::size_t begin, std::size_t length) {
  if (const auto use = cache_use(*watched.file, watched.offset + begin, length)) return use;
  std::vector<unsigned char> pages((length + page_size() - 1) / page_size());
  if (::mincore(watched.address + begin, length, pages.data()) != 0) return std::nullopt;
  const auto resident = std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; });
  return CacheUse{static_cast<std::uint64_t>(resident) * page_size(), 0};
}

// Writes, or only starts to; what goes wrong with the device, the next sync tells.
bool write_out(const Watched& watched, std::size_t first, std::size_t last, bool wait = false) {
  const auto begin = static_cast<off64_t>(watched.offset + watched.begin(first));
  const auto length = static_cast<off64_t>(watched.bytes(first, last));
  const unsigned flags = SYNC_FILE_RANGE_WRITE | (wait ? SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WAIT_AFTER : 0);
  if (::sync_file_range(watched.file->fd(), begin, length, flags) == 0 || errno == EINTR) return true;
  log(LogLevel::debug, watched.file->path() + ": writing out ahead of a sync: " + std::strerror(errno));
  return false;
}

// A byte that changes in a large page has all of it written, so pieces that are accessed at random have theirs broken
// up, which they must be clean for. Those that other processes map can't be: they go.
void break_up(const Watched& watched, std::size_t chunk) {
  const std::size_t begin = watched.begin(chunk);
  const std::size_t bytes = watched.bytes(chunk, chunk + 1);
  const auto use = use_of(watched, begin, bytes);
  if (!use || use->resident == 0) return;
  if (use->dirty > 0) write_out(watched, chunk, chunk + 1, true);
  if (watched.alone)
    break_large_pages(watched.address + begin, bytes);
  else
    forget_clean(watched.address + begin, bytes, *watched.file, watched.offset + begin);
}

// Whether there is more to break up when the time is over.
bool break_up_until(Watched& watched, Clock::time_point deadline) {
  for (auto& piece : watched.pieces)
    while (piece.unbroken > 0) {
      if (Clock::now() >= deadline) return true;
      break_up(watched, piece.begin + piece.count - piece.unbroken);
      --piece.unbroken;
    }
  return false;
}

// Tells the kernel of a piece whose access isn't what it was.
void advise_piece(Watched& watched, Watched::Piece& piece) {
  const bool random = piece.pattern.advice() == Advice::random;
  const std::size_t begin = watched.begin(piece.begin);
  const std::size_t last = piece.begin + piece.count;
  log(LogLevel::debug, watched.file->path() + ": bytes from " + std::to_string(watched.offset + begin) +
                           " on are accessed " + (random ? "at random" : "in stretches"));
  const Usage usage{random ? access_random : access_none, watched.large_pages};
  if (!advise(watched.address + begin, watched.bytes(piece.begin, last), usage).ok()) watched.blind = true;
  piece.unbroken = random ? piece.count : 0;
}

void learn(Watched& watched, std::span<const std::uint64_t> resident) {
  std::vector<Advice> before;
  for (auto& piece : watched.pieces) {
    before.push_back(piece.pattern.advice());
    piece.pattern.look(resident.subspan(piece.begin, piece.count));
  }
  const auto random = std::count_if(watched.pieces.begin(), watched.pieces.end(),
                                    [](const auto& piece) { return piece.pattern.advice() == Advice::random; });
  for (std::size_t index = 0; index < watched.pieces.size(); ++index) {
    auto& piece = watched.pieces[index];
    // What is all in memory so far has no faults to learn from.
    if (static_cast<std::size_t>(random) * 2 > watched.pieces.size()) piece.pattern.follow_random();
    if (piece.pattern.advice() != before[index]) advise_piece(watched, piece);
  }
}

struct Sample {
  std::vector<std::uint64_t> resident;  // pages
  std::vector<WriteBehind::Chunk> chunks;
};

Sample take_sample(Watched& watched) {
  Sample sample;
  for (std::size_t index = 0; index < watched.chunks(); ++index) {
    const std::size_t bytes = watched.bytes(index, index + 1);
    const auto use = use_of(watched, watched.begin(index), bytes);
    if (!use) {
      watched.blind = true;
      break;
    }
    sample.resident.push_back(use->resident / page_size());
    sample.chunks.push_back({bytes, use->dirty});
  }
  return sample;
}

// Whether a sample would be of use.
bool worth_a_look(const Watched& watched) {
  return !watched.blind && (!watched.pieces.empty() || (watched.behind && !watched.behind->rests()));
}

void act_on(Watched& watched, Sample& sample, double seconds) {
  learn(watched, sample.resident);
  if (!watched.behind) return;
  // Nothing is finished where the access is random.
  for (const auto& piece : watched.pieces)
    if (piece.pattern.advice() == Advice::random)
      for (auto& chunk : std::span(sample.chunks).subspan(piece.begin, piece.count)) chunk.dirty = 0;
  for (const auto& run : watched.behind->look(sample.chunks, seconds)) {
    if (write_out(watched, run.begin, run.end)) continue;
    watched.behind.reset();
    return;
  }
}

class Watcher {
 public:
  void add(Watched* watched) {
    const std::lock_guard lock(mutex_);
    all_.push_back(watched);
    if (!running_) start();
  }

  // After a sync, programs often begin to write anew.
  void synced() {
    synced_.store(true);
    changed_.notify_all();
  }

  // Afterwards the mapping is not touched any more.
  void remove(Watched* watched) {
    const std::lock_guard lock(mutex_);
    std::erase(all_, watched);
    changed_.notify_all();
  }

 private:
  // Signals of the program are for its own threads.
  void start() {
    sigset_t every;
    sigset_t before;
    ::sigfillset(&every);
    if (::pthread_sigmask(SIG_SETMASK, &every, &before) != 0) return;
    try {
      std::thread([this] { run(); }).detach();
      running_ = true;
    } catch (const std::system_error& error) {
      log(LogLevel::info, std::string("no thread to watch windows: ") + error.what());
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  // Ends when nothing is left to watch.
  void run() {
    std::unique_lock lock(mutex_);
    long faults = faults_so_far();
    Clock::time_point last = Clock::now();
    Clock::duration period = shortest_period;
    bool breaking = false;
    while (!all_.empty()) {
      changed_.wait_for(lock, breaking ? 1ms : period);
      breaking = break_up_some();
      if (breaking && Clock::now() - last < period) continue;
      const long now = faults_so_far();
      if (synced_.exchange(false))
        period = shortest_period;
      else if (now == faults)
        period = std::min<Clock::duration>(2 * period, idle_period);
      if (now - faults < faults_wanted) continue;
      faults = now;
      const double seconds = std::chrono::duration<double>(Clock::now() - last).count();
      last = Clock::now();
      Clock::duration work{};
      for (Watched* watched : all_) {
        if (watched->behind && watched->synced.exchange(false)) watched->behind->synced();
        if (!worth_a_look(*watched)) continue;
        const auto begin = Clock::now();
        Sample sample = take_sample(*watched);
        work += Clock::now() - begin;
        if (!watched->blind) act_on(*watched, sample, seconds);
      }
      period = std::max<Clock::duration>(shortest_period, work * work_share);
    }
    running_ = false;
  }

  bool break_up_some() {
    const auto deadline = Clock::now() + longest_stay;
    return std::any_of(all_.begin(), all_.end(), [&](Watched* watched) { return break_up_until(*watched, deadline); });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watched*> all_;
  std::atomic<bool> synced_ = false;
  bool running_ = false;
};

Watcher& watcher() {
  static auto* one = new Watcher;  // its thread may outlive static destructors of the program
  return *one;
}

// Where all stays in memory, the kernel's own way is right. Finding out takes longer than making a small window.
bool fits_in_memory(std::uint64_t bytes) {
  constexpr std::uint64_t surely_fits = std::uint64_t{64} << 20;
  if (bytes <= surely_fits) return true;
  const auto available = available_memory();
  return !available.ok() || bytes <= available.value() / 2;
}

std::vector<Watched::Piece> pieces_of(const Watched& watched) {
  std::vector<Watched::Piece> pieces;
  const std::uint64_t read_ahead = read_ahead_pages(watched.file->device());
  const std::size_t most = (watched.chunks() + most_pieces - 1) / most_pieces;
  for (std::size_t begin = 0; begin < watched.chunks(); begin += most) {
    const std::size_t count = std::min(most, watched.chunks() - begin);
    pieces.push_back({begin, count, AccessPattern(count, watched.chunk / page_size(), read_ahead)});
  }
  return pieces;
}

// Whether to learn, and whether to write behind.
std::pair<bool, bool> what_for(std::size_t length, const WatchOptions& options) {
  if (length == 0 || !(options.learn || options.write_behind)) return {false, false};
  const bool fits = fits_in_memory(options.node_bytes);
  return {options.learn && !fits, options.write_behind && length >= long_mapping && (options.write_mostly || !fits)};
}

}  // namespace

bool Watch::wanted(std::size_t length, const WatchOptions& options) {
  const auto [learn, behind] = what_for(length, options);
  return learn || behind;
}

Watch::Watch(std::byte* address, std::size_t length, const File& file, std::uint64_t offset,
             const WatchOptions& options) {
  const auto [learn, behind] = what_for(length, options);
  if (!(learn || behind)) return;
  std::unique_ptr<Watched, Forget> watched(
      new Watched{address, length, &file, offset, chunk_bytes(length), options.large_pages, options.alone, {}, {}});
  if (learn) watched->pieces = pieces_of(*watched);
  if (behind) watched->behind.emplace(watched->chunks());
  watcher().add(watched.get());
  watched_ = std::move(watched);
}

void Watch::synced() {
  if (!watched_) return;
  watched_->synced.store(true);
  watcher().synced();
}

void Watch::Forget::operator()(Watched* watched) const {
  watcher().remove(watched);
  delete watched;
}

}  // namespace sill::storage
