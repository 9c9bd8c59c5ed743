// Fortran's MPI_Win_get_attr: the one call whose Fortran wrappers reach into the MPI library past MPI_* and PMPI_*.
// MPI 4.1, section 19.3.7: in Fortran each attribute is an integer of address size.
#include <cstdint>
#include <type_traits>

#include "mpi/below.hpp"
#include "pmpi/entry.hpp"
#include "pmpi/win_attribute.hpp"

namespace {

#ifdef SILL_FAMILY_MPIABI
using Fint = int;  // the ABI leaves Fortran to the compiler; every known one has default integers of this size
constexpr const char* converter = "MPI_Win_fromint";
#else
using Fint = MPI_Fint;
[[maybe_unused]] constexpr const char* converter = "MPI_Win_f2c";  // MPICH has a macro
#endif

using FortranCall = void (*)(Fint* win, Fint* keyval, MPI_Aint* value, Fint* flag, Fint* ierror);

MPI_Win to_c(Fint win) {
#ifdef MPI_Win_f2c
  return MPI_Win_f2c(win);
#else
  static const auto convert = reinterpret_cast<MPI_Win (*)(Fint)>(sill::mpi::next_symbol(converter));
  return convert ? convert(win) : MPI_WIN_NULL;
#endif
}

// MPICH numbers a predefined key one higher in Fortran than in C.
int c_keyval(Fint keyval) {
#ifdef SILL_FAMILY_MPICH
  return keyval % 2 == 0 ? keyval - 1 : keyval;
#else
  return keyval;
#endif
}

// The number behind an answer: the base is one itself, the others are pointed to.
MPI_Aint fortran_value(int keyval, void* answer) {
  if (keyval == MPI_WIN_BASE) return reinterpret_cast<MPI_Aint>(answer);
  return keyval == MPI_WIN_SIZE ? *static_cast<MPI_Aint*>(answer) : *static_cast<int*>(answer);
}

void get_attr(const char* symbol, Fint* win, Fint* keyval, MPI_Aint* value, Fint* flag, Fint* ierror) {
  void* answer = nullptr;
  if (sill::pmpi::answer_attribute(to_c(*win), c_keyval(*keyval), &answer)) {
    *value = fortran_value(c_keyval(*keyval), answer);
    *flag = 1;  // .true. of gfortran, flang and Intel's compiler with -fpscomp logicals
    if (ierror) *ierror = MPI_SUCCESS;
    return;
  }
  const auto next = reinterpret_cast<FortranCall>(sill::mpi::next_symbol(symbol));
  if (next)
    next(win, keyval, value, flag, ierror);
  else if (ierror)
    *ierror = MPI_ERR_UNSUPPORTED_OPERATION;
}

}  // namespace

#define SILL_FORTRAN_GET_ATTR(symbol)                                                           \
  SILL_EXPORT void symbol(Fint* win, Fint* keyval, MPI_Aint* value, Fint* flag, Fint* ierror);  \
  SILL_EXPORT void symbol(Fint* win, Fint* keyval, MPI_Aint* value, Fint* flag, Fint* ierror) { \
    get_attr(#symbol, win, keyval, value, flag, ierror);                                        \
  }

SILL_FORTRAN_GET_ATTR(mpi_win_get_attr_)
SILL_FORTRAN_GET_ATTR(mpi_win_get_attr)
SILL_FORTRAN_GET_ATTR(mpi_win_get_attr__)
SILL_FORTRAN_GET_ATTR(MPI_WIN_GET_ATTR)
SILL_FORTRAN_GET_ATTR(pmpi_win_get_attr_)
SILL_FORTRAN_GET_ATTR(mpi_win_get_attr_f08_)
SILL_FORTRAN_GET_ATTR(pmpi_win_get_attr_f08_)
