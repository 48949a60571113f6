! What every program does, in each interface: messages, requests, statuses, strings, groups, datatypes,
! topologies; strings as long as MPI's constants say, and arguments that are not significant.
#include "interface.inc"
program basics
#include "begin.inc"
  integer :: rank, size, code, errors, i
  errors = 0
  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, size, code)
  call messages
  call many_requests
  call strings
#ifndef MPI_4_0
  call limits
#endif
  call nothing
  call groups
  call datatypes
  call topologies
  call collectives
  call addresses
  call check('the clock goes on', MPI_Wtime() > 0d0 .and. MPI_Wtick() > 0d0)
  call MPI_Allreduce(MPI_IN_PLACE, errors, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  if (rank == 0 .and. errors == 0) print '(a)', 'all is well'
  call MPI_Finalize(code)
  if (errors /= 0) stop 1
contains
  subroutine check(what, good)
    character(*), intent(in) :: what
    logical, intent(in) :: good
    if (good .and. code == MPI_SUCCESS) return
    errors = errors + 1
    print '(a,i0,a,a,a,i0)', 'rank ', rank, ': ', what, ': wrong, code ', code
  end subroutine

  subroutine messages
    STATUS :: A_STATUS(status)
    HANDLE(MPI_Request) :: request
    HANDLE(MPI_Message) :: message
    integer :: got, count, left, right
    logical :: flag
    right = mod(rank + 1, size)
    left = mod(rank + size - 1, size)
    call MPI_Irecv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, request, code)
    call MPI_Send(rank, 1, MPI_INTEGER, right, 7, MPI_COMM_WORLD, code)
    call MPI_Wait(request, status, code)
    call MPI_Get_count(status, MPI_INTEGER, count, code)
    call check('a ring', got == left .and. count == 1)
    call check('its status', FIELD(status, MPI_SOURCE) == left .and. FIELD(status, MPI_TAG) == 7)
    call check('a request that is over', request == MPI_REQUEST_NULL)
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, left, 8, got, 1, MPI_INTEGER, right, 8, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, code)
    call check('sendrecv', got == right)
    call MPI_Isend(rank, 1, MPI_INTEGER, right, 9, MPI_COMM_WORLD, request, code)
    call MPI_Mprobe(left, 9, MPI_COMM_WORLD, message, status, code)
    call MPI_Mrecv(got, 1, MPI_INTEGER, message, MPI_STATUS_IGNORE, code)
    call check('mprobe', got == left .and. message == MPI_MESSAGE_NULL)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(request, flag, MPI_STATUS_IGNORE, code)
    end do
    call check('test', flag)
    call MPI_Recv(got, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, status, code)
    call check('nobody', FIELD(status, MPI_SOURCE) == MPI_PROC_NULL)
  end subroutine

  subroutine many_requests
    integer, parameter :: n = 40
    HANDLE(MPI_Request) :: requests(2*n)
    STATUS :: STATUSES(statuses, 2*n)
    integer :: out(n), in(n), index, indices(2*n), done, many
    logical :: flag
    do i = 1, n
      out(i) = 1000*rank + i
      call MPI_Irecv(in(i), 1, MPI_INTEGER, mod(rank + size - 1, size), i, MPI_COMM_WORLD, requests(i), code)
    end do
    do i = 1, n
      call MPI_Isend(out(i), 1, MPI_INTEGER, mod(rank + 1, size), i, MPI_COMM_WORLD, requests(n + i), code)
    end do
    call MPI_Waitall(2*n, requests, statuses, code)
    call check('waitall', all(in == [(1000*mod(rank + size - 1, size) + i, i=1, n)]))
    call check('its statuses', all([(FIELD_OF(statuses, i, MPI_TAG) == i, i=1, n)]))
    requests = MPI_REQUEST_NULL
    call MPI_Irecv(in(1), 1, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, requests(5), code)
    call MPI_Send(out(1), 1, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, code)
    call MPI_Waitany(10, requests, index, MPI_STATUS_IGNORE, code)
    call check('waitany counts from 1', index == 5)
    call MPI_Waitany(10, requests, index, MPI_STATUS_IGNORE, code)
    call check('waitany of none', index == MPI_UNDEFINED)
    call MPI_Testany(10, requests, index, flag, MPI_STATUS_IGNORE, code)
    call check('testany of none', index == MPI_UNDEFINED .and. flag)
    call MPI_Irecv(in(2), 1, MPI_INTEGER, rank, 4, MPI_COMM_WORLD, requests(2), code)
    call MPI_Irecv(in(9), 1, MPI_INTEGER, rank, 4, MPI_COMM_WORLD, requests(9), code)
    call MPI_Send(out(1), 1, MPI_INTEGER, rank, 4, MPI_COMM_WORLD, code)
    call MPI_Send(out(2), 1, MPI_INTEGER, rank, 4, MPI_COMM_WORLD, code)
    many = 0
    do while (many < 2)
      call MPI_Waitsome(10, requests, done, indices, MPI_STATUSES_IGNORE, code)
      call check('waitsome counts from 1', all(indices(1:done) == 2 .or. indices(1:done) == 9))
      many = many + done
    end do
    call MPI_Testsome(10, requests, done, indices, MPI_STATUSES_IGNORE, code)
    call check('testsome of none', done == MPI_UNDEFINED)
    call MPI_Send_init(out(1), 1, MPI_INTEGER, rank, 5, MPI_COMM_WORLD, requests(1), code)
    call MPI_Recv_init(in(1), 1, MPI_INTEGER, rank, 5, MPI_COMM_WORLD, requests(2), code)
    do i = 1, 3
      out(1) = 10*i
      call MPI_Startall(2, requests, code)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code)
      call check('persistent', in(1) == 10*i)
    end do
    call MPI_Request_free(requests(1), code)
    call MPI_Request_free(requests(2), code)
    call check('freed', requests(1) == MPI_REQUEST_NULL)
  end subroutine

  subroutine strings
    character(MPI_MAX_PROCESSOR_NAME) :: name
    character(MPI_MAX_ERROR_STRING) :: text
    character(5) :: short
    character(12) :: value
    HANDLE(MPI_Info) :: info
    HANDLE(MPI_Comm) :: comm
    integer :: length, n, error_class
    logical :: flag
    name = repeat('#', len(name))
    call MPI_Get_processor_name(name, length, code)
    call check('the processor''s name', length > 0 .and. name(length:length) /= ' ' .and. name(length + 1:) == ' ')
    call MPI_Error_string(MPI_ERR_RANK, text, length, code)
    call check('an error''s text', index(text, 'rank') > 0 .and. text(length + 1:) == ' ')
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, code)
    call MPI_Comm_set_name(comm, '  with blanks  ', code)
    call MPI_Comm_get_name(comm, name, length, code)
    call check('a name keeps leading blanks', length == 13 .and. name == '  with blanks')
    call MPI_Comm_free(comm, code)
    call check('a communicator that is freed', comm == MPI_COMM_NULL)
    call MPI_Info_create(info, code)
    call MPI_Info_set(info, '  key ', '  a value  ', code)
    call MPI_Info_set(info, 'second', 'x', code)
    value = '###'
    call MPI_Info_get(info, 'key', 12, value, flag, code)
    call check('an info''s value', flag .and. value == 'a value')
    value = '###'
    call MPI_Info_get(info, 'nothing', 12, value, flag, code)
    call check('a key that is not there', .not. flag .and. value == '###')
    length = 12
    call MPI_Info_get_string(info, 'key', length, value, flag, code)
    call check('its length', flag .and. value == 'a value' .and. length == 7)
    length = 3
    value = '###'
    call MPI_Info_get_string(info, 'key', length, value, flag, code)
    call check('a part of it', flag .and. value == 'a v' .and. length == 7)
    length = 0
    value = '###'
    call MPI_Info_get_string(info, 'key', length, value, flag, code)
    call check('its length alone', flag .and. value == '###' .and. length == 7)
    call MPI_Info_get_valuelen(info, 'key', length, flag, code)
    call check('valuelen', flag .and. length == 7)
    call MPI_Info_get_nkeys(info, n, code)
    call check('keys', n == 2)
    short = '#'
    call MPI_Info_get_nthkey(info, 1, short, code)
    call check('a key that is cut', short == 'secon')
    call MPI_Info_free(info, code)
    call check('an info that is freed', info == MPI_INFO_NULL)
    call MPI_Add_error_class(error_class, code)
    call MPI_Add_error_string(error_class, 'of our own   ', code)
    call MPI_Error_string(error_class, text, length, code)
    call check('an error of our own', text(1:length) == 'of our own')
  end subroutine

#ifndef MPI_4_0
  ! A string as long as its constant says comes back whole; a longer one is refused, but for its blanks.
  subroutine limits
    character(MPI_MAX_OBJECT_NAME) :: name
    character(MPI_MAX_INFO_KEY) :: key
    character(MPI_MAX_INFO_VAL) :: value
    character(MPI_MAX_ERROR_STRING) :: text
    character(MPI_MAX_PORT_NAME) :: port
    character(40) :: service
    integer(8) :: ticks
    HANDLE(MPI_Comm) :: comm
    HANDLE(MPI_Group) :: self
    HANDLE(MPI_Info) :: info
    integer :: length, error_class
    logical :: flag
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, code)
    call MPI_Comm_group(MPI_COMM_SELF, self, code)
    call MPI_Comm_create_from_group(self, repeat('t', MPI_MAX_STRINGTAG_LEN)//'  ', MPI_INFO_NULL, &
                                    MPI_ERRORS_RETURN, comm, code)
    call check('the longest tag', comm /= MPI_COMM_NULL)
    call MPI_Comm_set_name(comm, repeat('n', len(name))//' ', code)
    call MPI_Comm_get_name(comm, name, length, code)
    call check('the longest name', length == len(name) .and. name == repeat('n', len(name)))
    call MPI_Comm_free(comm, code)
    call MPI_Comm_create_from_group(self, repeat('t', MPI_MAX_STRINGTAG_LEN + 1), MPI_INFO_NULL, &
                                    MPI_ERRORS_RETURN, comm, code)
    call refused('a longer tag', MPI_ERR_ARG)
    call MPI_Group_free(self, code)
    call MPI_Info_create(info, code)
    call MPI_Info_set(info, ' '//repeat('k', len(key))//' ', ' '//repeat('v', len(value))//' ', code)
    call MPI_Info_get_nthkey(info, 0, key, code)
    call check('the longest key', key == repeat('k', len(key)))
    length = len(value)
    call MPI_Info_get_string(info, key, length, value, flag, code)
    call check('the longest value', flag .and. length == len(value) .and. value == repeat('v', len(value)))
    call MPI_Info_set(info, key//'k', 'v', code)
    call refused('a longer key', MPI_ERR_INFO_KEY)
    call MPI_Info_set(info, key, value//'v', code)
    call refused('a longer value', MPI_ERR_INFO_VALUE)
    call MPI_Info_free(info, code)
    call MPI_Add_error_class(error_class, code)
    call MPI_Add_error_string(error_class, repeat('e', len(text)), code)
    call MPI_Error_string(error_class, text, length, code)
    call check('the longest error', length == len(text) .and. text == repeat('e', len(text)))
    call MPI_Remove_error_string(error_class, code)
    call MPI_Remove_error_class(error_class, code)
    call system_clock(ticks)
    write (service, '(a,i0,a,i0)') 'limits ', rank, ' ', ticks
    call MPI_Publish_name(service, MPI_INFO_NULL, repeat('p', len(port)), code)
    call MPI_Lookup_name(service, MPI_INFO_NULL, port, code)
    call check('the longest port', port == repeat('p', len(port)))
    call MPI_Unpublish_name(service, MPI_INFO_NULL, port, code)
    call MPI_Publish_name(service, MPI_INFO_NULL, port//'p', code)
    call refused('a longer port', MPI_ERR_PORT)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL, code)
  end subroutine

  subroutine refused(what, error_class)
    character(*), intent(in) :: what
    integer, intent(in) :: error_class
    integer :: found, given
    given = code
    call MPI_Error_class(given, found, code)
    call check(what//' is refused', found == error_class)
  end subroutine
#endif

  ! Beside MPI_IN_PLACE nothing is looked at that is said of the blocks to send, nor a datatype of no elements.
  subroutine nothing
    use, intrinsic :: iso_c_binding, only: c_f_pointer, c_intptr_t, c_null_ptr
    HANDLE(MPI_Datatype), pointer, contiguous :: nowhere(:)
    HANDLE(MPI_Datatype) :: types(0:size - 1), out_types(0:size - 1)
    integer :: counts(0:size - 1), out_counts(0:size - 1), places(0:size - 1), got(0:size - 1), left, right
    call c_f_pointer(transfer(16_c_intptr_t, c_null_ptr), nowhere, [1])
    got = rank
    counts = 1
    types = MPI_INTEGER
    places = [(4*i, i=0, size - 1)]
    call MPI_Alltoallw(MPI_IN_PLACE, counts, places, nowhere, got, counts, places, types, &
                       MPI_COMM_WORLD, code)
    call check('alltoallw in place', all(got == [(i, i=0, size - 1)]))
    right = mod(rank + 1, size)
    left = mod(rank + size - 1, size)
    types = MPI_DATATYPE_NULL
    out_types = MPI_DATATYPE_NULL
    types(left) = MPI_INTEGER
    out_types(right) = MPI_INTEGER
    counts = 0
    out_counts = 0
    counts(left) = 1
    out_counts(right) = 1
    places = 0
    got = -1
    call MPI_Alltoallw(rank, out_counts, places, out_types, got, counts, places, types, MPI_COMM_WORLD, code)
    call check('null datatypes beside counts of 0', got(0) == left)
  end subroutine

  subroutine groups
    HANDLE(MPI_Group) :: world, some
    HANDLE(MPI_Comm) :: comm
    integer :: ranges(3, 1), ranks(size), to(size), result, n
    call MPI_Comm_group(MPI_COMM_WORLD, world, code)
    ranges(:, 1) = [size - 1, 0, -1]
    call MPI_Group_range_incl(world, 1, ranges, some, code)
    ranks = [(i, i=0, size - 1)]
    call MPI_Group_translate_ranks(some, size, ranks, world, to, code)
    call check('a range of ranks', all(to == [(size - 1 - i, i=0, size - 1)]))
    call MPI_Group_compare(world, some, result, code)
    call check('comparison', result == merge(MPI_IDENT, MPI_SIMILAR, size == 1))
    call MPI_Comm_create(MPI_COMM_WORLD, some, comm, code)
    call MPI_Comm_rank(comm, n, code)
    call check('a communicator of it', n == size - 1 - rank)
    call MPI_Comm_free(comm, code)
    call MPI_Group_free(some, code)
    call MPI_Group_free(world, code)
    call check('a group that is freed', world == MPI_GROUP_NULL)
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, comm, code)
    call MPI_Comm_size(comm, n, code)
    call check('split', n == (size + 1 - mod(rank, 2))/2)
    call MPI_Comm_free(comm, code)
  end subroutine

  subroutine datatypes
    HANDLE(MPI_Datatype) :: types(3), made, found(3)
    integer(MPI_ADDRESS_KIND) :: displacements(3), lower, extent, addresses(3)
    integer :: lengths(3), length, count, numbers(10), n_integers, n_addresses, n_types, combiner
    double precision :: a
    integer :: matrix(4, 6), part(2, 3)
    types = [MPI_INTEGER, MPI_DOUBLE_PRECISION, MPI_CHARACTER]
    lengths = [1, 2, 3]
    displacements = [0, 8, 24]
    call MPI_Type_create_struct(3, lengths, displacements, types, made, code)
    call MPI_Type_commit(made, code)
    call MPI_Type_size(made, length, code)
    call check('a struct''s size', length == 23)
    call MPI_Type_get_extent(made, lower, extent, code)
    call check('its extent', lower == 0 .and. extent == 32)
    call MPI_Type_get_envelope(made, n_integers, n_addresses, n_types, combiner, code)
    call check('its envelope', n_integers == 4 .and. n_types == 3 .and. combiner == MPI_COMBINER_STRUCT)
    call MPI_Type_get_contents(made, n_integers, n_addresses, n_types, numbers, addresses, found, code)
    call check('its contents', found(2) == MPI_DOUBLE_PRECISION .and. addresses(3) == 24 .and. numbers(4) == 3)
    call MPI_Type_free(made, code)
    call MPI_Type_create_subarray(2, [4, 6], [2, 3], [1, 2], MPI_ORDER_FORTRAN, MPI_INTEGER, made, code)
    call MPI_Type_commit(made, code)
    matrix = reshape([(i, i=1, 24)], [4, 6])
    call MPI_Sendrecv(matrix, 1, made, rank, 1, part, 6, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, code)
    call check('a subarray', all(part == matrix(2:3, 3:5)))
    call MPI_Type_free(made, code)
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, storage_size(a)/8, made, code)
    call check('match_size', made == MPI_REAL8 .or. made == MPI_DOUBLE_PRECISION)
    call MPI_Type_create_f90_real(15, 307, made, code)
    call MPI_Type_size(made, count, code)
    call check('a real by precision', count == 8)
  end subroutine

  subroutine topologies
    HANDLE(MPI_Comm) :: comm, row
    integer :: dims(2), coords(2), source, dest, n, topology, sources(1), targets(1), weights(1)
    integer :: weights_in(1), weights_out(1), sources_back(1), targets_back(1)
    logical :: periods(2), weighted
    dims = 0
    call MPI_Dims_create(size, 2, dims, code)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., comm, code)
    periods = .false.
    call MPI_Cart_get(comm, 2, dims, periods, coords, code)
    call check('periods', periods(1) .and. .not. periods(2))
    call MPI_Cart_rank(comm, coords, n, code)
    call check('coordinates', n == rank)
    call MPI_Cart_shift(comm, 1, 1, source, dest, code)
    call check('no neighbour', (coords(2) /= 0 .or. source == MPI_PROC_NULL) .and. &
               (coords(2) /= dims(2) - 1 .or. dest == MPI_PROC_NULL))
    call MPI_Topo_test(comm, topology, code)
    call check('a kind of topology', topology == MPI_CART)
    call MPI_Cart_sub(comm, [.true., .false.], row, code)
    call MPI_Comm_size(row, n, code)
    call check('a row', n == dims(1))
    call MPI_Comm_free(row, code)
    call MPI_Comm_free(comm, code)
    sources = mod(rank + size - 1, size)
    targets = mod(rank + 1, size)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, targets, MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., comm, code)
    call MPI_Dist_graph_neighbors_count(comm, n, n, weighted, code)
    call check('no weights', .not. weighted)
    call MPI_Comm_free(comm, code)
    weights = 5 + rank
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, weights, 1, targets, weights, &
                                        MPI_INFO_NULL, .false., comm, code)
    call MPI_Dist_graph_neighbors(comm, 1, sources_back, weights_in, 1, targets_back, weights_out, code)
    call check('weights', weights_in(1) == 5 + rank .and. targets_back(1) == targets(1))
    call MPI_Comm_free(comm, code)
  end subroutine

  subroutine collectives
    integer :: values(size), sums(size), counts(size), displs(size), value
    HANDLE(MPI_Datatype) :: types(size)
    HANDLE(MPI_Request) :: request
    value = rank + 1
    call MPI_Allgather(value, 1, MPI_INTEGER, values, 1, MPI_INTEGER, MPI_COMM_WORLD, code)
    call check('allgather', all(values == [(i, i=1, size)]))
    values = rank
    values(rank + 1) = 100 + rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, 1, MPI_INTEGER, MPI_COMM_WORLD, code)
    call check('allgather in place', all(values == [(100 + i, i=0, size - 1)]))
    counts = 1
    displs = [(4*i, i=0, size - 1)]
    types = MPI_INTEGER
    values = [(size*rank + i, i=1, size)]
    call MPI_Alltoallw(values, counts, displs, types, sums, counts, displs, types, MPI_COMM_WORLD, code)
    call check('alltoallw', all(sums == [(size*i + rank + 1, i=0, size - 1)]))
    call MPI_Ibcast(value, 1, MPI_INTEGER, size - 1, MPI_COMM_WORLD, request, code)
    call MPI_Wait(request, MPI_STATUS_IGNORE, code)
    call check('ibcast', value == size)
    call MPI_Barrier(MPI_COMM_WORLD, code)
  end subroutine

  subroutine addresses
    integer(MPI_ADDRESS_KIND) :: first, second, bottom(2)
    HANDLE(MPI_Datatype) :: made
    integer, target :: from(3), to(3)
    from = [1, 2, 3] + rank
    to = 0
    call MPI_Get_address(from(1), first, code)
    call MPI_Get_address(from(3), second, code)
#if !defined OLD_MPIF_H
    call check('addresses', MPI_Aint_diff(second, first) == 8 .and. MPI_Aint_add(first, 8_MPI_ADDRESS_KIND) == second)
#endif
    bottom = [first, second]
    call MPI_Type_create_hindexed(2, [1, 1], bottom, MPI_INTEGER, made, code)
    call MPI_Type_commit(made, code)
    call MPI_Sendrecv(MPI_BOTTOM, 1, made, rank, 1, to, 2, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, code)
    call check('MPI_BOTTOM', to(1) == 1 + rank .and. to(2) == 3 + rank)
    call MPI_Type_free(made, code)
  end subroutine
end program
