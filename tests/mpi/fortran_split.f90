! MPI_Comm_split_type by directory from Fortran, with the constant of Sill's module, by `use mpi` and by mpi_f08.
include "sill/sill.f90"

module new_way
  implicit none
contains
  subroutine split_f08(folder)
    use mpi_f08
    use sill, only: MPIX_COMM_TYPE_NEIGHBORHOOD
    character(len=*), intent(in) :: folder
    type(MPI_Info) :: info
    type(MPI_Comm) :: comm
    integer :: ranks, members

    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call MPI_Info_create(info)
    call MPI_Info_set(info, "nbhd_common_dirname", folder)
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPIX_COMM_TYPE_NEIGHBORHOOD, 0, info, comm)
    call MPI_Info_free(info)
    if (comm == MPI_COMM_NULL) error stop "mpi_f08: no communicator"
    call MPI_Comm_size(comm, members)
    if (members /= ranks) error stop "mpi_f08: not everybody"
    call MPI_Comm_free(comm)
  end subroutine split_f08
end module new_way

program fortran_split
  use mpi
  use sill, only: SILL_COMM_TYPE_NEIGHBORHOOD
  use new_way, only: split_f08
  implicit none
  integer :: ierr, rank, ranks, info, comm, members, place
  character(len=512) :: folder

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_environment_variable("SILL_TEST_DIR", folder)

  call MPI_Info_create(info, ierr)
  call MPI_Info_set(info, "nbhd_common_dirname", trim(folder), ierr)
  call MPI_Comm_split_type(MPI_COMM_WORLD, SILL_COMM_TYPE_NEIGHBORHOOD, -rank, info, comm, ierr)
  if (comm == MPI_COMM_NULL) error stop "no communicator"
  call MPI_Comm_size(comm, members, ierr)
  call MPI_Comm_rank(comm, place, ierr)
  if (members /= ranks .or. place /= ranks - 1 - rank) error stop "size or order"
  call MPI_Comm_free(comm, ierr)

  call MPI_Info_set(info, "nbhd_common_dirname", trim(folder)//"/missing", ierr)
  call MPI_Comm_split_type(MPI_COMM_WORLD, SILL_COMM_TYPE_NEIGHBORHOOD, 0, info, comm, ierr)
  if (comm /= MPI_COMM_NULL) error stop "a directory that isn't there"
  call MPI_Info_free(info, ierr)
  call split_f08(trim(folder))
  call MPI_Finalize(ierr)
end program fortran_split
