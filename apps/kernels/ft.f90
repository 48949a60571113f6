! Follows heat in a box by Fourier transforms: an all-to-all in each of them brings whole lines to every rank. The
! solution is known in closed form, so the program checks itself.
!
! The box is periodic and has n x n x n points, n a power of two. The temperature at the beginning is a sum of
! plane waves exp(2 pi i (k . x)), and each dies away as exp(-4 pi^2 |k|^2 t). Every rank has n / ranks planes of
! constant z. A transform along x and y is a rank's own work; for that along z the box is dealt out anew, in
! planes of constant x. There it stays: for each time the waves are weakened, and transformed back.
!
!   mpiexec -n 4 ft [n] [times]          (128 points a side and 6 times, if not given)
program ft
  use mpi_f08
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none

  integer, parameter :: largest = 3  ! wave number in each direction, either sign
  real(real64), parameter :: pi = acos(-1.0_real64), time_step = 1e-4_real64, error_max = 1e-11_real64
  integer :: n, times, planes, rank, ranks, step
  complex(real64), allocatable :: box(:, :, :)    ! (x, y, z of this rank)
  complex(real64), allocatable :: waves(:, :, :)  ! (z, y, x of this rank)
  complex(real64), allocatable :: weakened(:, :, :), roots(:)
  complex(real64), allocatable, dimension(:, :, :, :) :: blocks, others_blocks  ! the last index: a rank
  real(real64) :: begin, seconds, error, worst

  call MPI_Init()
  n = argument(1, 128)
  times = argument(2, 6)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  if (iand(n, n - 1) /= 0 .or. mod(n, ranks) /= 0) then
    if (rank == 0) print '(a, i0, a)', 'ft: ', n, ' points: expected a power of two, and a multiple of the ranks'
    if (rank == 0) call MPI_Abort(MPI_COMM_WORLD, 2)
    call MPI_Barrier(MPI_COMM_WORLD)  ! so that the line is out
  end if
  planes = n / ranks
  allocate (box(n, n, planes), waves(n, n, planes), weakened(n, n, planes), roots(0:n - 1), &
            blocks(planes, n, planes, ranks), others_blocks(planes, n, planes, ranks))
  roots = [(exp(cmplx(0, -2 * pi * step / n, real64)), step=0, n - 1)]
  box = temperature(0.0_real64)

  call MPI_Barrier(MPI_COMM_WORLD)
  begin = MPI_Wtime()
  worst = 0
  call transform_planes(box, roots)
  call deal(box, waves)
  call transform_lines(waves, roots)
  do step = 1, times
    call weaken(step * time_step)
    call transform_lines(weakened, conjg(roots))
    call deal_back(weakened, box)
    call transform_planes(box, conjg(roots))
    error = maxval(abs(box / real(n, real64)**3 - temperature(step * time_step)))
    call MPI_Allreduce(MPI_IN_PLACE, error, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
    worst = max(worst, error)
  end do
  seconds = MPI_Wtime() - begin
  if (rank == 0) then
    print '(a, i0, a, i0, a)', 'FT: ', n, '^3 points on ', ranks, ' ranks'
    print '(a, i0, a, f0.4, a)', 'FT: ', times, ' times in ', seconds, ' s'
    print '(a, es9.2, 2a)', 'FT: largest error', worst, ', verification ', &
      trim(merge('right', 'wrong', worst < error_max))
  end if
  call MPI_Finalize()
  if (.not. worst < error_max) stop 1, quiet=.true.

contains

  !> The number that stands there on the command line, or the usual one.
  integer function argument(position, usual)
    integer, intent(in) :: position, usual
    character(len=32) :: word
    argument = usual
    if (command_argument_count() < position) return
    call get_command_argument(position, word)
    read (word, *) argument
    if (argument < 1) error stop 'ft: a number that is not above 0'
  end function

  !> In this rank's planes. A sum of products, so it takes three small tables.
  function temperature(t) result(values)
    real(real64), intent(in) :: t
    complex(real64) :: values(n, n, planes), along(-largest:largest, n)
    complex(real64) :: sums(n)
    integer :: k, x, y, z
    do x = 1, n
      do k = -largest, largest
        along(k, x) = exp(cmplx(-4 * pi**2 * k**2 * t, 2 * pi * k * (x - 1) / n, real64)) / (1 + abs(k))
      end do
    end do
    sums = sum(along, 1)
    do z = 1, planes
      do y = 1, n
        do x = 1, n
          values(x, y, z) = sums(x) * sums(y) * sums(rank * planes + z)
        end do
      end do
    end do
  end function

  subroutine weaken(t)
    real(real64), intent(in) :: t
    real(real64) :: factor(n)
    integer :: k, x, y
    do k = 1, n
      factor(k) = exp(-4 * pi**2 * number(k)**2 * t)
    end do
    do x = 1, planes
      do y = 1, n
        weakened(:, y, x) = waves(:, y, x) * (factor * factor(y) * factor(rank * planes + x))
      end do
    end do
  end subroutine

  !> The wave number that an index stands for.
  real(real64) function number(k)
    integer, intent(in) :: k
    number = merge(k - 1, k - 1 - n, k <= n / 2)
  end function

  !> From planes of constant z to planes of constant x: each rank has a block for each other one.
  subroutine deal(from, to)
    complex(real64), intent(in) :: from(:, :, :)
    complex(real64), intent(out) :: to(:, :, :)
    integer :: other, x, y
    do other = 1, ranks
      do y = 1, n
        do x = 1, planes  ! of the other one
          blocks(:, y, x, other) = from((other - 1) * planes + x, y, :)
        end do
      end do
    end do
    call all_to_all()
    do other = 1, ranks
      to((other - 1) * planes + 1:other * planes, :, :) = others_blocks(:, :, :, other)
    end do
  end subroutine

  subroutine deal_back(from, to)
    complex(real64), intent(in) :: from(:, :, :)
    complex(real64), intent(out) :: to(:, :, :)
    integer :: other, x, y
    do other = 1, ranks
      blocks(:, :, :, other) = from((other - 1) * planes + 1:other * planes, :, :)
    end do
    call all_to_all()
    do other = 1, ranks
      do y = 1, n
        do x = 1, planes
          to((other - 1) * planes + x, y, :) = others_blocks(:, y, x, other)
        end do
      end do
    end do
  end subroutine

  subroutine all_to_all()
    integer :: count
    count = planes * n * planes
    call MPI_Alltoall(blocks, count, MPI_DOUBLE_COMPLEX, others_blocks, count, MPI_DOUBLE_COMPLEX, MPI_COMM_WORLD)
  end subroutine

  !> Along x and along y.
  subroutine transform_planes(values, w)
    complex(real64), intent(inout) :: values(:, :, :)
    complex(real64), intent(in) :: w(0:)
    complex(real64) :: turned(n, n)
    integer :: z
    do z = 1, planes
      call transform(values(:, :, z), w)
      turned = transpose(values(:, :, z))
      call transform(turned, w)
      values(:, :, z) = transpose(turned)
    end do
  end subroutine

  !> Along the first index.
  subroutine transform_lines(values, w)
    complex(real64), intent(inout) :: values(:, :, :)
    complex(real64), intent(in) :: w(0:)
    integer :: plane
    do plane = 1, planes
      call transform(values(:, :, plane), w)
    end do
  end subroutine

  !> Each column by Stockham's method: log2(n) passes between two lines, without a reversal of bits.
  subroutine transform(columns, w)
    complex(real64), intent(inout) :: columns(0:, :)
    complex(real64), intent(in) :: w(0:)
    complex(real64) :: line(0:n - 1), next(0:n - 1), even, odd
    integer :: column, half, stride, j, k
    do column = 1, size(columns, 2)
      line = columns(:, column)
      half = n / 2
      stride = 1
      do while (half >= 1)
        do j = 0, half - 1
          do k = 0, stride - 1
            even = line(k + stride * j)
            odd = line(k + stride * (j + half))
            next(k + stride * 2 * j) = even + odd
            next(k + stride * (2 * j + 1)) = (even - odd) * w(j * stride)
          end do
        end do
        line = next
        half = half / 2
        stride = stride * 2
      end do
      columns(:, column) = line
    end do
  end subroutine
end program
