! Sill: the constants of sill.h for Fortran. Compile this file with the program, or include it before the program's own
! units; a module's binary form belongs to one compiler, so none is installed.
module sill
  implicit none
  public

  ! The split type of MPI_Comm_split_type for the ranks that see the same directory, under every MPI.
  integer, parameter :: SILL_COMM_TYPE_NEIGHBORHOOD = 20977
  integer, parameter :: MPIX_COMM_TYPE_NEIGHBORHOOD = SILL_COMM_TYPE_NEIGHBORHOOD
end module sill
