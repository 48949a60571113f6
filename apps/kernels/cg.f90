! Solves Poisson's equation on a square by conjugate gradients: halo exchanges with the four neighbours, and two
! sums over all ranks in each step. The solution is known in closed form, so the program checks itself.
!
! The grid has n x n inner points, h = 1 / (n + 1) apart, and the value 0 at its edge. Ranks form a grid, too;
! each has a block of points. What is solved is 4 u(i,j) - u(i-1,j) - u(i+1,j) - u(i,j-1) - u(i,j+1) = f(i,j).
! sin(k pi x) sin(m pi y) is an eigenvector of the left side, with the eigenvalue
! 4 sin^2(k pi h / 2) + 4 sin^2(m pi h / 2). f is a sum of these, and so is u. It takes some 2.5 n steps.
!
!   mpiexec -n 4 cg [n]          (512 points a side, if not given)
program cg
  use mpi_f08
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none

  integer, parameter :: modes = 6  ! in each direction
  real(real64), parameter :: pi = acos(-1.0_real64)
  real(real64), parameter :: reduction = 1e-12_real64  ! of the residual, when it has been solved
  real(real64), parameter :: error_max = 1e-8_real64
  integer :: n, steps, rank, ranks
  integer :: dims(2), place(2), first(2), points(2)  ! of the grid of ranks; of this rank's block
  integer :: west, east, south, north
  type(MPI_Comm) :: grid
  type(MPI_Datatype), parameter :: real_type = MPI_DOUBLE_PRECISION
  real(real64), allocatable, dimension(:, :) :: u, f, residual, image
  real(real64), allocatable :: direction(:, :)  ! with a halo of one point
  real(real64) :: begin, seconds, error

  call MPI_Init()
  n = argument(1, 512)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  dims = 0
  call MPI_Dims_create(ranks, 2, dims)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.false., .false.], .true., grid)
  call MPI_Comm_rank(grid, rank)
  call MPI_Cart_coords(grid, rank, 2, place)
  call MPI_Cart_shift(grid, 0, 1, west, east)
  call MPI_Cart_shift(grid, 1, 1, south, north)
  first = place * n / dims + 1
  points = (place + 1) * n / dims - first + 1

  allocate (u(points(1), points(2)), f(points(1), points(2)), residual(points(1), points(2)), &
            image(points(1), points(2)), direction(0:points(1) + 1, 0:points(2) + 1))
  f = of_modes(with_eigenvalues=.true.)
  call MPI_Barrier(grid)
  begin = MPI_Wtime()
  call solve()
  seconds = MPI_Wtime() - begin
  call MPI_Allreduce(MPI_IN_PLACE, seconds, 1, real_type, MPI_MAX, grid)
  error = maxval(abs(u - of_modes(with_eigenvalues=.false.)))
  call MPI_Allreduce(MPI_IN_PLACE, error, 1, real_type, MPI_MAX, grid)
  if (rank == 0) then
    print '(a, i0, a, i0, a, i0, a)', 'CG: ', n, ' x ', n, ' points on ', ranks, ' ranks'
    print '(a, i0, a, f0.4, a)', 'CG: ', steps, ' steps in ', seconds, ' s'
    print '(a, es9.2, 2a)', 'CG: largest error', error, ', verification ', &
      trim(merge('right', 'wrong', error < error_max))
  end if
  call MPI_Finalize()
  if (.not. error < error_max) stop 1, quiet=.true.

contains

  !> The number that stands there on the command line, or the usual one.
  integer function argument(position, usual)
    integer, intent(in) :: position, usual
    character(len=32) :: word
    argument = usual
    if (command_argument_count() < position) return
    call get_command_argument(position, word)
    read (word, *) argument
    if (argument < 1) error stop 'cg: a number that is not above 0'
  end function

  !> The solution, or with each mode times its eigenvalue the right side.
  function of_modes(with_eigenvalues) result(values)
    logical, intent(in) :: with_eigenvalues
    real(real64) :: values(points(1), points(2)), h, scale
    integer :: i, j, k, m
    h = 1.0_real64 / (n + 1)
    values = 0
    do m = 1, modes
      do k = 1, modes
        scale = 1.0_real64 / (k + m)
        if (with_eigenvalues) scale = scale * 4 * (sin(k * pi * h / 2)**2 + sin(m * pi * h / 2)**2)
        do j = 1, points(2)
          do i = 1, points(1)
            values(i, j) = values(i, j) + scale * sin(k * pi * h * (first(1) + i - 1)) * &
                           sin(m * pi * h * (first(2) + j - 1))
          end do
        end do
      end do
    end do
  end function

  !> Sets u, and the number of steps that it took.
  subroutine solve()
    real(real64) :: length, first_length, before, alpha
    u = 0
    residual = f
    direction = 0
    direction(1:points(1), 1:points(2)) = f
    first_length = sum_of(residual, residual)
    length = first_length
    do steps = 1, 20 * n
      call exchange_halo()
      call apply()
      alpha = length / sum_of(direction(1:points(1), 1:points(2)), image)
      u = u + alpha * direction(1:points(1), 1:points(2))
      residual = residual - alpha * image
      before = length
      length = sum_of(residual, residual)
      if (length < reduction**2 * first_length) exit
      direction(1:points(1), 1:points(2)) = residual + length / before * direction(1:points(1), 1:points(2))
    end do
  end subroutine

  !> A column lies in one piece, a row does not: MPI takes either as it is. Where a library cannot
  !> (MPI_SUBARRAYS_SUPPORTED is false), rows go through copies: else the compiler would make one for the call alone,
  !> and the library would go on using its memory until MPI_Waitall.
  subroutine exchange_halo()
    real(real64), asynchronous :: low(points(2)), high(points(2)), beyond_low(points(2)), beyond_high(points(2))
    if (MPI_SUBARRAYS_SUPPORTED) then
      call exchange(direction(1, 1:points(2)), direction(points(1), 1:points(2)), direction(0, 1:points(2)), &
                    direction(points(1) + 1, 1:points(2)))
    else
      low = direction(1, 1:points(2))
      high = direction(points(1), 1:points(2))
      beyond_low = 0
      beyond_high = 0
      call exchange(low, high, beyond_low, beyond_high)
      direction(0, 1:points(2)) = beyond_low
      direction(points(1) + 1, 1:points(2)) = beyond_high
    end if
  end subroutine

  !> Rows as they are given, columns where they lie.
  subroutine exchange(low, high, beyond_low, beyond_high)
    real(real64), intent(inout), asynchronous :: low(:), high(:), beyond_low(:), beyond_high(:)
    type(MPI_Request) :: requests(8)
    integer :: x, y
    x = points(1)
    y = points(2)
    associate (d => direction)
      call MPI_Irecv(beyond_low, y, real_type, west, 1, grid, requests(1))
      call MPI_Irecv(beyond_high, y, real_type, east, 2, grid, requests(2))
      call MPI_Irecv(d(1:x, 0), x, real_type, south, 3, grid, requests(3))
      call MPI_Irecv(d(1:x, y + 1), x, real_type, north, 4, grid, requests(4))
      call MPI_Isend(high, y, real_type, east, 1, grid, requests(5))
      call MPI_Isend(low, y, real_type, west, 2, grid, requests(6))
      call MPI_Isend(d(1:x, y), x, real_type, north, 3, grid, requests(7))
      call MPI_Isend(d(1:x, 1), x, real_type, south, 4, grid, requests(8))
      call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE)
    end associate
  end subroutine

  subroutine apply()
    integer :: i, j
    do j = 1, points(2)
      do i = 1, points(1)
        image(i, j) = 4 * direction(i, j) - direction(i - 1, j) - direction(i + 1, j) - direction(i, j - 1) - &
                      direction(i, j + 1)
      end do
    end do
  end subroutine

  real(real64) function sum_of(a, b)
    real(real64), intent(in) :: a(:, :), b(:, :)
    sum_of = sum(a * b)
    call MPI_Allreduce(MPI_IN_PLACE, sum_of, 1, real_type, MPI_SUM, grid)
  end function
end program
