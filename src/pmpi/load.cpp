// What is looked at when Sill is loaded: whether the program's calls will come to it at all. If not, a line of the log
// is all that can be done: no call comes that could fail.
#include "base/config.hpp"
#include "base/log.hpp"
#include "mpi/comm.hpp"
#include "mpi/load_order.hpp"

namespace {

bool rule_wants_storage() {
  const auto& rules = sill::window_rules();
  return !rules.ok() || !rules.value().empty();
}

// All ranks are alike, and one of them says so.
[[gnu::constructor]] void check_order_at_load() {
  const sill::Status status = sill::mpi::check_order();
  if (status.ok() || sill::mpi::launched_rank() > 0) return;
  sill::log(rule_wants_storage() ? sill::LogLevel::error : sill::LogLevel::warn, status.message());
}

}  // namespace
