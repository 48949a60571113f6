! COMMON blocks of Fortran as message buffers: one of a mebibyte, one of exactly 64 KiB, a small one, and one
! that is initialised by BLOCK DATA (so it lies in .data). MPI is called through heap_common.c. Each block is
! seen by two program units by different names, as old programs do.
program heap_common
  use iso_c_binding
  implicit none
  integer(c_int) :: field(262144), few(8), table(32768)
  real(c_double) :: edge(8192)
  common /fields/ field
  common /edges/ edge
  common /scalars/ few
  common /tables/ table
  integer(c_int) :: rank, ranks, i
  interface
    subroutine begin_mpi(rank, ranks) bind(c)
      import
      integer(c_int), intent(out) :: rank, ranks
    end subroutine
    subroutine pass_on(buffer, bytes, name) bind(c)
      import
      type(*), intent(inout) :: buffer(*)
      integer(c_int), value :: bytes
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine end_mpi() bind(c)
    end subroutine
  end interface

  field(262144) = 77          ! before MPI_Init
  call begin_mpi(rank, ranks)
  if (field(262144) /= 77 .or. table(1) /= 5 .or. table(32768) /= 5) error stop 'COMMON before MPI_Init'
  do i = 1, 262144
    field(i) = rank * 1000003 + i
  end do
  edge = rank + 0.5d0
  few = rank
  table(7) = 100 + rank
  call pass_on(field, 4 * 262144, c_char_'fields' // c_null_char)
  call pass_on(edge, 8 * 8192, c_char_'edges' // c_null_char)
  call pass_on(few, 4 * 8, c_char_'scalars' // c_null_char)
  call pass_on(table, 4 * 32768, c_char_'tables' // c_null_char)
  call compare(mod(rank + ranks - 1, ranks))
  call end_mpi()
end program

! What the rank before had is there now, seen by other names.
subroutine compare(before)
  use iso_c_binding
  implicit none
  integer(c_int), intent(in) :: before
  integer(c_int) :: left(131072), right(131072), numbers(8), first(16384), second(16384)
  real(c_double) :: plane(64, 128)
  common /fields/ left, right
  common /edges/ plane
  common /scalars/ numbers
  common /tables/ first, second
  integer :: i
  do i = 1, 131072
    if (left(i) /= before * 1000003 + i) error stop 'left half of a COMMON block'
    if (right(i) /= before * 1000003 + i + 131072) error stop 'right half of a COMMON block'
  end do
  if (any(nint(2 * plane) /= 2 * before + 1)) error stop 'COMMON of 64 KiB'
  if (any(numbers /= before)) error stop 'small COMMON'
  if (first(7) /= 100 + before .or. first(8) /= 5 .or. second(16384) /= 5) error stop 'COMMON of BLOCK DATA'
end subroutine

block data tables_at_first
  use iso_c_binding
  implicit none
  integer(c_int) :: table(32768)
  common /tables/ table
  data table /32768*5/
end block data
