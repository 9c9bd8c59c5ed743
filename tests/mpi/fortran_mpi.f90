! A storage window from Fortran with `use mpi`: hints, attributes, puts, sync, and the file.
program fortran_mpi
  use mpi
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  integer, parameter :: count = 1000
  integer :: ierr, rank, ranks, target, before, info, win, i, disp_unit
  integer(kind=MPI_ADDRESS_KIND) :: bytes, place, answer
  integer :: values(count)
  integer, pointer :: mine(:)
  type(c_ptr) :: base
  logical :: found
  character(len=512) :: folder, name

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  target = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  call get_environment_variable("SILL_TEST_DIR", folder)

  call MPI_Info_create(info, ierr)
  call MPI_Info_set(info, "alloc_type", "storage", ierr)
  call MPI_Info_set(info, "storage_alloc_filename", trim(folder)//"/f.%r", ierr)
  bytes = 4*count
  disp_unit = 4
  call MPI_Win_allocate(bytes, disp_unit, info, MPI_COMM_WORLD, base, win, ierr)
  call MPI_Info_free(info, ierr)
  call c_f_pointer(base, mine, [count])

  call MPI_Win_get_attr(win, MPI_WIN_SIZE, answer, found, ierr)
  if (.not. found .or. answer /= bytes) call fail("size")
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, answer, found, ierr)
  if (.not. found .or. answer /= 4) call fail("disp_unit")
  call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, answer, found, ierr)
  if (.not. found .or. answer /= MPI_WIN_FLAVOR_ALLOCATE) call fail("flavor")
  call MPI_Win_get_attr(win, MPI_WIN_BASE, answer, found, ierr)
  if (.not. found .or. answer /= transfer(base, answer)) call fail("base")

  values = [(10000*rank + i, i=1, count)]
  place = 0
  call MPI_Win_fence(0, win, ierr)
  call MPI_Put(values, count, MPI_INTEGER, target, place, count, MPI_INTEGER, win, ierr)
  call MPI_Win_fence(0, win, ierr)
  do i = 1, count
    if (mine(i) /= 10000*before + i) call fail("value")
  end do
  call MPI_Win_fence(0, win, ierr)
  call MPI_Accumulate(values, count, MPI_INTEGER, target, place, count, MPI_INTEGER, MPI_SUM, win, ierr)
  call MPI_Win_fence(0, win, ierr)
  call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win, ierr)
  call MPI_Win_sync(win, ierr)
  call MPI_Win_unlock(rank, win, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)

  write (name, "(a,'/f.',i0)") trim(folder), target
  call check_file()
  call MPI_Win_free(win, ierr)
  call check_file()
  call MPI_Finalize(ierr)

contains

  ! The file of the next rank holds twice what this rank put there.
  subroutine check_file()
    integer :: unit, in_file(count), k
    open (newunit=unit, file=trim(name), access="stream", form="unformatted", status="old", action="read")
    read (unit) in_file
    close (unit)
    do k = 1, count
      if (in_file(k) /= 2*(10000*rank + k)) call fail("file")
    end do
  end subroutine

  subroutine fail(what)
    character(len=*), intent(in) :: what
    integer :: code
    write (*, "(a,i0,2a)") "rank ", rank, ": wrong ", what
    call MPI_Abort(MPI_COMM_WORLD, 1, code)
    stop 1
  end subroutine
end program
