! Sections of many shapes, one after the other, again and again, by several threads (with OpenMP), in persistent requests, and
! in a callback of MPI_Finalize: whatever the library keeps of a section, each call has its own one's elements.
module at_end
  use mpi_f08
  implicit none
  integer :: told = 0
contains
  ! Called by MPI_Finalize.
  subroutine last_message(comm, keyval, value, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror, field(4, 4), got(4)
    integer(MPI_ADDRESS_KIND) :: value, extra_state
    field = 7
    got = 0
    call MPI_Sendrecv(field(2, :), 4, MPI_INTEGER, 0, 1, got, 4, MPI_INTEGER, 0, 1, comm, MPI_STATUS_IGNORE, ierror)
    if (all(got == 7)) told = told + 1
  end subroutine
end module

program kept_sections
  use at_end
  implicit none
  integer, parameter :: shapes = 200
  integer, asynchronous :: whole(60, 60)
  integer :: i, round, wrong = 0, provided, keyval
  integer(MPI_ADDRESS_KIND), parameter :: nothing = 0
  character(16) :: mode
  type(MPI_Request) :: persistent(2)
  type(MPI_Datatype) :: pair
  integer :: got(60), pairs(2, 30)
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
  call get_command_argument(1, mode)
  ! Before and after the library has its own attribute: both callbacks use sections.
  call add_last_message
  whole = reshape([(i, i=1, size(whole))], shape(whole))
  if (mode == 'same') then
    do i = 1, shapes
      call one_shape(5)
    end do
  else if (mode == 'types') then
    call other_datatypes
  else
    call MPI_Send_init(whole(3, 1:50:7), 8, MPI_INTEGER, 0, 5, MPI_COMM_SELF, persistent(1))
    call MPI_Recv_init(got, 8, MPI_INTEGER, 0, 5, MPI_COMM_SELF, persistent(2))
    do round = 1, 3
      !$omp parallel do schedule(dynamic)
      do i = 1, shapes
        call one_shape(i)
      end do
      !$omp end parallel do
      got = 0
      call MPI_Startall(2, persistent)
      call MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE)
      if (any(got(:8) /= whole(3, 1:50:7)) .or. any(got(9:) /= 0)) wrong = wrong + 1
    end do
    call MPI_Request_free(persistent(1))
    call MPI_Request_free(persistent(2))
  end if
  call add_last_message
  call MPI_Finalize()
  if (told /= 2) wrong = wrong + 1
  if (wrong == 0) print '(a)', 'all is well'
  if (wrong /= 0) stop 1
contains
  subroutine add_last_message
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_message, keyval, nothing)
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nothing)
    call MPI_Comm_free_keyval(keyval)
  end subroutine

  ! The part of the array that number i stands for: rows and columns, with strides.
  subroutine one_shape(i)
    integer, intent(in) :: i
    integer, asynchronous :: there(20, 20)
    type(MPI_Request) :: requests(2)
    integer :: n, m, step
    n = 2 + mod(i, 13)
    m = 2 + mod(i/13, 17)
    step = 2 + mod(i, 2)
    there = 0
    call MPI_Irecv(there(1:n, m:1:-1), n*m, MPI_INTEGER, 0, i, MPI_COMM_SELF, requests(1))
    call MPI_Isend(whole(1:step*n:step, 1:m), n*m, MPI_INTEGER, 0, i, MPI_COMM_SELF, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    if (any(there(1:n, m:1:-1) /= whole(1:step*n:step, 1:m)) .or. any(there(n + 1:, :) /= 0)) then
      !$omp atomic
      wrong = wrong + 1
    end if
  end subroutine

  ! The same section with datatypes that are made and freed: a handle comes again for another datatype.
  subroutine other_datatypes
    integer :: i, j, n, numbers(5, 16)
    do i = 1, 40
      if (mod(i, 2) == 0) call MPI_Type_contiguous(2, MPI_INTEGER, pair)
      if (mod(i, 2) == 1) call MPI_Type_contiguous(4, MPI_INTEGER, pair)
      call MPI_Type_commit(pair)
      numbers = reshape([(i + j, j=1, 80)], [5, 16])
      pairs = 0
      call MPI_Sendrecv(numbers(2, :), 4, pair, 0, 2, pairs, 60, MPI_INTEGER, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE)
      got = reshape(pairs, [60])
      n = merge(8, 16, mod(i, 2) == 0)
      if (any(got(:n) /= numbers(2, :n)) .or. any(got(n + 1:) /= 0)) wrong = wrong + 1
      call MPI_Type_free(pair)
    end do
  end subroutine
end program
