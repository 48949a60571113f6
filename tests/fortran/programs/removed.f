C     The names that MPI-3.0 removed, in a program of their time.
      program old
      include 'mpif.h'
      integer code, made, types(2), lengths(2), places(2), n, first
      integer common, status(MPI_STATUS_SIZE), handler
      integer from(6), to(6)
      call MPI_INIT(code)
      types(1) = MPI_INTEGER
      types(2) = MPI_DOUBLE_PRECISION
      lengths(1) = 2
      lengths(2) = 1
      places(1) = 0
      places(2) = 8
      call MPI_TYPE_STRUCT(2, lengths, places, types, made, code)
      call MPI_TYPE_COMMIT(made, code)
      call MPI_TYPE_EXTENT(made, n, code)
      if (n .ne. 16) stop 1
      call MPI_TYPE_LB(made, n, code)
      if (n .ne. 0) stop 2
      call MPI_TYPE_UB(made, n, code)
      if (n .ne. 16) stop 3
      call MPI_TYPE_FREE(made, code)
      call MPI_TYPE_HVECTOR(3, 1, 8, MPI_INTEGER, made, code)
      call MPI_TYPE_COMMIT(made, code)
      do 10 n = 1, 6
        from(n) = n
        to(n) = 0
10    continue
      call MPI_SENDRECV(from, 1, made, 0, 1, to, 6, MPI_INTEGER, 0, 1,
     &  MPI_COMM_SELF, status, code)
      if (to(1) .ne. 1 .or. to(2) .ne. 3 .or. to(3) .ne. 5) stop 4
      call MPI_TYPE_FREE(made, code)
      call MPI_TYPE_HINDEXED(1, 1, 4, MPI_INTEGER, made, code)
      call MPI_TYPE_COMMIT(made, code)
      call MPI_SENDRECV(from, 1, made, 0, 1, to, 6, MPI_INTEGER, 0, 1,
     &  MPI_COMM_SELF, status, code)
      if (to(1) .ne. 2) stop 5
      call MPI_TYPE_FREE(made, code)
      call MPI_ERRHANDLER_SET(MPI_COMM_WORLD, MPI_ERRORS_RETURN, code)
      call MPI_ERRHANDLER_GET(MPI_COMM_WORLD, handler, code)
      if (handler .ne. MPI_ERRORS_RETURN) stop 6
      call MPI_ADDRESS(MPI_BOTTOM, n, code)
      if (n .ne. 0) stop 7
      print '(a)', 'all is well'
      call MPI_FINALIZE(code)
      end
