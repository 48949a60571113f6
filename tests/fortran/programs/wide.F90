! A program whose INTEGERs and LOGICALs have eight bytes (-fdefault-integer-8), with mpif.h: what works of it.
! Scalars, constants, sentinels and data do; arrays that MPI itself reads or fills are INTEGER(4).
program wide
  implicit none
  include 'mpif.h'
  integer :: code = 0, rank = 0, size = 0, copy = 0, group = 0, count = 0, from(3), to(3)
  integer(4) :: requests(2), status(MPI_STATUS_SIZE), narrow(3), places(3)
  logical :: flag = .false., truths(2)
  character(8) :: which
  if (storage_size(rank) /= 64) stop 2
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, size, code)
  call get_command_argument(1, which)
  if (which == 'status') call wide_requests
  if (which == 'counts') call wide_counts

  from = [2_8**40, -1_8, 5_8]*(rank + 1)
  call MPI_Allreduce(from, to, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  if (code /= MPI_SUCCESS .or. any(to /= [2_8**40, -1_8, 5_8]*(size*(size + 1)/2))) stop 3
  to = from
  call MPI_Allreduce(MPI_IN_PLACE, to, 3, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, code)
  if (any(to /= [2_8**40, -1_8, 5_8]*(size*(size + 1)/2))) stop 4
  truths(1) = .true.
  truths(2) = rank == 0
  call MPI_Allreduce(MPI_IN_PLACE, truths, 2, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, code)
  if (.not. truths(1) .or. (truths(2) .neqv. size == 1)) stop 5

  call MPI_Irecv(to, 3, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, requests(1), code)
  call MPI_Isend(from, 3, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, requests(2), code)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code)
  if (any(to /= from)) stop 6
  call MPI_Sendrecv(from, 2, MPI_INTEGER, rank, 2, to, 3, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
  call MPI_Sendrecv(from, 2, MPI_INTEGER, rank, 7, to, 3, MPI_INTEGER, rank, 7, MPI_COMM_WORLD, status, code)
  call MPI_Get_count(status, MPI_INTEGER, count, code)
  if (status(MPI_TAG) /= 7 .or. count /= 2) stop 7
  call MPI_Sendrecv(MPI_BOTTOM, 0, MPI_INTEGER, rank, 3, MPI_BOTTOM, 0, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE, code)

  narrow = 1
  places = [0_4, 1_4, 2_4]
  call MPI_Allgatherv(rank, 1, MPI_INTEGER, to, narrow, places, MPI_INTEGER, MPI_COMM_WORLD, code)
  if (any(to(1:size) /= places(1:size))) stop 9

  call MPI_Comm_dup(MPI_COMM_WORLD, copy, code)
  call MPI_Comm_group(copy, group, code)
  call MPI_Group_free(group, code)
  call MPI_Comm_test_inter(copy, flag, code)
  call MPI_Comm_free(copy, code)
  if (flag .or. copy /= MPI_COMM_NULL) stop 8
  if (rank == 0) print '(a)', 'all is well'
  call MPI_Finalize(code)
contains
  ! What cannot work: MPI reads the second request in the first one's upper half.
  subroutine wide_requests
    integer :: wrong(2) = 0
    call MPI_Irecv(to, 3, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, wrong(1), code)
    call MPI_Isend(from, 3, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, wrong(2), code)
    call MPI_Waitall(2, wrong, MPI_STATUSES_IGNORE, code)
  end subroutine
  ! Nor this: MPI reads 1, 0, 1, and sends nothing to rank 1.
  subroutine wide_counts
    integer :: ones(3) = 1, displacements(3) = [0, 1, 2], i
    do i = 1, 2
      call MPI_Scatterv(from, ones, displacements, MPI_INTEGER, to, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
    end do
  end subroutine
end program
