# PMIx' headers, to join the jobs of Open MPI's mpirun, PRRTE and srun --mpi=pmix. Optional: without them such jobs
# are refused with a line. The library is loaded when a job needs it, and never linked.
#
# Sets TASUKI_PMIX and TASUKI_PMIX_INCLUDE.
option(TASUKI_WITH_PMIX "join jobs by PMIx where pmix.h is found" ON)

set(TASUKI_PMIX OFF)
set(lack "TASUKI_WITH_PMIX is OFF")
if(TASUKI_WITH_PMIX)
  set(lack "no pmix.h, 4 or newer, by pkg-config or among the system's headers (libpmix-dev)")
  find_package(PkgConfig QUIET)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(TASUKI_PMIX_PC QUIET pmix>=4)
  endif()
  find_path(TASUKI_PMIX_INCLUDE pmix.h HINTS ${TASUKI_PMIX_PC_INCLUDE_DIRS} ${TASUKI_PMIX_PC_INCLUDEDIR})
  if(TASUKI_PMIX_INCLUDE)
    set(TASUKI_PMIX ON)
  endif()
endif()
if(NOT TASUKI_PMIX)
  tasuki_left_out(PMIx "${lack}" "jobs of PMIx launchers cannot be joined")
endif()
