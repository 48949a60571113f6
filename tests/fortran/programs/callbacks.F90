! Procedures of the program that MPI calls, and attributes: in each interface. Those of mpif.h have no module; what the
! program's own makes known is its own alone.
#include "interface.inc"
module procedures
#if defined USE_F08
  use mpi_f08
  implicit none
#elif defined USE_MPI
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
  private
  public :: add_or_more, copy_attribute, delete_attribute, copy_of_type, delete_of_type, copy_of_win, delete_of_win
  public :: handle_error, query, free_it, cancel_it, copies, deletions, errors_handled, queries, frees
#endif
  integer :: copies = 0, deletions = 0, errors_handled = 0, queries = 0, frees = 0
contains
  subroutine add_or_more(in, inout, length, datatype)
#if defined USE_F08
    use, intrinsic :: iso_c_binding
    type(c_ptr), value :: in, inout
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(in, a, [length])
    call c_f_pointer(inout, b, [length])
#else
    integer :: length, datatype
    integer :: a(length), b(length), in(*), inout(*)
    a = in(1:length)
    b = inout(1:length)
#endif
    b = a + b + merge(0, 1000, datatype == MPI_INTEGER)
#if !defined USE_F08
    inout(1:length) = b
#endif
  end subroutine

  subroutine copy_attribute(comm, keyval, extra_state, from, to, flag, code)
    HANDLE(MPI_Comm) :: comm
    integer :: keyval, code
    integer(MPI_ADDRESS_KIND) :: extra_state, from, to
    logical :: flag
    copies = copies + 1
    flag = from > 0
    to = from + extra_state
    code = MPI_SUCCESS
  end subroutine

  subroutine delete_attribute(comm, keyval, value, extra_state, code)
    HANDLE(MPI_Comm) :: comm
    integer :: keyval, code
    integer(MPI_ADDRESS_KIND) :: value, extra_state
    deletions = deletions + int(value/10**6)
    code = MPI_SUCCESS
  end subroutine

  ! Of a datatype: copied with twice the state besides, refused where it is 99.
  subroutine copy_of_type(datatype, keyval, extra_state, from, to, flag, code)
    HANDLE(MPI_Datatype) :: datatype
    integer :: keyval, code, bytes
    integer(MPI_ADDRESS_KIND) :: extra_state, from, to
    logical :: flag
    call MPI_Type_size(datatype, bytes, code)
    copies = copies + bytes
    flag = from > 0
    to = from + 2*extra_state
    if (from == 99) code = MPI_ERR_NO_SPACE
  end subroutine

  subroutine delete_of_type(datatype, keyval, value, extra_state, code)
    HANDLE(MPI_Datatype) :: datatype
    integer :: keyval, code, bytes
    integer(MPI_ADDRESS_KIND) :: value, extra_state
    call MPI_Type_size(datatype, bytes, code)
    deletions = deletions + int(value - extra_state) + bytes
  end subroutine

  ! No call copies a window.
  subroutine copy_of_win(win, keyval, extra_state, from, to, flag, code)
    HANDLE(MPI_Win) :: win
    integer :: keyval, code
    integer(MPI_ADDRESS_KIND) :: extra_state, from, to
    logical :: flag
    copies = copies + 10**6
    flag = .false.
    code = MPI_SUCCESS
  end subroutine

  subroutine delete_of_win(win, keyval, value, extra_state, code)
    HANDLE(MPI_Win) :: win
    integer :: keyval, code
    integer(MPI_ADDRESS_KIND) :: value, extra_state, bytes
    logical :: flag
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, bytes, flag, code)
    deletions = deletions + int(value - extra_state) + int(bytes)
  end subroutine

  subroutine handle_error(comm, code)
    HANDLE(MPI_Comm) :: comm
    integer :: code, error_class, other
    call MPI_Error_class(code, error_class, other)
    if (error_class == MPI_ERR_RANK) errors_handled = errors_handled + 1
  end subroutine

  subroutine query(extra_state, status, code)
    integer(MPI_ADDRESS_KIND) :: extra_state
    STATUS :: A_STATUS(status)
    integer :: code
    queries = queries + int(extra_state)
    call MPI_Status_set_elements(status, MPI_INTEGER, 7, code)
    call MPI_Status_set_cancelled(status, .false., code)
  end subroutine

  subroutine free_it(extra_state, code)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: code
    frees = frees + int(extra_state)
    code = MPI_SUCCESS
  end subroutine

  subroutine cancel_it(extra_state, complete, code)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: code
    code = MPI_SUCCESS
  end subroutine
end module

program callbacks
  use procedures
#include "begin.inc"
  integer :: rank, size, code, errors, sums(3), i, keyval, count, old
  integer(MPI_ADDRESS_KIND) :: value, state
  logical :: flag
  HANDLE(MPI_Op) :: op
  HANDLE(MPI_Comm) :: comm, copy
  HANDLE(MPI_Errhandler) :: handler
  HANDLE(MPI_Request) :: request
  STATUS :: A_STATUS(status)
  errors = 0
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, size, code)

  call MPI_Op_create(add_or_more, .true., op, code)
  call MPI_Allreduce([rank, 1, 2], sums, 3, MPI_INTEGER, op, MPI_COMM_WORLD, code)
  call check('an operation', all(sums == [size*(size - 1)/2, size, 2*size]))
  call MPI_Op_free(op, code)
  call check('an operation that is freed', op == MPI_OP_NULL)

  call MPI_Comm_dup(MPI_COMM_WORLD, comm, code)
  state = 3*10**6
  call MPI_Comm_create_keyval(copy_attribute, delete_attribute, keyval, state, code)
  value = 10_8**12 + 4*10**6
  call MPI_Comm_set_attr(comm, keyval, value, code)
  value = 0
  call MPI_Comm_get_attr(comm, keyval, value, flag, code)
  call check('an attribute of 64 bits', flag .and. value == 10_8**12 + 4*10**6)
  value = 5*10**6
  call MPI_Comm_set_attr(comm, keyval, value, code)
  call check('the first is deleted', deletions == 10**6 + 4)
  call MPI_Comm_dup(comm, copy, code)
  call MPI_Comm_get_attr(copy, keyval, value, flag, code)
  call check('it is copied', flag .and. value == 8*10**6 .and. copies == 1)
  deletions = 0
  call MPI_Comm_free(copy, code)
  call MPI_Comm_delete_attr(comm, keyval, code)
  call check('and deleted', deletions == 13)
  value = -1
  call MPI_Comm_set_attr(comm, keyval, value, code)
  call MPI_Comm_dup(comm, copy, code)
  call MPI_Comm_get_attr(copy, keyval, value, flag, code)
  call check('it is not copied', .not. flag)
  call MPI_Comm_free(copy, code)
  call MPI_Comm_free_keyval(keyval, code)
  call check('a keyval that is freed', keyval == MPI_KEYVAL_INVALID)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, state, code)
  value = 42
  call MPI_Comm_set_attr(comm, keyval, value, code)
  call MPI_Comm_dup(comm, copy, code)
  call MPI_Comm_get_attr(copy, keyval, value, flag, code)
  call check('MPI_COMM_DUP_FN', flag .and. value == 42)
  call MPI_Comm_free(copy, code)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, code)
  call check('MPI_TAG_UB', flag .and. value >= 32767 .and. value < 2_8**31)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, value, flag, code)
  call check('MPI_WTIME_IS_GLOBAL', .not. flag .or. value == 0 .or. value == 1)
#if !defined USE_F08
  call MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, keyval, 0, code)
  call MPI_Attr_put(comm, keyval, -77, code)
  call MPI_Comm_dup(comm, copy, code)
  call MPI_Attr_get(copy, keyval, old, flag, code)
  call check('MPI-1''s attributes', flag .and. old == -77)
  call MPI_Comm_free(copy, code)
  call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, old, flag, code)
  call check('MPI-1''s MPI_TAG_UB', flag .and. old >= 32767)
#endif

  call MPI_Comm_create_errhandler(handle_error, handler, code)
  call MPI_Comm_set_errhandler(comm, handler, code)
  call MPI_Send(rank, 1, MPI_INTEGER, size, 0, comm, code)
  call check('an error handler', errors_handled == 1 .and. code /= MPI_SUCCESS, .true.)
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, code)
  call MPI_Send(rank, 1, MPI_INTEGER, size, 0, comm, code)
  call check('errors that return', errors_handled == 1 .and. code /= MPI_SUCCESS, .true.)
  call MPI_Errhandler_free(handler, code)

  state = 5
  call MPI_Grequest_start(query, free_it, cancel_it, state, request, code)
  call MPI_Grequest_complete(request, code)
  call MPI_Wait(request, status, code)
  call MPI_Get_count(status, MPI_INTEGER, count, code)
  call check('a generalised request', queries == 5 .and. frees == 5 .and. count == 7)
  call MPI_Comm_free(comm, code)
  call of_types
  call of_windows

  call MPI_Allreduce(MPI_IN_PLACE, errors, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  if (rank == 0 .and. errors == 0) print '(a)', 'all is well'
  call MPI_Finalize(code)
  if (errors /= 0) stop 1
contains
  subroutine of_types
    HANDLE(MPI_Datatype) :: three, copy
    call MPI_Type_contiguous(3, MPI_INTEGER, three, code)
    state = 10**8 + 5
    call MPI_Type_create_keyval(copy_of_type, delete_of_type, keyval, state, code)
    copies = 0
    deletions = 0
    value = 2*state
    call MPI_Type_set_attr(three, keyval, value, code)
    call MPI_Type_dup(three, copy, code)
    call MPI_Type_get_attr(copy, keyval, value, flag, code)
    call check('a datatype''s attribute is copied', flag .and. value == 4*state .and. copies == 12)
    call MPI_Type_free(copy, code)
    call check('and deleted with it', deletions == 3*state + 12)
    deletions = 0
    value = state
    call MPI_Type_set_attr(three, keyval, value, code)
    call check('the one before is deleted', deletions == state + 12)
    value = -1
    call MPI_Type_set_attr(three, keyval, value, code)
    call MPI_Type_dup(three, copy, code)
    call MPI_Type_get_attr(copy, keyval, value, flag, code)
    call check('a datatype''s attribute that is not copied', .not. flag .and. copies == 24)
    call MPI_Type_free(copy, code)
    value = 99
    call MPI_Type_set_attr(three, keyval, value, code)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, code)
    call MPI_Type_dup(three, copy, code)
    call check('a copy that is refused', code == MPI_ERR_NO_SPACE, .true.)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL, code)
    deletions = 0
    call MPI_Type_delete_attr(three, keyval, code)
    call check('a datatype''s attribute that is deleted', deletions == 99 - state + 12)
    call MPI_Type_free_keyval(keyval, code)
    call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, keyval, state, code)
    value = 42
    call MPI_Type_set_attr(three, keyval, value, code)
    call MPI_Type_dup(three, copy, code)
    value = 0
    call MPI_Type_get_attr(copy, keyval, value, flag, code)
    call check('MPI_TYPE_DUP_FN', flag .and. value == 42)
    call MPI_Type_free(copy, code)
    call MPI_Type_free_keyval(keyval, code)
    call MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, keyval, state, code)
    call MPI_Type_set_attr(three, keyval, value, code)
    call MPI_Type_dup(three, copy, code)
    call MPI_Type_get_attr(copy, keyval, value, flag, code)
    call check('MPI_TYPE_NULL_COPY_FN', .not. flag)
    call MPI_Type_free(copy, code)
    call MPI_Type_free_keyval(keyval, code)
    call MPI_Type_free(three, code)
  end subroutine

  subroutine of_windows
    HANDLE(MPI_Win) :: win
    integer :: memory(4), second
    integer(MPI_ADDRESS_KIND) :: bytes
    bytes = 16
    call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, code)
    state = 10**9 + 7
    call MPI_Win_create_keyval(copy_of_win, delete_of_win, keyval, state, code)
    call MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, second, state, code)
    copies = 0
    deletions = 0
    value = state + 3
    call MPI_Win_set_attr(win, keyval, value, code)
    value = 10_8**12
    call MPI_Win_set_attr(win, second, value, code)
    call MPI_Win_get_attr(win, keyval, value, flag, code)
    call check('a window''s attribute', flag .and. value == state + 3)
    call MPI_Win_get_attr(win, second, value, flag, code)
    call check('a window''s second attribute', flag .and. value == 10_8**12)
    value = state + 20
    call MPI_Win_set_attr(win, keyval, value, code)
    call check('a window''s attribute that is deleted', deletions == 3 + 16)
    call MPI_Win_delete_attr(win, keyval, code)
    call check('and that is deleted by a call', deletions == 3 + 20 + 2*16)
    value = state + 100
    call MPI_Win_set_attr(win, keyval, value, code)
    call MPI_Win_free_keyval(keyval, code)
    call MPI_Win_free_keyval(second, code)
    call MPI_Win_free(win, code)
    call check('and that goes with its window', deletions == 3 + 20 + 100 + 3*16 .and. copies == 0)
  end subroutine

  subroutine check(what, good, fails)
    character(*), intent(in) :: what
    logical, intent(in) :: good
    logical, intent(in), optional :: fails
    if (good .and. (code == MPI_SUCCESS .or. present(fails))) return
    errors = errors + 1
    print '(a,i0,a,a,a,i0)', 'rank ', rank, ': wrong: ', what, ', code ', code
  end subroutine
end program
