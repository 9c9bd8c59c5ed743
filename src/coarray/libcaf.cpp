#include "coarray/libcaf.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "base/log.hpp"

namespace sill::coarray {
namespace {

template <class Pointer>
void look_up(Pointer& slot, const char* symbol) {
  slot = reinterpret_cast<Pointer>(::dlsym(RTLD_NEXT, symbol));
  if (slot) return;
  log(LogLevel::error, std::string("coarrays: no ") + symbol +
                           " behind libsill-caf; link with OpenCoarrays' shared library (-lcaf_openmpi, -lcaf_mpich)");
  std::_Exit(EXIT_FAILURE);
}

Libcaf find() {
  Libcaf table{};
#define X(name, result, params) look_up(table.next_##name, "_gfortran_caf_" #name);
  SILL_CAF_CALLS(X)
#undef X
  look_up(table.current_comm, "CAF_COMM_WORLD");
  table.newest_token = static_cast<LibcafTokenList**>(::dlsym(RTLD_NEXT, "caf_allocated_tokens"));
  return table;
}

}  // namespace

const Libcaf& libcaf() {
  static const Libcaf table = find();
  return table;
}

}  // namespace sill::coarray
