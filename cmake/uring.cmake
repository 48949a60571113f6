# liburing, for io_uring. Optional: without it files are read and written by preadv and pwritev alone.
#
# Sets TASUKI_URING, TASUKI_URING_INCLUDE and TASUKI_URING_LIBRARY. The static library comes first: it is small,
# and the MPI libraries need no further one to be there when they are loaded. It must go into a shared library.
include(CheckCXXSourceCompiles)
option(TASUKI_WITH_URING "use io_uring where liburing is found" ON)

set(TASUKI_URING OFF)
set(lack "TASUKI_WITH_URING is OFF")
if(TASUKI_WITH_URING)
  set(lack "not found (2.2 or newer, liburing-dev)")
  find_path(TASUKI_URING_INCLUDE liburing.h)
  foreach(name liburing.a uring)
    if(NOT TASUKI_URING AND TASUKI_URING_INCLUDE)
      find_library(TASUKI_URING_${name} NAMES ${name})
      set(CMAKE_REQUIRED_INCLUDES ${TASUKI_URING_INCLUDE})
      set(CMAKE_REQUIRED_FLAGS -fPIC)
      set(CMAKE_REQUIRED_LINK_OPTIONS -shared -Wl,-z,defs)
      set(CMAKE_REQUIRED_LIBRARIES ${TASUKI_URING_${name}})
      check_cxx_source_compiles("
        #include <liburing.h>
        int probe(io_uring_cqe* entry) { return static_cast<int>(io_uring_cqe_get_data64(entry)); }
        int make(io_uring* ring) { return io_uring_queue_init(8, ring, 0); }" TASUKI_URING_LINKS_${name})
      if(TASUKI_URING_LINKS_${name})
        set(TASUKI_URING ON)
        set(TASUKI_URING_LIBRARY ${TASUKI_URING_${name}})
      endif()
    endif()
  endforeach()
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_FLAGS)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()
if(NOT TASUKI_URING)
  tasuki_left_out(liburing "${lack}" "files are read and written without io_uring")
endif()
