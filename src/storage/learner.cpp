#include "storage/learner.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "storage/access_pattern.hpp"
#include "storage/mapping.hpp"
#include "storage/memory_limit.hpp"
#include "storage/page_cache.hpp"

namespace sill::storage {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t most_chunks = 1024;  // of a mapping: a sample asks the kernel about each
constexpr std::size_t most_pieces = 8;     // of a mapping: each has an advice of its own
constexpr std::size_t least_chunk = std::size_t{2} << 20;
constexpr auto shortest_period = 10ms;
constexpr int work_share = 10;     // a sample may take a tenth of the time between samples
constexpr long faults_wanted = 8;  // fewer between two samples are no reason to look

std::size_t chunk_bytes(std::size_t length) {
  std::size_t chunk = std::max(least_chunk, page_size());
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

struct Learning::Watched {
  struct Piece {
    std::size_t begin;
    std::size_t length;
    AccessPattern pattern;
  };

  std::byte* address;
  const Source* source;
  std::uint64_t offset;
  std::size_t chunk;
  std::vector<Piece> pieces;
  bool blind = false;  // the kernel doesn't tell what is in memory
};

namespace {

using Watched = Learning::Watched;

// Pages of a part of the mapping that are in memory; none if the kernel can't tell.
std::optional<std::uint64_t> resident_pages(const Watched& watched, std::size_t begin, std::size_t length) {
  if (const auto use = cache_use(*watched.source, watched.offset + begin, length)) return use->resident / page_size();
  std::vector<unsigned char> pages((length + page_size() - 1) / page_size());
  if (::mincore(watched.address + begin, length, pages.data()) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; }));
}

void look_at(Watched& watched, Watched::Piece& piece) {
  std::vector<std::uint64_t> resident;
  for (std::size_t begin = 0; begin < piece.length; begin += watched.chunk) {
    const auto pages = resident_pages(watched, piece.begin + begin, std::min(watched.chunk, piece.length - begin));
    if (!pages) {
      watched.blind = true;
      return;
    }
    resident.push_back(*pages);
  }
  const Advice before = piece.pattern.advice();
  const Advice now = piece.pattern.look(resident);
  if (now == before) return;
  log(LogLevel::debug, watched.source->path() + ": bytes from " + std::to_string(watched.offset + piece.begin) +
                           " on are accessed " + (now == Advice::random ? "at random" : "in stretches"));
  const int advice = now == Advice::random ? MADV_RANDOM : MADV_NORMAL;
  if (::madvise(watched.address + piece.begin, piece.length, advice) != 0) watched.blind = true;
}

class Learner {
 public:
  void add(Watched* watched) {
    const std::lock_guard lock(mutex_);
    all_.push_back(watched);
    if (!running_) start();
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
      log(LogLevel::info, std::string("no thread for learning how windows are accessed: ") + error.what());
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  // Ends when nothing is left to watch.
  void run() {
    std::unique_lock lock(mutex_);
    long faults = faults_so_far();
    Clock::duration period = shortest_period;
    while (!all_.empty()) {
      changed_.wait_for(lock, period);
      const long now = faults_so_far();
      if (now - faults < faults_wanted) continue;
      faults = now;
      const auto begin = Clock::now();
      for (Watched* watched : all_)
        for (auto& piece : watched->pieces)
          if (!watched->blind) look_at(*watched, piece);
      period = std::max<Clock::duration>(shortest_period, (Clock::now() - begin) * work_share);
    }
    running_ = false;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watched*> all_;
  bool running_ = false;
};

Learner& learner() {
  static auto* one = new Learner;  // its thread may outlive static destructors of the program
  return *one;
}

// Where all stays in memory, the kernel's own way is right. Finding out takes longer than making a small window.
bool fits_in_memory(std::uint64_t bytes) {
  constexpr std::uint64_t surely_fits = std::uint64_t{64} << 20;
  if (bytes <= surely_fits) return true;
  const auto available = available_memory();
  return !available.ok() || bytes <= available.value() / 2;
}

}  // namespace

Learning::Learning(std::byte* address, std::size_t length, const Source& source, std::uint64_t offset,
                   std::uint64_t node_bytes) {
  if (length == 0 || fits_in_memory(node_bytes)) return;
  const std::size_t chunk = chunk_bytes(length);
  const std::size_t chunks = (length + chunk - 1) / chunk;
  const std::size_t piece_bytes = (chunks + most_pieces - 1) / most_pieces * chunk;
  std::unique_ptr<Watched, Forget> watched(new Watched{address, &source, offset, chunk, {}});
  const std::uint64_t read_ahead = read_ahead_pages(source.device());
  for (std::size_t begin = 0; begin < length; begin += piece_bytes) {
    const std::size_t bytes = std::min(piece_bytes, length - begin);
    watched->pieces.push_back(
        {begin, bytes, AccessPattern((bytes + chunk - 1) / chunk, chunk / page_size(), read_ahead)});
  }
  learner().add(watched.get());
  watched_ = std::move(watched);
}

void Learning::Forget::operator()(Watched* watched) const {
  learner().remove(watched);
  delete watched;
}

}  // namespace sill::storage
