! Calls whose arguments Fortran has otherwise than C, and large counts: for mpi_f08 alone.
program more
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, errors = 0, n, code, length
  integer(MPI_COUNT_KIND) :: large, many
  integer(MPI_ADDRESS_KIND) :: bytes
  type(MPI_Comm) :: parent, children
  type(MPI_Datatype) :: made
  type(MPI_Status) :: status
  type(MPI_Session) :: session
  type(c_ptr) :: address
  type(MPI_Win) :: win
  integer, pointer :: memory(:)
  integer, target :: buffer(1000), codes(2)
  integer :: legacy(MPI_STATUS_SIZE)
  character(64) :: name, program_name
  character(8) :: words(3), several(2, 3)
  logical :: flag
  call MPI_Init()
  call MPI_Comm_get_parent(parent)
  if (parent /= MPI_COMM_NULL) then
    call child
  else
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call parents
    if (rank == 0 .and. errors == 0) print '(a)', 'all is well'
  end if
  call MPI_Finalize()
  if (errors /= 0) stop 1
contains
  subroutine check(what, good)
    character(*), intent(in) :: what
    logical, intent(in) :: good
    if (good) return
    errors = errors + 1
    print '(a,i0,a,a)', 'rank ', rank, ': wrong: ', what
  end subroutine

  subroutine child
    character(64) :: argument
    integer :: text(64)
    call get_command_argument(1, argument)
    text = [(iachar(argument(n:n)), n=1, 64)]
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Send(text, 64, MPI_INTEGER, 0, command_argument_count(), parent)
    call MPI_Comm_disconnect(parent)
  end subroutine

  subroutine parents
    large = 3
    call MPI_Sendrecv(buffer(1:9:4), large, MPI_INTEGER, rank, 1, buffer(101:), 3_MPI_COUNT_KIND, MPI_INTEGER, rank, 1, &
                      MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, many)
    call check('a large count', many == 3)
    call MPI_Type_contiguous(3000000000_MPI_COUNT_KIND, MPI_INTEGER, made)
    call MPI_Type_size(made, many)
    call check('a large datatype', many == 12000000000_MPI_COUNT_KIND)
    call MPI_Type_size(made, n)
    call check('whose size is no INTEGER', n == MPI_UNDEFINED)
    call MPI_Type_free(made)

    call MPI_Buffer_attach(buffer, 4000)
    call MPI_Buffer_detach(address, n)
    call check('a buffer comes back', n == 4000 .and. c_associated(address, c_loc(buffer)))
    call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0)
    call MPI_Buffer_detach(address, n)
    call check('MPI_BUFFER_AUTOMATIC, too', c_associated(address, c_loc(MPI_BUFFER_AUTOMATIC)))

    call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, address)
    call c_f_pointer(address, memory, [10])
    memory = 7
    call MPI_Free_mem(memory)
    call MPI_Win_allocate(80_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, address, win)
    call c_f_pointer(address, memory, [20])
    memory = rank
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, bytes, flag)
    call check('MPI_WIN_SIZE', flag .and. bytes == 80)
    call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, bytes, flag)
    call check('MPI_WIN_DISP_UNIT', flag .and. bytes == 4)
    call MPI_Win_get_attr(win, MPI_WIN_BASE, bytes, flag)
    call check('MPI_WIN_BASE', flag .and. bytes == transfer(address, bytes))
    call MPI_Win_free(win)

    call MPI_Status_f082f(status, legacy)
    call check('a status of the older kind', legacy(MPI_SOURCE) == rank .and. legacy(MPI_TAG) == 1)
    call MPI_Status_f2f08(legacy, status)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call check('and back', n == 3)

    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
    call MPI_Session_get_num_psets(session, MPI_INFO_NULL, n)
    length = 0
    call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, name)
    call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, name)
    call check('a process set', n >= 2 .and. name(1:6) == 'mpi://' .and. len_trim(name) == length)
    call MPI_Session_finalize(session)

    call check('handles', MPI_COMM_WORLD /= MPI_COMM_SELF .and. MPI_INTEGER == MPI_INTEGER)

    call get_command_argument(0, program_name)
    words = ['one     ', ' two x  ', '        ']
    call MPI_Comm_spawn(program_name, words, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, children, codes, code)
    call check('spawn', codes(1) == MPI_SUCCESS)
    call heard(0, 2, 'one')
    call MPI_Comm_disconnect(children)
    several = reshape(['a       ', 'b       ', '        ', 'c       ', '        ', '        '], [2, 3])
    call MPI_Comm_spawn_multiple(2, [program_name, program_name], several, [1, 1], [MPI_INFO_NULL, MPI_INFO_NULL], 0, &
                                 MPI_COMM_SELF, children, MPI_ERRCODES_IGNORE)
    call heard(0, 1, 'a')
    call heard(1, 2, 'b')
    call MPI_Comm_disconnect(children)
    call MPI_Comm_spawn(program_name, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, children, MPI_ERRCODES_IGNORE)
    call heard(0, 0, '')
    call MPI_Comm_disconnect(children)
  end subroutine

  subroutine heard(child_rank, arguments, first)
    integer, intent(in) :: child_rank, arguments
    character(*), intent(in) :: first
    integer :: text(64), i
    call MPI_Recv(text, 64, MPI_INTEGER, child_rank, MPI_ANY_TAG, children, status)
    do i = 1, 64
      name(i:i) = achar(text(i))
    end do
    call check('the arguments of a child', status%MPI_TAG == arguments .and. name == first)
  end subroutine
end program
