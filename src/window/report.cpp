#include "window/report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <span>

#include "base/config.hpp"
#include "mpi/below.hpp"
#include "mpi/team.hpp"

namespace sill::window {
namespace {

using mpi::below;

// One rank's numbers for one window. Sent as bytes.
struct Row {
  char name[16];
  char path[240];
  std::uint64_t memory;
  std::uint64_t storage;
  std::uint64_t synced;
  std::uint64_t syncs;
  std::uint64_t nanoseconds;
  int ranks;
};

std::mutex rows_mutex;
std::vector<Row>& rows() {
  static auto* all = new std::vector<Row>;
  return *all;
}

bool wanted() {
  static const bool yes = environment("SILL_STATS") == "1";
  return yes;
}

std::string human(std::uint64_t bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text.data();
}

void merge(Row& into, const Row& row) {
  into.memory += row.memory;
  into.storage += row.storage;
  into.synced += row.synced;
  into.syncs += row.syncs;
  into.nanoseconds = std::max(into.nanoseconds, row.nanoseconds);
  into.ranks += row.ranks;
}

void print(const std::vector<Row>& all) {
  std::map<std::string, Row> windows;
  std::vector<std::string> order;
  for (const Row& row : all) {
    const auto [at, fresh] = windows.try_emplace(row.name, row);
    if (fresh)
      order.emplace_back(row.name);
    else
      merge(at->second, row);
  }
  std::fprintf(stderr, "sill: %-8s %5s %11s %11s %11s %7s %10s  %s\n", "window", "ranks", "memory", "storage", "synced",
               "syncs", "sync time", "file (of the first rank)");
  for (const std::string& name : order) {
    const Row& row = windows[name];
    std::fprintf(stderr, "sill: %-8s %5d %11s %11s %11s %7llu %8.3f s  %s\n", row.name, row.ranks,
                 human(row.memory).c_str(), human(row.storage).c_str(), human(row.synced).c_str(),
                 static_cast<unsigned long long>(row.syncs), static_cast<double>(row.nanoseconds) / 1e9, row.path);
  }
}

}  // namespace

void note_window(Window& window) {
  if (!wanted() || !window.has_storage()) return;
  Row row{};
  std::strncpy(row.name, window.allocated() ? window.name().c_str() : "created", sizeof row.name - 1);
  std::strncpy(row.path, window.path().c_str(), sizeof row.path - 1);
  const Window::Stats stats = window.stats();
  row.storage = stats.storage;
  row.memory = stats.memory;
  row.synced = stats.synced.value_or(0);
  row.syncs = stats.syncs;
  row.nanoseconds = stats.nanoseconds;
  row.ranks = 1;
  const std::lock_guard lock(rows_mutex);
  rows().push_back(row);
}

void print_report() {
  // A launcher may have given the variable to some ranks only.
  int mine_wanted = wanted();
  int all_want = 0;
  below().Allreduce(&mine_wanted, &all_want, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!all_want) return;
  for (Window* window : open_windows()) note_window(*window);
  const std::lock_guard lock(rows_mutex);
  const mpi::Team team(MPI_COMM_WORLD);
  const int mine = static_cast<int>(rows().size());
  const auto counts = team.gather(std::span(&mine, 1), 0);
  if (!counts.ok()) return;
  const auto all = team.gather(std::span<const Row>(rows()), counts.value(), 0);
  if (all.ok() && !all.value().empty()) print(all.value());
}

}  // namespace sill::window
