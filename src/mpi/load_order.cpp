#include "mpi/load_order.hpp"

#include <dlfcn.h>

#include <atomic>

#include "mpi/below.hpp"

namespace sill::mpi {
namespace {

std::atomic<bool> entered{false};

constexpr const char* advice =
    ", so the program's MPI calls don't come to Sill and its windows stay in memory: start it by `sill run`, or link "
    "Sill before MPI (CMake: sill::sill; else -lsill-" SILL_FAMILY " before -lmpi)";

// The object that an address belongs to.
Dl_info object_of(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || !info.dli_fname) return {};
  return info;
}

}  // namespace

std::string own_library() {
  const Dl_info own = object_of(&entered);
  return own.dli_fname ? own.dli_fname : "";
}

void note_entry() { entered.store(true, std::memory_order_relaxed); }

Status check_order() {
  // Tools leave the PMPI_ names to the MPI library; Sill has both.
  const Dl_info first = object_of(::dlsym(RTLD_DEFAULT, "PMPI_Win_allocate"));
  const Dl_info own = object_of(&entered);
  if (!first.dli_fname || first.dli_fbase == own.dli_fbase || !is_mpi_library(first.dli_fname)) return {};
  return {Cause::unsupported, std::string(first.dli_fname) + " stands before " + own.dli_fname + advice};
}

Status check_entered() {
  if (entered.load(std::memory_order_relaxed)) return {};
  if (Status status = check_order(); !status.ok()) return status;
  return {Cause::unsupported, own_library() + " was loaded too late" + advice};
}

}  // namespace sill::mpi
