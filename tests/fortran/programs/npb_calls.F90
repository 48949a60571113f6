! What the eight kernels of the NAS Parallel Benchmarks 3.4 call (and BT with files), each once and checked, in each
! interface: so that a program of theirs finds all that it needs. The argument names a file.
#include "interface.inc"
program npb_calls
#include "begin.inc"
  integer :: rank, size, code, errors
  HANDLE(MPI_Comm) :: all, row
  errors = 0
  call MPI_Init(code)
  call MPI_Comm_dup(MPI_COMM_WORLD, all, code)
  call MPI_Comm_rank(all, rank, code)
  call MPI_Comm_size(all, size, code)
  call MPI_Comm_split(all, mod(rank, 2), rank, row, code)
  call messages
  call collectives
  call blocks_of_files
  call check('a clock', MPI_Wtime() > 0d0)
  call MPI_Barrier(all, code)
  call MPI_Allreduce(MPI_IN_PLACE, errors, 1, MPI_INTEGER, MPI_SUM, all, code)
  if (rank == 0 .and. errors == 0) print '(a)', 'all is well'
  if (errors /= 0) call MPI_Abort(MPI_COMM_WORLD, 3, code)
  call MPI_Comm_free(row, code)
  call MPI_Comm_free(all, code)
  call MPI_Finalize(code)
contains
  subroutine check(what, good)
    character(*), intent(in) :: what
    logical, intent(in) :: good
    character(MPI_MAX_ERROR_STRING) :: text
    integer :: length, ignored
    if (good .and. code == MPI_SUCCESS) return
    errors = errors + 1
    call MPI_Error_string(code, text, length, ignored)
    print '(a,i0,4a)', 'rank ', rank, ': ', what, ': wrong, ', text(1:length)
  end subroutine

  subroutine messages
    STATUS :: A_STATUS(status), STATUSES(statuses, 2)
    HANDLE(MPI_Request) :: request, requests(2)
    double precision :: sent(20), got(20), plane(3, 4)
    double complex :: wave
    integer :: left, right
    right = mod(rank + 1, size)
    left = mod(rank + size - 1, size)
    sent = rank
    call MPI_Irecv(got, 20, MPI_DOUBLE_PRECISION, left, 1, all, request, code)
    call MPI_Send(sent, 20, MPI_DOUBLE_PRECISION, right, 1, all, code)
    call MPI_Wait(request, status, code)
    call check('irecv, send, wait', all_are(got, left) .and. FIELD(status, MPI_SOURCE) == left)
    call MPI_Isend(sent, 20, MPI_DOUBLE_PRECISION, left, 2, all, request, code)
    call MPI_Recv(got, 20, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 2, all, status, code)
    call MPI_Wait(request, MPI_STATUS_IGNORE, code)
    call check('isend, recv of anybody', all_are(got, right) .and. FIELD(status, MPI_TAG) == 2)
    call MPI_Irecv(plane, 12, MPI_DOUBLE_PRECISION, left, 3, all, requests(1), code)
    call MPI_Isend(sent, 12, MPI_DOUBLE_PRECISION, right, 3, all, requests(2), code)
    call MPI_Waitall(2, requests, statuses, code)
    call check('waitall', all_are(plane(:, 4), left) .and. FIELD_OF(statuses, 1, MPI_TAG) == 3)
    wave = cmplx(rank, -rank, kind(wave))
    call MPI_Bcast(wave, 1, MPI_DOUBLE_COMPLEX, size - 1, all, code)
    call check('a complex number for all', real(wave) == size - 1 .and. aimag(wave) == 1 - size)
  end subroutine

  logical function all_are(values, whose)
    double precision, intent(in) :: values(:)
    integer, intent(in) :: whose
    all_are = maxval(abs(values - whose)) == 0
  end function

  subroutine collectives
    double precision :: sum_of, parts(2), whole(2)
    double complex :: waves(size), others(size)
    integer :: i, numbers(0:size - 1), places(0:size - 1), of_others(0:size - 1), places_there(0:size - 1)
    integer :: keys(size*(size + 1)/2), found(size*(rank + 1))
    call MPI_Reduce(1d0, sum_of, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, all, code)
    call check('reduce', rank /= 0 .or. sum_of == size)
    parts = [1d0*rank, -1d0*rank]
    call MPI_Allreduce(parts, whole, 2, MPI_DOUBLE_PRECISION, MPI_MAX, all, code)
    call check('allreduce', whole(1) == size - 1 .and. whole(2) == 0)
    call MPI_Allreduce(1d0, sum_of, 1, MPI_DOUBLE_PRECISION, MPI_SUM, row, code)
    call check('allreduce in a row', sum_of == (size + 1 - mod(rank, 2))/2)
    waves = [(cmplx(rank, i, kind(waves)), i=0, size - 1)]
    call MPI_Alltoall(waves, 1, MPI_DOUBLE_COMPLEX, others, 1, MPI_DOUBLE_COMPLEX, all, code)
    call check('alltoall', all_are(real(others - [(i, i=0, size - 1)]), 0) .and. all_are(aimag(others), rank))
    do i = 0, size - 1  ! i + 1 numbers for rank i
      numbers(i) = i + 1
      places(i) = i*(i + 1)/2
      keys(places(i) + 1:places(i) + i + 1) = rank
      places_there(i) = i*(rank + 1)
    end do
    call MPI_Alltoall(numbers, 1, MPI_INTEGER, of_others, 1, MPI_INTEGER, all, code)
    call check('alltoall of numbers', all_are(1d0*of_others, rank + 1))
    call MPI_Alltoallv(keys, numbers, places, MPI_INTEGER, found, of_others, places_there, MPI_INTEGER, all, code)
    call check('alltoallv', count(found /= [(i/(rank + 1), i=0, size*(rank + 1) - 1)]) == 0)
  end subroutine

  !> A part of a field for each rank, through a view, and by places.
  subroutine blocks_of_files
    HANDLE(MPI_File) :: file
    HANDLE(MPI_Datatype) :: part
    STATUS :: A_STATUS(status)
    character(200) :: name
    double precision :: values(4), back(4)
    integer :: count
    call get_command_argument(1, name)
    call MPI_Type_create_subarray(2, [2*size, 2], [2, 2], [2*rank, 0], MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, &
                                  part, code)
    call MPI_Type_commit(part, code)
    call MPI_File_open(all, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, code)
    call check('file_open', .true.)
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_DOUBLE_PRECISION, part, 'native', MPI_INFO_NULL, code)
    values = rank
    call MPI_File_write_at_all(file, 0_MPI_OFFSET_KIND, values, 4, MPI_DOUBLE_PRECISION, status, code)
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, code)
    call check('write_at_all', count == 4)
    call MPI_File_read_at_all(file, 0_MPI_OFFSET_KIND, back, 4, MPI_DOUBLE_PRECISION, status, code)
    call check('read_at_all', all_are(back, rank))
    call MPI_File_write_at(file, 1_MPI_OFFSET_KIND, values - 1, 1, MPI_DOUBLE_PRECISION, status, code)
    call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, back, 2, MPI_DOUBLE_PRECISION, status, code)
    call check('write_at, read_at', back(1) == rank .and. back(2) == rank - 1)
    call MPI_File_close(file, code)
    call MPI_Type_free(part, code)
    call MPI_Barrier(all, code)
    if (rank == 0) call MPI_File_delete(name, MPI_INFO_NULL, code)
    call check('file_close, file_delete', .true.)
  end subroutine
end program
