! Sections of arrays in the choice buffers of mpi_f08: any stride, any number of elements, in every kind of call.
#define TO_MYSELF MPI_COMM_WORLD, MPI_STATUS_IGNORE
program sections
  use mpi_f08
  implicit none
  integer :: rank, size, errors = 0, i, n
  integer :: whole(24, 5), other(24, 5), expected(60)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call check('subarrays are supported', MPI_SUBARRAYS_SUPPORTED)
  call fill(whole, 0)
  do n = 0, 60
    call one_message(n)
  end do
  call shapes
  call nonblocking
  call persistent
  call collectives
  call reductions
  call other_types
  call windows
  call files
  call packing
  call zero_based
  call MPI_Allreduce(MPI_IN_PLACE, errors, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. errors == 0) print '(a)', 'all is well'
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

  subroutine fill(array, from)
    integer, intent(out) :: array(:, :)
    integer, intent(in) :: from
    integer :: j
    array = reshape([(from + j, j=1, product(shape(array)))], shape(array))
  end subroutine

  ! n of the 60 elements of every second row, whatever n is: none is left out, none too many is touched.
  subroutine one_message(n)
    integer, intent(in) :: n
    integer :: got(60), count
    type(MPI_Status) :: status
    expected = reshape(whole(1:24:2, :), [60])
    got = -1
    call MPI_Sendrecv(whole(1:24:2, :), n, MPI_INTEGER, rank, 1, got, 60, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check('sent from a section', count == n .and. all(got(:n) == expected(:n)) .and. all(got(n + 1:) == -1))
    other = -1
    call MPI_Sendrecv(expected, n, MPI_INTEGER, rank, 1, other(24:1:-2, 5:1:-1), n, MPI_INTEGER, rank, 1, &
                      MPI_COMM_WORLD, status)
    got = reshape(other(24:1:-2, 5:1:-1), [60])
    call check('received into one, backwards', all(got(:n) == expected(:n)) .and. all(got(n + 1:) == -1))
    call check('and nowhere else', all(other(23:1:-2, :) == -1))
  end subroutine

  subroutine shapes
    integer :: cube(4, 5, 6), got(200), empty(0)
    integer, pointer :: part(:, :)
    integer, target :: field(6, 6)
    integer, allocatable :: made(:)
    integer :: index(3)
    cube = reshape([(i, i=1, 120)], [4, 5, 6])
    got = 0
    call MPI_Sendrecv(cube(2:3, 5:1:-2, ::5), 12, MPI_INTEGER, rank, 2, &
                      got, 12, MPI_INTEGER, rank, 2, TO_MYSELF)
    call check('three dimensions', all(got(:12) == reshape(cube(2:3, 5:1:-2, ::5), [12])))
    call MPI_Sendrecv(cube(:, 2, :), 24, MPI_INTEGER, rank, 2, &
                      got, 24, MPI_INTEGER, rank, 2, TO_MYSELF)
    call check('a plane', all(got(:24) == reshape(cube(:, 2, :), [24])))
    call MPI_Sendrecv(cube(3, 3, 3), 1, MPI_INTEGER, rank, 2, &
                      got, 1, MPI_INTEGER, rank, 2, TO_MYSELF)
    call check('an element', got(1) == cube(3, 3, 3))
    call MPI_Sendrecv(cube(2, :, 4), 5, MPI_INTEGER, rank, 2, &
                      got, 5, MPI_INTEGER, rank, 2, TO_MYSELF)
    call check('a row', all(got(:5) == cube(2, :, 4)))
    call MPI_Sendrecv(cube(:, :, 2:4), 60, MPI_INTEGER, rank, 2, &
                      got, 60, MPI_INTEGER, rank, 2, TO_MYSELF)
    call check('what lies in one piece', all(got(:60) == reshape(cube(:, :, 2:4), [60])))
    call MPI_Sendrecv(cube(4:1, :, :), 0, MPI_INTEGER, rank, 2, &
                      got, 0, MPI_INTEGER, rank, 2, TO_MYSELF)
    call MPI_Sendrecv(empty, 0, MPI_INTEGER, rank, 2, &
                      got, 0, MPI_INTEGER, rank, 2, TO_MYSELF)
    field = reshape([(i, i=1, 36)], [6, 6])
    part => field(2:6:2, 3:5)
    call MPI_Sendrecv(part, 9, MPI_INTEGER, rank, 2, &
                      got, 9, MPI_INTEGER, rank, 2, TO_MYSELF)
    call check('a pointer', all(got(:9) == reshape(part, [9])))
    allocate (made(3:7))
    made = [3, 4, 5, 6, 7]
    call MPI_Sendrecv(made(3:7:2), 3, MPI_INTEGER, rank, 2, &
                      got, 3, MPI_INTEGER, rank, 2, TO_MYSELF)
    call check('an allocatable with bounds of its own', all(got(:3) == [3, 5, 7]))
    index = [1, 3, 4]
    call MPI_Sendrecv((cube(index, 1, 1)), 3, MPI_INTEGER, rank, 2, &
                      got, 3, MPI_INTEGER, rank, 2, TO_MYSELF)
    call check('a vector subscript', all(got(:3) == [1, 3, 4]))
    call assumed_size(cube(:, 1:2, 1))
  end subroutine

  subroutine assumed_size(array)
    integer, intent(in) :: array(*)
    integer :: got(8)
    call MPI_Sendrecv(array, 8, MPI_INTEGER, rank, 2, &
                      got, 8, MPI_INTEGER, rank, 2, TO_MYSELF)
    call check('an array of assumed size', all(got == array(1:8)))
  end subroutine

  subroutine nonblocking
    integer, asynchronous :: from(30), to(30)
    type(MPI_Request) :: requests(4)
    from = [(100*rank + i, i=1, 30)]
    to = -1
    call MPI_Irecv(to(30:2:-2), 15, MPI_INTEGER, mod(rank + size - 1, size), 3, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(from(2::2), 15, MPI_INTEGER, mod(rank + 1, size), 3, MPI_COMM_WORLD, requests(2))
    call MPI_Irecv(to(1::3), 10, MPI_INTEGER, MPI_PROC_NULL, 3, MPI_COMM_WORLD, requests(3))
    call MPI_Ibcast(to(1:9:8), 2, MPI_INTEGER, 0, MPI_COMM_WORLD, requests(4))
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    call check('nonblocking', all(to(30:2:-2) == [(100*mod(rank + size - 1, size) + 2*i, i=1, 15)]))
    call check('and nowhere else', all(to(1::2) == -1))
  end subroutine

  subroutine persistent
    integer, asynchronous :: from(20), to(20), sums(20)
    type(MPI_Request) :: requests(3)
    integer :: turn
    to = -1
    sums = -1
    call MPI_Send_init(from(::2), 10, MPI_INTEGER, rank, 4, MPI_COMM_WORLD, requests(1))
    call MPI_Recv_init(to(20:1:-2), 10, MPI_INTEGER, rank, 4, MPI_COMM_WORLD, requests(2))
    call MPI_Allreduce_init(from(::2), sums(2::2), 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests(3))
    do turn = 1, 3
      from = [(1000*turn + i, i=1, 20)]
      call MPI_Startall(3, requests)
      call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE)
      call check('persistent', all(to(20:1:-2) == from(::2)) .and. all(to(19:1:-2) == -1))
      call check('a persistent reduction', all(sums(2::2) == size*from(::2)) .and. all(sums(1::2) == -1))
    end do
    do i = 1, 3
      call MPI_Request_free(requests(i))
    end do
  end subroutine

  subroutine collectives
    integer :: values(2, 3*size), parts(6), got(2, 3*size), counts(size), displs(size), j
    type(MPI_Request) :: request
    values = reshape([(1000*rank + i, i=1, 6*size)], shape(values))
    got = -1
    call MPI_Gather(values(1, 1:3), 3, MPI_INTEGER, got(2, :), 3, MPI_INTEGER, 0, MPI_COMM_WORLD)
    if (rank == 0) then
      call check('gather', all(got(2, :) == [((1000*j + 2*i - 1, i=1, 3), j=0, size - 1)]) .and. all(got(1, :) == -1))
    else
      call check('gather leaves others alone', all(got == -1))
    end if
    parts = -1
    call MPI_Scatter(values(2, :), 3, MPI_INTEGER, parts(5:1:-2), 3, MPI_INTEGER, size - 1, MPI_COMM_WORLD)
    call check('scatter', all(parts(5:1:-2) == [(1000*(size - 1) + 2*(3*rank + i), i=1, 3)]) .and. all(parts(2::2) == -1))
    counts = 3
    displs = [(3*(size - 1 - i), i=0, size - 1)]
    got = -1
    call MPI_Iallgatherv(values(2, :3), 3, MPI_INTEGER, got(1, :), counts, displs, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('iallgatherv', all(got(1, :) == [((1000*j + 2*i, i=1, 3), j=size - 1, 0, -1)]) .and. all(got(2, :) == -1))
    got = -1
    call MPI_Ialltoall(values(1, :), 3, MPI_INTEGER, got(2, :), 3, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('ialltoall', all(got(2, :) == [((1000*j + 2*(3*rank + i) - 1, i=1, 3), j=0, size - 1)]) .and. &
               all(got(1, :) == -1))
    if (rank == 0) got = values
    call MPI_Bcast(got(:, ::2), 2*((3*size + 1)/2), MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check('bcast of columns', all([(got(1, i) == 2*i - 1, i=1, 3*size, 2)]))
  end subroutine

  subroutine reductions
    double precision :: a(9), b(9)
    type(MPI_Request) :: requests(2)
    integer :: index
    a = rank + 1
    b = -1
    call MPI_Reduce(a(::2), b(9:1:-2), 5, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD)
    call check('reduce', all(b(2::2) == -1d0) .and. (rank /= 0 .or. all(b(1::2) == size*(size + 1)/2d0)))
    a = [(dble(i), i=1, 9)]
    call MPI_Allreduce(MPI_IN_PLACE, a(::4), 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    call check('in place', all(a(::4) == size*[1d0, 5d0, 9d0]) .and. a(2) == 2d0)
    b = -1
    requests(1) = MPI_REQUEST_NULL
    call MPI_Iallreduce(a(1:9:4), b(2:6:2), 3, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, requests(2))
    call MPI_Waitany(2, requests, index, MPI_STATUS_IGNORE)
    call check('iallreduce', index == 2 .and. all(b(2:6:2) == a(1:9:4)) .and. all(b(1::2) == -1d0))
    call MPI_Reduce_local(a(1:9:4), b(2:6:2), 3, MPI_DOUBLE_PRECISION, MPI_SUM)
    call check('reduce_local', all(b(2:6:2) == 2*a(1:9:4)))
  end subroutine

  ! The datatype has another size than the array's elements.
  subroutine other_types
    character(3) :: words(6), got(3)
    complex :: z(8), w(4)
    type(MPI_Datatype) :: pair
    words = ['abc', 'def', 'ghi', 'jkl', 'mno', 'pqr']
    got = '###'
    call MPI_Sendrecv(words(::2), 9, MPI_CHARACTER, rank, 5, got, 9, MPI_CHARACTER, rank, 5, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call check('characters', all(got == words(::2)))
    z = [(cmplx(i, -i), i=1, 8)]
    w = 0
    call MPI_Sendrecv(z(::2), 8, MPI_REAL, rank, 5, w(4:1:-1), 4, MPI_COMPLEX, rank, 5, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call check('reals of complex numbers', all(w(4:1:-1) == z(::2)))
    call MPI_Type_contiguous(2, MPI_COMPLEX, pair)
    call MPI_Type_commit(pair)
    w = 0
    call MPI_Sendrecv(z(2::2), 2, pair, rank, 5, w, 4, MPI_COMPLEX, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check('a datatype of two elements', all(w == z(2::2)))
    call MPI_Type_free(pair)
  end subroutine

  subroutine windows
    integer :: memory(12), from(12), to(12)
    type(MPI_Win) :: win
    memory = 0
    from = [(10*rank + i, i=1, 12)]
    to = -1
    call MPI_Win_create(memory, 48_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_fence(0, win)
    call MPI_Put(from(::3), 4, MPI_INTEGER, mod(rank + 1, size), 0_MPI_ADDRESS_KIND, 4, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check('put', all(memory(:4) == [(10*mod(rank + size - 1, size) + i, i=1, 12, 3)]))
    call MPI_Get(to(12:6:-2), 4, MPI_INTEGER, rank, 0_MPI_ADDRESS_KIND, 4, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check('get', all(to(12:6:-2) == memory(:4)) .and. all(to(11:1:-2) == -1))
    call MPI_Accumulate(from(::3), 4, MPI_INTEGER, rank, 4_MPI_ADDRESS_KIND, 4, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call check('accumulate', all(memory(5:8) == from(::3)))
    call MPI_Win_free(win)
  end subroutine

  subroutine files
    type(MPI_File) :: file
    integer :: from(10), to(10), code
    character(4096) :: name
    call get_environment_variable('TEST_FILE', name)
    from = [(100*rank + i, i=1, 10)]
    call MPI_File_open(MPI_COMM_WORLD, trim(name)//'   ', ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, file, code)
    call check('a file is opened', code == MPI_SUCCESS)
    if (code /= MPI_SUCCESS) return
    call MPI_File_write_at_all(file, int(20*rank, MPI_OFFSET_KIND), from(::2), 5, MPI_INTEGER, MPI_STATUS_IGNORE)
    to = -1
    call MPI_File_read_at(file, int(20*rank, MPI_OFFSET_KIND), to(10:1:-2), 5, MPI_INTEGER, MPI_STATUS_IGNORE)
    call check('a file', all(to(10:1:-2) == from(::2)) .and. all(to(9:1:-2) == -1))
    call MPI_File_close(file)
    call check('a file that is closed', file == MPI_FILE_NULL)
  end subroutine

  subroutine packing
    integer :: from(10), to(10), position
    character :: bytes(100)
    from = [(i, i=1, 10)]
    to = -1
    position = 0
    call MPI_Pack(from(2::4), 3, MPI_INTEGER, bytes, 100, position, MPI_COMM_WORLD)
    call check('packed', position == 12)
    position = 0
    call MPI_Unpack(bytes, 100, position, to(::5), 2, MPI_INTEGER, MPI_COMM_WORLD)
    call check('unpacked', all(to(::5) == [2, 6]) .and. to(2) == -1)
    call MPI_Sizeof(from(::2), position)
    call check('sizeof', position == 4)
  end subroutine

  ! A call leaves the bounds of what it gets as they are.
  subroutine zero_based
    integer, allocatable :: a(:)
    integer, pointer :: p(:)
    allocate (a(0:3), p(-2:1))
    a = rank
    p = rank
    call MPI_Bcast(a, 4, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(p, 4, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check('bounds', lbound(a, 1) == 0 .and. lbound(p, 1) == -2 .and. all(a == 0) .and. all(p == 0))
  end subroutine
end program
