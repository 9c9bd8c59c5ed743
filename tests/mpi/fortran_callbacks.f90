! What Fortran code does that the MPI library calls back counts as elsewhere: a window's error handler, and a delete
! function in MPI_Finalize. The file of a staged window changes by syncs alone, so it shows whether one was done.
module callbacks
  use mpi_f08
  implicit none
  type(MPI_Win) :: staged, plain
  integer, pointer :: mine(:)
  character(len=512) :: name
  integer :: called = 0

contains

  subroutine sync_here()
    integer :: unit, there
    called = called + 1
    mine = 100*called
    call MPI_Win_lock_all(0, staged)
    call MPI_Win_sync(staged)
    call MPI_Win_unlock_all(staged)
    open (newunit=unit, file=trim(name), access="stream", form="unformatted", status="old", action="read")
    read (unit) there
    close (unit)
    if (there /= 100*called) error stop "a sync in a callback was none"
  end subroutine

  subroutine handle_error(win, code)
    type(MPI_Win) :: win
    integer :: code
    if (win /= plain .or. code == MPI_SUCCESS) error stop "the handler's arguments"
    call sync_here()
  end subroutine

  subroutine world_ends(comm, key, value, extra, ierror)
    type(MPI_Comm) :: comm
    integer :: key, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: library
    integer :: length
    call MPI_Get_library_version(library, length)
    ! Open MPI 4.1 and 5.0 give any number for the communicator here, without Sill, too.
    if (comm /= MPI_COMM_SELF .and. index(library, "Open MPI v") == 0) error stop "the function's communicator"
    if (key == MPI_KEYVAL_INVALID .or. value /= 5 .or. extra /= 7) error stop "the function's arguments"
    call sync_here()
    call MPI_Win_free(staged)
    ierror = MPI_SUCCESS
  end subroutine
end module

program fortran_callbacks
  use callbacks
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  integer :: rank, key, code
  integer(kind=MPI_ADDRESS_KIND) :: bytes, value, extra
  type(MPI_Info) :: info
  type(MPI_Errhandler) :: handler
  type(c_ptr) :: base
  character(len=512) :: folder

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call get_environment_variable("SILL_TEST_DIR", folder)
  write (name, "(a,'/f.',i0)") trim(folder), rank
  call MPI_Info_create(info)
  call MPI_Info_set(info, "alloc_type", "storage")
  call MPI_Info_set(info, "storage_alloc_engine", "staged")
  call MPI_Info_set(info, "storage_alloc_filename", trim(folder)//"/f.%r")
  bytes = 4000
  call MPI_Win_allocate(bytes, 4, info, MPI_COMM_WORLD, base, staged)
  call MPI_Info_free(info)
  call c_f_pointer(base, mine, [1000])

  call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, plain)
  call MPI_Win_create_errhandler(handle_error, handler)
  call MPI_Win_set_errhandler(plain, handler)
  call MPI_Errhandler_free(handler)
  call MPI_Win_lock(MPI_LOCK_SHARED, 77, 0, plain, code)
  if (code == MPI_SUCCESS .or. called /= 1) error stop "no handler was called"
  call MPI_Win_free(plain)

  value = 5
  extra = 7
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, world_ends, key, extra)
  call MPI_Comm_set_attr(MPI_COMM_SELF, key, value)
  call MPI_Finalize()
  if (called /= 2) error stop "no delete function was called"
end program
