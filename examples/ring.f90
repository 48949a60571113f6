! A token goes around all ranks, and each adds its rank: a first program with mpi_f08.
!
!     mpifort -O2 ring.f90 -o ring && mpiexec -n 4 ./ring [rounds]
program ring
  use mpi_f08
  implicit none
  integer :: rank, size, next, previous, round, rounds, token, expected
  character(len=16) :: word
  double precision :: begin

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  rounds = 1000
  if (command_argument_count() > 0) then
    call get_command_argument(1, word)
    read (word, *) rounds
  end if
  next = mod(rank + 1, size)
  previous = mod(rank + size - 1, size)

  token = 0
  begin = MPI_Wtime()
  do round = 1, rounds
    if (rank == 0) then
      call MPI_Sendrecv_replace(token, 1, MPI_INTEGER, next, 0, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    else
      call MPI_Recv(token, 1, MPI_INTEGER, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      token = token + rank
      call MPI_Send(token, 1, MPI_INTEGER, next, 0, MPI_COMM_WORLD)
    end if
  end do

  if (rank == 0) then
    expected = rounds * (size * (size - 1)) / 2
    print '(a, i0, a, i0, a, i0, a, f0.1, a)', 'token ', token, ' after ', rounds, ' rounds of ', size, &
      ' ranks, ', (MPI_Wtime() - begin) / rounds * 1e6, ' us a round'
    if (token /= expected) then
      print '(a, i0)', 'WRONG: expected ', expected
      call MPI_Abort(MPI_COMM_WORLD, 1)
    end if
  end if
  call MPI_Finalize()
end program
