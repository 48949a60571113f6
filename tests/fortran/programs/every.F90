! Every procedure of MPI, called at least once, with what it gives looked at: one text for the three interfaces, and with
! -DLARGE for mpi_f08's large counts, there without the `ierror` that may be left out. test_every_procedure.py holds the
! compiled programs to the standard's list: a procedure that nobody calls fails.
#include "interface.inc"
#if defined LARGE
#define CARD integer(MPI_COUNT_KIND)
#define K(x) int(x, MPI_COUNT_KIND)
#define IERR
#define ONLY_IERR
#define IERROR_OF_IT
#else
#define CARD integer
#define K(x) (x)
#define IERR , code
#define ONLY_IERR code
#define IERROR_OF_IT , ierror
#endif
#if defined USE_F08 || defined USE_MPI
#define BASE type(c_ptr)
#define ASYNC integer, asynchronous
#else
#define ASYNC integer
#define BASE integer(MPI_ADDRESS_KIND)
#endif
#if defined USE_F08
#define DETACHED type(c_ptr)
#define USERS_BUFFER(name, kind) type(c_ptr), value :: name
#else
#define DETACHED integer(MPI_ADDRESS_KIND)
#define USERS_BUFFER(name, kind) integer(kind) :: name(*)
#endif

! -DSECTIONS: the buffers are sections of arrays, backwards and with gaps, which nobody may touch.
#if defined SECTIONS
#define BUFFER(name, n) ASYNC, pointer :: name(:)
#define BUFFER2(name, n, m) ASYNC, pointer :: name(:, :)
#define SECTION(name, n) call make_section(name, n)
#define SECTION2(name, n, m) call make_section2(name, n, m)
#else
#define BUFFER(name, n) ASYNC :: name(n)
#define BUFFER2(name, n, m) ASYNC :: name(n, m)
#define SECTION(name, n)
#define SECTION2(name, n, m)
#endif

! What MPI calls. In mpif.h's program everything is private but these, since the program has its own copy of the rest.
module procedures
#if defined USE_F08
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
#elif defined USE_MPI
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
  private
  public :: handled, calls, add, comm_error, win_error, file_error, session_error, query, free_it, cancel_it
  public :: file_extent, widen, narrow
#endif
  integer :: handled = 0  ! the last error that a handler got
  integer :: calls = 0    ! of a generalised request's procedures
contains
  subroutine add(from, to, length, datatype)
    USERS_BUFFER(from, 4)
    USERS_BUFFER(to, 4)
    CARD :: length
    HANDLE(MPI_Datatype) :: datatype
#if defined USE_F08
    integer, pointer :: a(:), b(:)
    call c_f_pointer(from, a, [length])
    call c_f_pointer(to, b, [length])
    b = a + b
#else
    to(1:length) = from(1:length) + to(1:length)
#endif
    if (datatype /= MPI_INTEGER) handled = -1
  end subroutine
  subroutine comm_error(object, error)
    HANDLE(MPI_Comm) :: object
    integer :: error
    handled = error
  end subroutine
  subroutine win_error(object, error)
    HANDLE(MPI_Win) :: object
    integer :: error
    handled = error
  end subroutine
  subroutine file_error(object, error)
    HANDLE(MPI_File) :: object
    integer :: error
    handled = error
  end subroutine
  subroutine session_error(object, error)
    HANDLE(MPI_Session) :: object
    integer :: error
    handled = error
  end subroutine
  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    STATUS :: A_STATUS(status)
    integer :: ierror
    calls = calls + int(extra_state)
    call MPI_Status_set_elements(status, MPI_INTEGER, K(3) IERROR_OF_IT)
    call MPI_Status_set_cancelled(status, .false. IERROR_OF_IT)
    ierror = MPI_SUCCESS
  end subroutine
  subroutine free_it(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    calls = calls + 10*int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel_it(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    if (.not. complete) calls = calls + 100*int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine
  subroutine file_extent(datatype, extent, extra_state, ierror)
    HANDLE(MPI_Datatype) :: datatype
    integer(MPI_ADDRESS_KIND) :: extent, extra_state
    integer :: ierror
    if (datatype == MPI_INTEGER) extent = extra_state
    ierror = MPI_SUCCESS
  end subroutine
  ! INTEGERs of four bytes in memory and of eight in a file; `position` counts in the former.
  subroutine widen(memory, datatype, count, file, position, extra_state, ierror)
    USERS_BUFFER(memory, 4)
    USERS_BUFFER(file, 8)
    HANDLE(MPI_Datatype) :: datatype
    CARD :: count
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
#if defined USE_F08
    integer, pointer :: in_memory(:)
    integer(8), pointer :: in_file(:)
    call c_f_pointer(memory, in_memory, [position + count])
    call c_f_pointer(file, in_file, [count])
    in_file = in_memory(position + 1:)
#else
    file(1:count) = memory(position + 1:position + count)
#endif
    ierror = merge(MPI_SUCCESS, MPI_ERR_TYPE, datatype == MPI_INTEGER .and. extra_state == 8)
  end subroutine
  subroutine narrow(memory, datatype, count, file, position, extra_state, ierror)
    USERS_BUFFER(memory, 4)
    USERS_BUFFER(file, 8)
    HANDLE(MPI_Datatype) :: datatype
    CARD :: count
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
#if defined USE_F08
    integer, pointer :: in_memory(:)
    integer(8), pointer :: in_file(:)
    call c_f_pointer(memory, in_memory, [position + count])
    call c_f_pointer(file, in_file, [count])
    in_memory(position + 1:) = int(in_file)
#else
    memory(position + 1:position + count) = int(file(1:count))
#endif
    ierror = merge(MPI_SUCCESS, MPI_ERR_TYPE, datatype == MPI_INTEGER .and. extra_state == 8)
  end subroutine
end module

program every
#if defined USE_F08
  use mpi_f08
  use procedures
  use, intrinsic :: iso_c_binding
  implicit none
#elif defined USE_MPI
  use mpi
  use procedures
  use, intrinsic :: iso_c_binding
  implicit none
#else
  use procedures
  use, intrinsic :: iso_c_binding, only: c_ptr, c_loc, c_f_pointer
  implicit none
  include 'mpif.h'
#endif
  integer :: rank, size, left, right, code, errors, provided
  logical :: flag
  character(32) :: how
  HANDLE(MPI_Comm) :: comm, parent
#if defined SECTIONS
  type :: an_array
    integer, pointer :: memory(:, :)
  end type
  type(an_array) :: arrays(1000)
  integer :: made = 0
#endif
  errors = 0
  code = MPI_SUCCESS
  call get_environment_variable('TEST_END', how)
  call MPI_Initialized(flag IERR)
  call check('not initialised yet', .not. flag)
  if (how == 'abort') then
    call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided IERR)
    call check('the level of threads', provided == MPI_THREAD_MULTIPLE)
    call MPI_Abort(MPI_COMM_WORLD, 7 IERR)
  end if
  call MPI_Init(ONLY_IERR)
  call MPI_Comm_get_parent(parent IERR)
  if (parent == MPI_COMM_NULL) then
    call everything
  else
    call MPI_Comm_disconnect(parent IERR)
  end if
  call MPI_Finalize(ONLY_IERR)
  call MPI_Finalized(flag IERR)
  if (errors /= 0 .or. .not. flag) stop 1
contains
  subroutine everything
    call MPI_Comm_rank(MPI_COMM_WORLD, rank IERR)
    call MPI_Comm_size(MPI_COMM_WORLD, size IERR)
    right = mod(rank + 1, size)
    left = mod(rank + size - 1, size)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm IERR)
    call environment
    call messages
    call collectives
    call datatypes
    call objects
    call topologies
    call windows
    call files
    call processes
    call MPI_Comm_free(comm IERR)
    call check('a communicator that is freed', comm == MPI_COMM_NULL)
#if defined SECTIONS
    call look_at_gaps
#endif
    call MPI_Allreduce(MPI_IN_PLACE, errors, K(1), MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD IERR)
    if (rank == 0 .and. errors == 0) print '(a)', 'all is well'
  end subroutine

  ! Of the call before, whose code it takes away, so that a procedure that gives none is found.
  subroutine check(what, good)
    character(*), intent(in) :: what
    logical, intent(in) :: good
    if (.not. good .or. code /= MPI_SUCCESS) then
      errors = errors + 1
      print '(a,i0,a,a,a,i0)', 'rank ', rank, ': wrong: ', what, ', code ', code
    end if
#if !defined LARGE
    code = -1
#endif
  end subroutine

  ! What a call has given that was to fail: its code is of that class.
  subroutine check_error(what, expected)
    character(*), intent(in) :: what
    integer, intent(in) :: expected
#if !defined LARGE
    integer :: class, here
    call MPI_Error_class(code, class, here)
    code = MPI_SUCCESS
    call check(what, class == expected)
#endif
  end subroutine

  ! Ends a collective call in form 2 (with a request) or 3 (persistent, started once).
  subroutine finish(form, request)
    integer, intent(in) :: form
    HANDLE(MPI_Request), intent(inout) :: request
    if (form == 3) call MPI_Start(request IERR)
    if (form > 1) call MPI_Wait(request, MPI_STATUS_IGNORE IERR)
    if (form == 3) call MPI_Request_free(request IERR)
    if (form > 1) call check('a request that is over', request == MPI_REQUEST_NULL)
    code = MPI_SUCCESS
  end subroutine

#if defined SECTIONS
  subroutine make_section(section, n)
    ASYNC, pointer, intent(out) :: section(:)
    integer, intent(in) :: n
    made = made + 1
    allocate (arrays(made)%memory(3*n + 2, 1))
    arrays(made)%memory = -99
    section => arrays(made)%memory(3*n:3:-3, 1)
  end subroutine

  subroutine make_section2(section, n, m)
    ASYNC, pointer, intent(out) :: section(:, :)
    integer, intent(in) :: n, m
    made = made + 1
    allocate (arrays(made)%memory(3*n + 2, 2*m))
    arrays(made)%memory = -99
    section => arrays(made)%memory(3:3*n:3, 2*m:2:-2)
  end subroutine

  ! What lies between the elements of the sections, and around them, is as it was.
  subroutine look_at_gaps
    integer :: i, column
    do i = 1, made
      do column = 1, ubound(arrays(i)%memory, 2)
        if (column == 1) call check('a gap', all(arrays(i)%memory(1::3, 1) == -99) .and. all(arrays(i)%memory(2::3, 1) == -99))
        code = MPI_SUCCESS
        if (mod(column, 2) == 1 .and. column > 1) call check('a column between', all(arrays(i)%memory(:, column) == -99))
        code = MPI_SUCCESS
      end do
    end do
  end subroutine
#endif

  ! An array on memory that MPI has made.
  subroutine array_at(place, array, n)
    BASE, intent(in) :: place
    integer, pointer, intent(out) :: array(:)
    integer, intent(in) :: n
    type(c_ptr) :: address
    address = transfer(place, address)
    call c_f_pointer(address, array, [n])
  end subroutine

#include "every/environment.inc"
#include "every/messages.inc"
#include "every/collectives.inc"
#include "every/datatypes.inc"
#include "every/objects.inc"
#include "every/topologies.inc"
#include "every/windows.inc"
#include "every/files.inc"
#include "every/processes.inc"
end program
