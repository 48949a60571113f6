! What a call costs from Fortran beside C: the same calls in C, by `use mpi` (mpi_x_, which mpif.h calls, too) and by
! `use mpi_f08`, in one process and in turns. A send to MPI_PROC_NULL does nothing but look at its arguments. Prints
! the least nanoseconds of a call: "CALL INTERFACE NS", a line each.
module by_mpi
  use mpi
  implicit none
contains
  double precision function rank_by_mpi(calls)
    integer, intent(in) :: calls
    integer :: rank, code, i
    rank_by_mpi = MPI_Wtime()
    do i = 1, calls
      call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
    end do
    rank_by_mpi = MPI_Wtime() - rank_by_mpi
  end function

  double precision function scalar_by_mpi(calls)
    integer, intent(in) :: calls
    double precision, save :: value
    integer :: code, i
    scalar_by_mpi = MPI_Wtime()
    do i = 1, calls
      call MPI_Send(value, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 1, MPI_COMM_WORLD, code)
    end do
    scalar_by_mpi = MPI_Wtime() - scalar_by_mpi
  end function

  double precision function plane_by_mpi(calls)
    integer, intent(in) :: calls
    double precision, save :: plane(4, 4)
    integer :: code, i
    plane_by_mpi = MPI_Wtime()
    do i = 1, calls
      call MPI_Send(plane, 16, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 1, MPI_COMM_WORLD, code)
    end do
    plane_by_mpi = MPI_Wtime() - plane_by_mpi
  end function
end module

module by_f08
  use mpi_f08
  implicit none
contains
  double precision function rank_by_f08(calls)
    integer, intent(in) :: calls
    integer :: rank, i
    rank_by_f08 = MPI_Wtime()
    do i = 1, calls
      call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    end do
    rank_by_f08 = MPI_Wtime() - rank_by_f08
  end function

  double precision function scalar_by_f08(calls)
    integer, intent(in) :: calls
    double precision, save :: value
    integer :: i
    scalar_by_f08 = MPI_Wtime()
    do i = 1, calls
      call MPI_Send(value, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 1, MPI_COMM_WORLD)
    end do
    scalar_by_f08 = MPI_Wtime() - scalar_by_f08
  end function

  double precision function plane_by_f08(calls)
    integer, intent(in) :: calls
    double precision, save :: plane(4, 4)
    integer :: i
    plane_by_f08 = MPI_Wtime()
    do i = 1, calls
      call MPI_Send(plane, 16, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 1, MPI_COMM_WORLD)
    end do
    plane_by_f08 = MPI_Wtime() - plane_by_f08
  end function
end module

program fortran_calls
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  use by_mpi
  use by_f08, only: rank_by_f08, scalar_by_f08, plane_by_f08
  implicit none

  interface
    real(c_double) function rank_in_c(calls) bind(C)
      import :: c_double, c_int
      integer(c_int), value :: calls
    end function
    real(c_double) function send_in_c(calls, count) bind(C)
      import :: c_double, c_int
      integer(c_int), value :: calls, count
    end function
  end interface

  integer, parameter :: calls = 2000, turns = 500  ! short turns: the least of them met no other program
  character(9), parameter :: names(3) = ['Comm_rank', 'Send     ', 'Send_4x4 '], interfaces(3) = ['c  ', 'mpi', 'f08']
  double precision :: least(3, 3)
  integer :: turn, i, j, code

  call MPI_Init(code)
  least = huge(1d0)
  do turn = 1, turns
    least(:, 1) = min(least(:, 1), [rank_in_c(calls), rank_by_mpi(calls), rank_by_f08(calls)])
    least(:, 2) = min(least(:, 2), [send_in_c(calls, 1), scalar_by_mpi(calls), scalar_by_f08(calls)])
    least(:, 3) = min(least(:, 3), [send_in_c(calls, 16), plane_by_mpi(calls), plane_by_f08(calls)])
  end do
  do j = 1, 3
    do i = 1, 3
      print '(a, 1x, a, f8.2)', trim(names(j)), trim(interfaces(i)), least(i, j)/calls*1d9
    end do
  end do
  call MPI_Finalize(code)
end program
