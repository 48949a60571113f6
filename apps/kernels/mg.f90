! Solves Poisson's equation in a periodic box by multigrid: halo exchanges with six neighbours, of large faces on
! the fine grids and of a few points on the coarse ones. The solution is known in closed form, so the program
! checks itself.
!
! The box has n x n x n points, dealt to a grid of ranks. What is solved is 6 u - (the six neighbours' u) = f. A
! wave cos(2 pi k . x) is an eigenvector of the left side, with the eigenvalue 4 sin^2(pi k / n) summed over the
! three directions. f is a sum of waves, and so is u. Each coarser grid has every second point in each direction,
! down to grids of which a rank has two points in some direction.
!
!   mpiexec -n 4 mg [n] [cycles]          (128 points a side and 18 cycles, if not given)
program mg
  use mpi_f08
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none

  type :: grid_level
    integer :: m(3)  ! points of this rank
    real(real64), allocatable, dimension(:, :, :) :: u, f, r  ! with a halo of one point
  end type

  integer, parameter :: largest = 2  ! wave number
  integer, parameter :: sweeps = 2, sweeps_on_coarsest = 60
  real(real64), parameter :: damping = 6.0_real64 / 7, pi = acos(-1.0_real64), error_max = 1e-8_real64
  type(MPI_Comm) :: grid
  type(grid_level), allocatable, target :: levels(:)
  integer :: n, cycles, rank, ranks, cycle_number, below(3), above(3), place(3), dims(3), first(3), direction
  real(real64) :: begin, seconds, error

  call MPI_Init()
  n = argument(1, 128)
  cycles = argument(2, 18)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  dims = 0
  call MPI_Dims_create(ranks, 3, dims)
  call MPI_Cart_create(MPI_COMM_WORLD, 3, dims, [.true., .true., .true.], .true., grid)
  call MPI_Comm_rank(grid, rank)
  call MPI_Cart_coords(grid, rank, 3, place)
  do direction = 1, 3
    call MPI_Cart_shift(grid, direction - 1, 1, below(direction), above(direction))
  end do
  if (any(mod(n, 4 * dims) /= 0)) then
    if (rank == 0) print '(a, i0, a, 3(1x, i0))', 'mg: ', n, ' points: expected a multiple of four times', dims
    if (rank == 0) call MPI_Abort(MPI_COMM_WORLD, 2)
    call MPI_Barrier(MPI_COMM_WORLD)  ! so that the line is out
  end if
  first = place * (n / dims)
  call make_levels(n / dims)
  associate (finest => levels(1))
    finest%f = waves(finest%m, with_eigenvalues=.true.)
    finest%u = 0
    call MPI_Barrier(grid)
    begin = MPI_Wtime()
    do cycle_number = 1, cycles
      call cycle_from(1)
    end do
    seconds = MPI_Wtime() - begin
    error = maxval(abs(inner(finest%u) - inner(waves(finest%m, with_eigenvalues=.false.))))
  end associate
  call MPI_Allreduce(MPI_IN_PLACE, error, 1, MPI_DOUBLE_PRECISION, MPI_MAX, grid)
  call MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE_PRECISION, MPI_MAX, grid)
  if (rank == 0) then
    print '(a, i0, a, i0, a, i0, a)', 'MG: ', n, '^3 points on ', ranks, ' ranks, ', size(levels), ' grids'
    print '(a, i0, a, f0.4, a)', 'MG: ', cycles, ' cycles in ', seconds, ' s'
    print '(a, es9.2, 2a)', 'MG: largest error', error, ', verification ', &
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
    if (argument < 1) error stop 'mg: a number that is not above 0'
  end function

  subroutine make_levels(m)
    integer, intent(in) :: m(3)
    integer :: points(3), count, level
    count = 1
    points = m
    do while (all(mod(points, 4) == 0))
      points = points / 2
      count = count + 1
    end do
    allocate (levels(count))
    do level = 1, count
      associate (g => levels(level))
        g%m = m / 2**(level - 1)
        allocate (g%u(0:g%m(1) + 1, 0:g%m(2) + 1, 0:g%m(3) + 1))
        allocate (g%f, g%r, mold=g%u)
        g%u = 0
      end associate
    end do
  end subroutine

  !> Without the halo.
  function inner(a) result(points)
    real(real64), intent(in) :: a(0:, 0:, 0:)
    real(real64) :: points(size(a, 1) - 2, size(a, 2) - 2, size(a, 3) - 2)
    points = a(1:ubound(a, 1) - 1, 1:ubound(a, 2) - 1, 1:ubound(a, 3) - 1)
  end function

  !> The solution, or with each wave times its eigenvalue the right side.
  function waves(m, with_eigenvalues) result(values)
    integer, intent(in) :: m(3)
    logical, intent(in) :: with_eigenvalues
    real(real64) :: values(0:m(1) + 1, 0:m(2) + 1, 0:m(3) + 1), scale, x(3)
    integer :: i, j, k, a, b, c
    values = 0
    do c = 1, largest
      do b = 1, largest
        do a = 1, largest
          scale = 1.0_real64 / (a + b + c)
          if (with_eigenvalues) scale = scale * sum(4 * sin(pi * [a, b, c] / n)**2)
          do k = 1, m(3)
            do j = 1, m(2)
              do i = 1, m(1)
                x = 2 * pi * (first + [i, j, k]) / n
                values(i, j, k) = values(i, j, k) + scale * cos(a * x(1)) * cos(b * x(2)) * sin(c * x(3))
              end do
            end do
          end do
        end do
      end do
    end do
  end function

  !> Improves u of this grid by those of the coarser ones.
  recursive subroutine cycle_from(level)
    integer, intent(in) :: level
    associate (g => levels(level))
      if (level == size(levels)) then
        call smooth(g, sweeps_on_coarsest)
        return
      end if
      call smooth(g, sweeps)
      call find_residual(g)
      call exchange_halo(g%r, g%m)
      call restrict(g%r, levels(level + 1)%f, levels(level + 1)%m)
      levels(level + 1)%u = 0
      call cycle_from(level + 1)
      call exchange_halo(levels(level + 1)%u, levels(level + 1)%m)
      call prolong(levels(level + 1)%u, g%u, levels(level + 1)%m)
      call smooth(g, sweeps)
    end associate
  end subroutine

  !> Jacobi's method, damped.
  subroutine smooth(g, count)
    type(grid_level), intent(inout) :: g
    integer, intent(in) :: count
    integer :: sweep
    do sweep = 1, count
      call find_residual(g)
      g%u = g%u + damping / 6 * g%r
    end do
  end subroutine

  subroutine find_residual(g)
    type(grid_level), intent(inout) :: g
    integer :: i, j, k
    call exchange_halo(g%u, g%m)
    g%r = 0
    do k = 1, g%m(3)
      do j = 1, g%m(2)
        do i = 1, g%m(1)
          g%r(i, j, k) = g%f(i, j, k) - 6 * g%u(i, j, k) + g%u(i - 1, j, k) + g%u(i + 1, j, k) + &
                         g%u(i, j - 1, k) + g%u(i, j + 1, k) + g%u(i, j, k - 1) + g%u(i, j, k + 1)
        end do
      end do
    end do
  end subroutine

  !> Direction by direction, with what has come before, so that edges and corners are right, too.
  subroutine exchange_halo(a, m)
    integer, intent(in) :: m(3)
    real(real64), intent(inout), asynchronous :: a(0:, 0:, 0:)
    call exchange(a(1, 1:m(2), 1:m(3)), a(m(1), 1:m(2), 1:m(3)), a(0, 1:m(2), 1:m(3)), &
                  a(m(1) + 1, 1:m(2), 1:m(3)), m(2) * m(3), 1)
    call exchange(a(:, 1, 1:m(3)), a(:, m(2), 1:m(3)), a(:, 0, 1:m(3)), a(:, m(2) + 1, 1:m(3)), &
                  (m(1) + 2) * m(3), 2)
    call exchange(a(:, :, 1), a(:, :, m(3)), a(:, :, 0), a(:, :, m(3) + 1), (m(1) + 2) * (m(2) + 2), 3)
  end subroutine

  !> Sends the lowest and the highest plane, and receives those beyond. Sections go as they are, but for libraries
  !> that cannot take them (MPI_SUBARRAYS_SUPPORTED is false): there they go through copies. Else the compiler would
  !> make one for each call alone, and the library would go on using its memory until MPI_Waitall.
  subroutine exchange(low, high, beyond_low, beyond_high, count, along)
    real(real64), intent(inout), asynchronous :: low(:, :), high(:, :), beyond_low(:, :), beyond_high(:, :)
    integer, intent(in) :: count, along
    real(real64), allocatable, asynchronous :: copies(:, :, :)
    if (MPI_SUBARRAYS_SUPPORTED) then
      call send_and_receive(low, high, beyond_low, beyond_high, count, along)
    else
      allocate (copies(size(low, 1), size(low, 2), 4))
      copies(:, :, 1) = low
      copies(:, :, 2) = high
      call send_and_receive(copies(:, :, 1), copies(:, :, 2), copies(:, :, 3), copies(:, :, 4), count, along)
      beyond_low = copies(:, :, 3)
      beyond_high = copies(:, :, 4)
    end if
  end subroutine

  subroutine send_and_receive(low, high, beyond_low, beyond_high, count, along)
    real(real64), intent(inout), asynchronous :: low(:, :), high(:, :), beyond_low(:, :), beyond_high(:, :)
    integer, intent(in) :: count, along
    type(MPI_Request) :: requests(4)
    call MPI_Irecv(beyond_low, count, MPI_DOUBLE_PRECISION, below(along), 1, grid, requests(1))
    call MPI_Irecv(beyond_high, count, MPI_DOUBLE_PRECISION, above(along), 2, grid, requests(2))
    call MPI_Isend(high, count, MPI_DOUBLE_PRECISION, above(along), 1, grid, requests(3))
    call MPI_Isend(low, count, MPI_DOUBLE_PRECISION, below(along), 2, grid, requests(4))
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
  end subroutine

  !> Coarse point i is fine point 2 i. It gets a mean of 27 points, times 4 for the doubled distance.
  subroutine restrict(fine, coarse, m)
    integer, intent(in) :: m(3)
    real(real64), intent(in) :: fine(0:, 0:, 0:)
    real(real64), intent(inout) :: coarse(0:, 0:, 0:)
    real(real64), parameter :: weight(-1:1) = [0.25_real64, 0.5_real64, 0.25_real64]
    integer :: i, j, k, b, c
    do k = 1, m(3)
      do j = 1, m(2)
        do i = 1, m(1)
          coarse(i, j, k) = 0
          do c = -1, 1
            do b = -1, 1
              coarse(i, j, k) = coarse(i, j, k) + 4 * weight(b) * weight(c) * &
                                sum(weight * fine(2 * i - 1:2 * i + 1, 2 * j + b, 2 * k + c))
            end do
          end do
        end do
      end do
    end do
  end subroutine

  !> Adds to each fine point the mean of the coarse points around it.
  subroutine prolong(coarse, fine, m)
    integer, intent(in) :: m(3)
    real(real64), intent(in) :: coarse(0:, 0:, 0:)
    real(real64), intent(inout) :: fine(0:, 0:, 0:)
    integer :: i, j, k, l(3), odd(3)
    do k = 1, 2 * m(3)
      do j = 1, 2 * m(2)
        do i = 1, 2 * m(1)
          l = ([i, j, k] + 1) / 2  ! the coarse point that is there, or the next one above
          odd = mod([i, j, k], 2)  ! 1: it lies between two
          fine(i, j, k) = fine(i, j, k) + &
                          sum(coarse(l(1) - odd(1):l(1), l(2) - odd(2):l(2), l(3) - odd(3):l(3))) / 2**sum(odd)
        end do
      end do
    end do
  end subroutine
end program
