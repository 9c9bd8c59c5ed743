#include "window/window.hpp"

#include <algorithm>
#include <chrono>

#include "base/log.hpp"
#include "mpi/below.hpp"
#include "mpi/errors.hpp"
#include "storage/page_cache.hpp"
#include "storage/record.hpp"

namespace sill::window {
namespace {

std::atomic<int> rerouted_windows{0};
std::atomic<int> readonly_windows{0};

std::mutex open_mutex;
std::vector<std::unique_ptr<Window>>& open_list() {
  static auto* all = new std::vector<std::unique_ptr<Window>>;  // outlives static destructors of the program
  return *all;
}

int window_keyval() {
  static std::once_flag once;
  static int keyval = MPI_KEYVAL_INVALID;
  std::call_once(
      once, [] { mpi::below().Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &keyval, nullptr); });
  return keyval;
}

Window* attribute_of(MPI_Win win) {
  Window* window = nullptr;
  int found = 0;
  const bool got = mpi::below().Win_get_attr(win, window_keyval(), &window, &found) == MPI_SUCCESS;
  return got && found ? window : nullptr;
}

std::vector<void (*)()>& rerouting_calls() {
  static std::vector<void (*)()> all;
  return all;
}

void change_rerouted(const Window& window, int by) {
  if (!window.rerouted() && !window.readonly()) return;
  const std::lock_guard lock(rerouting_mutex);
  if (window.rerouted()) rerouted_windows += by;
  if (window.readonly()) readonly_windows += by;
  for (const auto call : rerouting_calls()) call();
}

}  // namespace

std::atomic<std::uint64_t> generation{1};
constinit thread_local Remembered remembered{};
std::mutex rerouting_mutex;

bool any_rerouted(bool writes) { return rerouted_windows.load() != 0 || (writes && readonly_windows.load() != 0); }

void when_rerouting_changes(void (*call)()) { rerouting_calls().push_back(call); }

Window* look_up(MPI_Win win) {
  if (win == MPI_WIN_NULL) return nullptr;
  const std::uint64_t now = generation.load();
  {
    const std::lock_guard lock(open_mutex);
    if (open_list().empty()) return nullptr;
  }
  remembered = {now, win, attribute_of(win)};
  return remembered.window;
}

Status enter(MPI_Win win, std::unique_ptr<Window> window) {
  if (const int code = mpi::below().Win_set_attr(win, window_keyval(), window.get()); code != MPI_SUCCESS)
    return mpi::from_code(code, "MPI_Win_set_attr");
  change_rerouted(*window, 1);
  const std::lock_guard lock(open_mutex);
  open_list().push_back(std::move(window));
  ++generation;
  return {};
}

std::unique_ptr<Window> leave(Window* window) {
  const std::lock_guard lock(open_mutex);
  ++generation;
  auto& all = open_list();
  const auto at = std::find_if(all.begin(), all.end(), [&](const auto& open) { return open.get() == window; });
  if (at == all.end()) return nullptr;
  auto left = std::move(*at);
  all.erase(at);
  change_rerouted(*left, -1);
  return left;
}

std::vector<Window*> open_windows() {
  const std::lock_guard lock(open_mutex);
  std::vector<Window*> windows;
  for (const auto& window : open_list()) windows.push_back(window.get());
  return windows;
}

Window::Window(Allocation allocation) : allocation_(std::move(allocation)) {
  const Placement& mine = placements()[rank()];
  attributes_ = {base(rank()), static_cast<MPI_Aint>(mine.size), static_cast<int>(mine.disp_unit), allocation_.flavor};
  if (mpi_window().translated)
    for (int target = 0; target < comm()->size; ++target)
      ways_.push_back(
          {static_cast<MPI_Aint>(placements()[target].disp_unit), static_cast<MPI_Aint>(mpi_window().shifts[target])});
  if (mpi_window().direct || mpi_window().flush_each) access_ = std::make_unique<Access>(comm()->size);
}

void Window::add(std::shared_ptr<StoredSegment> segment, bool own) {
  if (own) path_ = segment->file().path();
  const auto& extent = segment->extent();
  ranges_.push_back({segment, nullptr, extent.address, extent.address, extent.address + extent.length, own});
  if (own) std::rotate(ranges_.begin(), ranges_.end() - 1, ranges_.end());
}

void Window::add_range(std::shared_ptr<StoredSegment> segment, const WindowHints* hints, const void* attached,
                       const std::byte* begin, const std::byte* end) {
  const std::lock_guard lock(mutex_);
  if (path_.empty()) path_ = segment->file().path();
  ranges_.push_back({std::move(segment), hints, attached, begin, end, true});
}

void Window::drop_range(const void* attached) {
  const std::lock_guard lock(mutex_);
  std::erase_if(ranges_, [&](const Range& range) { return range.attached == attached; });
}

Window::Storing Window::exchange_storing(std::vector<Placement> placements, WindowHints hints,
                                         std::shared_ptr<Front> front) {
  const std::lock_guard lock(mutex_);
  Storing old{std::exchange(allocation_.placements, std::move(placements)),
              std::exchange(allocation_.hints, std::move(hints)),
              std::exchange(allocation_.front, std::move(front)),
              {}};
  for (const Range& range : ranges_) {
    range.segment->engine().unwatch();
    old.segments.push_back(range.segment);
  }
  ranges_.clear();
  return old;
}

Status Window::put_back(Storing storing) {
  exchange_storing(std::move(storing.placements), std::move(storing.hints), std::move(storing.front));
  Status first;
  bool own = true;
  for (const auto& segment : storing.segments) {
    first.note(segment->attach(allocation_.hints, own, name()));
    add(segment, std::exchange(own, false));
  }
  watch();
  return first;
}

StoredSegment* Window::own_segment() const {
  return allocated() && !ranges_.empty() && ranges_.front().own ? ranges_.front().segment.get() : nullptr;
}

bool Window::leads_store() const { return own_segment() && placements()[rank()].leader == rank(); }

bool Window::has_storage() const {
  const std::lock_guard lock(mutex_);
  return !ranges_.empty();
}

std::vector<Window::Range> Window::ranges() const {
  const std::lock_guard lock(mutex_);
  return ranges_;
}

Status Window::sync() { return sync_ranges(ranges()); }

Status Window::sync_own() {
  auto own = ranges();
  std::erase_if(own, [](const Range& range) { return !range.own; });
  return sync_ranges(own);
}

Status Window::sync_all() {
  if (!allocated()) return sync();
  // All puts are in place when everybody has come here; then each rank's own storage is enough.
  const Status all_here = comm()->meet();
  return comm()->agree(all_here.ok() ? sync_own() : all_here);
}

Status Window::sync_ranges(const std::vector<Range>& ranges) {
  // The standard's part of MPI_Win_sync: all windows here are in the unified model, so a full fence is enough.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const auto start = std::chrono::steady_clock::now();
  Status first;
  for (const Range& range : ranges) {
    // Neighbours who sync at the same time would count the same dirty bytes.
    const Status status = range.segment->sync(range.begin, range.end, range.own ? &counts_ : nullptr);
    first.note(status);
    if (status.ok() && range.own) storage::note_sync(range.segment->file());
  }
  counts_.nanoseconds += static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count());
  if (first.ok()) ++counts_.count;
  return first;
}

bool Window::restored() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [](const Range& range) { return range.own && range.segment->restored(); });
}

std::optional<std::string> Window::store_path() const {
  const std::lock_guard lock(mutex_);
  if (ranges_.empty() || !ranges_.front().own || ranges_.front().segment->file().is_anonymous()) return std::nullopt;
  return ranges_.front().segment->file().path();
}

HintPairs Window::answers() const {
  const std::lock_guard lock(mutex_);
  const WindowHints* hints = allocated() ? &allocation_.hints : ranges_.empty() ? nullptr : ranges_.front().hints;
  if (!hints) return {};
  HintPairs pairs = format_hints(*hints);
  const std::string path = allocated() ? mpi_window().path : "create";
  pairs.emplace_back("storage_alloc_window_path", path.substr(0, path.find(',')));  // "native, several nodes"
  return pairs;
}

Window::Stats Window::stats() {
  Stats stats;
  storage::CacheUse use;
  bool use_known = true;
  const std::lock_guard lock(mutex_);
  for (const Range& range : ranges_) {
    if (!range.own) continue;
    const auto& extent = range.segment->extent();
    const auto offset = extent.offset + static_cast<std::uint64_t>(range.begin - extent.address);
    const auto length = static_cast<std::uint64_t>(range.end - range.begin);
    stats.storage += length;
    const auto part = storage::cache_use(range.segment->file(), offset, length);
    use_known = use_known && part;
    use.resident += part ? part->resident : 0;
    use.dirty += part ? part->dirty : 0;
  }
  if (allocated()) stats.memory = placements()[rank()].size - stats.storage;
  if (use_known) stats.resident = use.resident;
  if (use_known) stats.dirty = use.dirty;
  if (counts_.bytes_known) stats.synced = counts_.bytes;
  stats.syncs = counts_.count;
  stats.nanoseconds = counts_.nanoseconds;
  return stats;
}

void Window::watch() {
  if (!allocated()) return;
  std::uint64_t node_bytes = 0;
  for (int target = 0; target < comm()->size; ++target)
    if (comm()->on_my_node(target) && placements()[target].in_place())
      node_bytes += placements()[target].storage_length;
  // Each process advises its own mappings; a segment is written behind by its owner.
  WindowHints of_others = allocation_.hints;
  of_others.write_behind = false;
  const bool alone = comm()->alone_on_node();
  for (const Range& range : ranges())
    range.segment->engine().watch(range.own ? allocation_.hints : of_others, node_bytes, alone);
}

Status Window::advise() {
  for (const Range& range : ranges())
    if (Status status = range.segment->engine().advise(allocation_.hints); !status.ok()) return status;
  watch();
  return {};
}

Result<Window::End> Window::agree_on_end() {
  const WindowHints& hints = allocation_.hints;
  constexpr int keeps = 1;
  constexpr int has_front = 2;
  const int mine = (hints.discard || hints.unlink ? 0 : keeps) | (allocation_.front ? has_front : 0);
  int all = mine;
  if (const int code = mpi::below().Allreduce(&mine, &all, 1, MPI_INT, MPI_BAND, comm()->comm); code != MPI_SUCCESS)
    return mpi::from_code(code, "MPI_Allreduce");
  return End{(all & keeps) != 0, (all & has_front) != 0, (mine & keeps) && !(all & keeps)};
}

Status Window::last_step(const End& end) {
  const storage::File* led = leads_store() ? &own_segment()->file() : nullptr;
  if (end.keep) return led ? allocation_.front->close(*led) : Status();
  return end.gives_up ? allocation_.front->give_up(led) : Status();
}

void Window::keep(storage::Promise promise) {
  const Placement& mine = placements()[rank()];
  memory_ = std::move(promise);
  if (std::byte* begin = base(rank())) memory_.lies_at(begin + (mine.storage_begin > 0 ? 0 : mine.storage_length));
}

Status Window::close() {
  if (!allocated()) return {};
  // Also a barrier: nobody may still be putting into a segment that is being synced for the last time.
  const auto end = agree_on_end();
  Status status = end.status();
  if (status.ok() && end.value().keep) status = sync_own();
  // A rank that is alone may have its memory from the library's heap, which must get back plain memory.
  for (const Range& range : ranges()) range.segment->engine().unwatch();
  StoredSegment* own = own_segment();
  if (own && comm()->alone_on_node()) status.note(own->engine().detach());
  status = comm()->agree(status);
  if (!status.ok() || !end.value().has_front) return status;
  return comm()->agree(last_step(end.value()));
}

void Window::reopen(MPI_Win win) {
  // MPICH deletes the attributes before it refuses.
  if (const int code = mpi::below().Win_set_attr(win, window_keyval(), this); code != MPI_SUCCESS)
    log(LogLevel::error, mpi::from_code(code, "MPI_Win_set_attr").message());
  ++generation;
  StoredSegment* own = own_segment();
  if (own && placements()[rank()].in_place() && comm()->alone_on_node())
    if (const Status status = own->attach(allocation_.hints, true, allocation_.name); !status.ok())
      log(LogLevel::error, status.message());
  watch();
}

Status Window::finish() {
  if (!allocated()) return {};
  Status status;
  if (leads_store()) {
    storage::File& file = own_segment()->file();
    if (allocation_.hints.unlink) status = storage::remove_file(file);
    file.unlock();
  }
  // Nobody goes on before that is done: the next window may lie on the same file.
  return comm()->agree(status);
}

}  // namespace sill::window
