#include "mpi/below.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "base/log.hpp"

namespace sill::mpi {

bool is_mpi_library(std::string_view path) {
  const auto name = path.substr(path.rfind('/') + 1);
  for (const std::string_view known : {"libmpi.so", "libmpich.so", "libmpi_abi.so"})
    if (name.substr(0, known.size()) == known) return true;
  return false;
}

namespace {

// An MPI library that was loaded with RTLD_LOCAL is invisible to RTLD_NEXT, but it is in the list of loaded objects.
void* loaded_mpi_library() {
  std::string path;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        if (!is_mpi_library(info->dlpi_name)) return 0;
        *static_cast<std::string*>(found) = info->dlpi_name;
        return 1;
      },
      &path);
  return path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

template <class Function>
void look_up(Function& slot, const char* name, bool* whole) {
  slot = reinterpret_cast<Function>(next_symbol(name));
  if (slot) return;
  *whole = false;
  log(LogLevel::info, std::string("the MPI library has no ") + name);
}

struct Table {
  Below calls{};
  bool whole = true;
  Table() {
#define X(name) look_up(calls.name, "PMPI_" #name, &whole);
    SILL_BELOW_CALLS(X)
#undef X
  }
};

const Table& table() {
  static const Table one;
  return one;
}

// "MAJOR.MINOR" behind the mark.
Version number_after(Library library, std::string_view text, std::string_view mark) {
  Version found{.library = library};
  const auto at = text.find(mark);
  if (at == std::string_view::npos) return found;
  text.remove_prefix(std::min(text.size(), text.find_first_of("0123456789", at + mark.size())));
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, found.major);
  if (error == std::errc() && stop != end && *stop == '.') std::from_chars(stop + 1, end, found.minor);
  return found;
}

Version read_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (!below().Get_library_version || below().Get_library_version(text.data(), &length) != MPI_SUCCESS) return {};
  const std::string_view name(text.data());
  if (name.find("Open MPI") != name.npos) return number_after(Library::open_mpi, name, "Open MPI v");
  if (name.find("MPICH") == 0) return number_after(Library::mpich, name, "MPICH Version:");
  return {};
}

}  // namespace

void* next_symbol(const char* name) {
  if (void* symbol = ::dlsym(RTLD_NEXT, name)) return symbol;
  void* library = loaded_mpi_library();
  return library ? ::dlsym(library, name) : nullptr;
}

const Below& below() { return table().calls; }
bool below_is_whole() { return table().whole; }

bool between_init_and_finalize() {
  int initialized = 0;
  int finalized = 1;
  const Below& mpi = below();
  return mpi.Initialized && mpi.Finalized && mpi.Initialized(&initialized) == MPI_SUCCESS && initialized &&
         mpi.Finalized(&finalized) == MPI_SUCCESS && !finalized;
}

Version version() {
  static const Version one = read_version();
  return one;
}

Quirks quirks() { return quirks_of(version()); }

}  // namespace sill::mpi
