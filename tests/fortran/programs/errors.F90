! A wrong call, chosen by the first argument, for what is said of it: test_errors.py looks for the line that ends in
! the comment with its name. -DUSE_F08, -DUSE_MPI, or neither for mpif.h.
#include "interface.inc"
program errors
#include "begin.inc"
  character(32) :: which
  integer :: rank, code, value, many(20), other(20)
#if defined USE_F08
  type(MPI_Win) :: win
  type(MPI_File) :: file
  type(MPI_Request) :: request
#endif
  call get_command_argument(1, which)
#if !defined USE_F08 && !defined USE_MPI
  if (which == 'init') call MPI_Init(%val(16_8))                       ! init
#endif
  call MPI_Init(code)
  value = 1
  many = 1
  other = 2
  select case (which)
#if defined USE_F08
  case ('count')
    call MPI_Send(many(::2), 11, MPI_INTEGER, 0, 0, MPI_COMM_WORLD)    ! count
  case ('large count')
    call MPI_Send(many(::2), 11_MPI_COUNT_KIND, MPI_INTEGER, 0, 0, MPI_COMM_WORLD)    ! large count
  case ('pairs')
    call MPI_Send(many(::2), 6, MPI_INTEGER8, 0, 0, MPI_COMM_WORLD)    ! pairs
  case ('receive')
    call MPI_Irecv(many(20:1:-3), 8, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, request)    ! receive
  case ('reduction')
    call MPI_Allreduce(many(::2), other, 11, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)    ! reduction
  case ('exchange')
    call MPI_Alltoall(many, 4, MPI_INTEGER, other(::4), 6, MPI_INTEGER, MPI_COMM_WORLD)    ! exchange
  case ('put')
    call MPI_Win_create(other, 80_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_fence(0, win)
    call MPI_Put(many(::5), 5, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 5, MPI_INTEGER, win)    ! put
  case ('write')
    call MPI_File_open(MPI_COMM_WORLD, '/dev/null', MPI_MODE_WRONLY, MPI_INFO_NULL, file)
    call MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL)
    call MPI_File_write(file, many(::5), 5, MPI_INTEGER, MPI_STATUS_IGNORE)    ! write
  case ('window')
    call MPI_Win_create(many(::2), 40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)    ! window
  case ('type')
    call MPI_Send(many(::2), 3, MPI_DOUBLE_INT, 0, 0, MPI_COMM_WORLD)    ! type
  case ('returns')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Send(many(::2), 11, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, code)
    call MPI_Error_class(code, value)
    if (value == MPI_ERR_COUNT) print '(a)', 'all is well'
#else
  case ('a datatype')
    call MPI_Comm_size(MPI_INTEGER, value, code)                       ! a datatype
  case ('a communicator')
    call MPI_Send(value, 1, MPI_COMM_WORLD, 0, 0, MPI_COMM_WORLD, code)    ! a communicator
  case ('an operation')
    call MPI_Allreduce(value, other, 1, MPI_INTEGER, MPI_COMM_WORLD, MPI_COMM_WORLD, code)    ! an operation
#endif
#if !defined USE_F08 && !defined USE_MPI
  case ('missing')
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, %val(16_8))               ! missing
  case ('impossible')
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, %val(huge(1_8)/3))        ! impossible
  case ('constant')
    call MPI_Barrier(MPI_COMM_WORLD, 0)                                ! constant
  case ('attribute')
    call MPI_Comm_free_keyval(MPI_TAG_UB, %val(16_8))
  case ('finalize')
    call MPI_Finalize(%val(16_8))                                      ! finalize
  case ('own fault')
    call own(%val(16_8))
#endif
  end select
  call MPI_Finalize(code)
end program

subroutine own(place)
  integer :: place
  place = 1
end subroutine
