# What is installed, and where. The tree can be moved: nothing in it names its own place.
#
#   bin/      mpiexec (mpirun), mpicc, mpicxx (mpic++), mpifort (mpif77, mpif90), tasuki, spam
#   include/  mpi.h, mpif.h (MPI-5.0 standard ABI), mpich/mpi.h (MPICH ABI)
#   libexec/  tasuki-source-lines, which mpiexec runs; tasuki/: mbl, the benchmark suite, what tasuki tune runs, and
#             spam-tools, which spam runs, with spam-cache-model; fortran-modules, which mpifort runs
#   lib/      libmpi_abi.so.1 (.so), libmpi.so.12, libmpifort_abi.so.1 (.so), libmpifort.so.12; libmpich.so.12, libmpichfort.so.12,
#             which programs of Debian ask for; tasuki/mpicxx/libmpicxx.so.12, empty; libtasuki_heap.so, libtasuki_trace.so, pkgconfig/,
#             cmake/Tasuki/,
#             tasuki/python/, the packages that bin/tasuki and spam-tools run (pip puts the former where others are)
#   share/    tasuki/modules, the sources of the modules mpi and mpi_f08 for either ABI; tasuki/mbl, the suite's sources: tasuki builds them with other MPIs' compilers; tasuki/spam, likewise,
#             with examples of its input; doc/tasuki, this documentation; man/, the manual pages; what bash, zsh and fish complete
#
# Each file belongs to a component, so that packages can be made of parts (cmake --install build --component NAME):
# runtime (what programs run with), development (what they are compiled with), tools (the command tasuki), spam, and
# documentation.
#
# There is no libmpi.so: -lmpi would link the MPICH ABI to a program compiled with the standard mpi.h. Who means
# to link the MPICH ABI says -I<prefix>/include/mpich -l:libmpi.so.12.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(TASUKI_WRAPPER_CC cc CACHE STRING "the compiler that mpicc calls")
set(TASUKI_WRAPPER_CXX c++ CACHE STRING "the compiler that mpicxx calls")
set(TASUKI_WRAPPER_FC gfortran CACHE STRING "the compiler that mpifort calls")
set(TASUKI_PYTHON python3 CACHE STRING "the Python that tasuki runs on; TASUKI_PYTHON names another later")

# A Python wheel carries the tree in its data part, which pip unpacks into the environment's prefix.
set(ROOT "")
if(SKBUILD)
  set(ROOT "${SKBUILD_DATA_DIR}/")
endif()
set(BINDIR ${CMAKE_INSTALL_BINDIR})
set(INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
set(LIBDIR ${CMAKE_INSTALL_LIBDIR})
set(LIBEXECDIR ${CMAKE_INSTALL_LIBEXECDIR})
set(DATADIR ${CMAKE_INSTALL_DATADIR})
foreach(directory ${BINDIR} ${INCLUDEDIR} ${LIBDIR} ${LIBEXECDIR} ${DATADIR})
  if(IS_ABSOLUTE ${directory})
    message(FATAL_ERROR "${directory}: installation directories must be relative, so that the tree can be moved")
  endif()
endforeach()
file(RELATIVE_PATH PREFIX_FROM_BINDIR /${BINDIR} /)
file(RELATIVE_PATH PREFIX_FROM_PKGCONFIG /${LIBDIR}/pkgconfig /)
file(RELATIVE_PATH PREFIX_FROM_CMAKEDIR /${LIBDIR}/cmake/Tasuki /)
foreach(path PREFIX_FROM_BINDIR PREFIX_FROM_PKGCONFIG PREFIX_FROM_CMAKEDIR)
  string(REGEX REPLACE "/$" "" ${path} "${${path}}")
endforeach()

set(MADE ${PROJECT_BINARY_DIR}/install)

function(tasuki_compiler_wrapper WRAPPER_NAME WRAPPER_LANGUAGE WRAPPER_VARIABLE WRAPPER_OPTION WRAPPER_LIBS)
  set(WRAPPER_COMPILER ${TASUKI_WRAPPER_${WRAPPER_VARIABLE}})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/compiler-wrapper.in ${MADE}/${WRAPPER_NAME} @ONLY)
  install(PROGRAMS ${MADE}/${WRAPPER_NAME} DESTINATION ${ROOT}${BINDIR} COMPONENT development)
endfunction()

function(tasuki_link TARGET NAME DIRECTORY COMPONENT)
  file(MAKE_DIRECTORY ${MADE})
  file(CREATE_LINK ${TARGET} ${MADE}/${NAME} SYMBOLIC)
  install(FILES ${MADE}/${NAME} DESTINATION ${ROOT}${DIRECTORY} COMPONENT ${COMPONENT})
endfunction()

function(tasuki_pkgconfig PC_NAME PC_LANGUAGE TEMPLATE)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${TEMPLATE}.pc.in ${MADE}/${PC_NAME}.pc @ONLY)
  install(FILES ${MADE}/${PC_NAME}.pc DESTINATION ${ROOT}${LIBDIR}/pkgconfig COMPONENT development)
endfunction()

# A script that runs a Python package of the installed tree.
function(tasuki_tool TOOL DIRECTORY COMPONENT TOOL_MAIN TOOL_ABOUT)
  file(RELATIVE_PATH PREFIX_FROM_TOOL /${DIRECTORY} /)
  string(REGEX REPLACE "/$" "" PREFIX_FROM_TOOL "${PREFIX_FROM_TOOL}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/tool.in ${MADE}/${TOOL} @ONLY)
  install(PROGRAMS ${MADE}/${TOOL} DESTINATION ${ROOT}${DIRECTORY} COMPONENT ${COMPONENT})
endfunction()

tasuki_compiler_wrapper(mpicc C CC cc -lmpi_abi)
tasuki_compiler_wrapper(mpicxx C++ CXX cxx -lmpi_abi)
tasuki_compiler_wrapper(mpifort Fortran FC fc "'-lmpi_modules -lmpifort_abi -lmpi_abi'")
tasuki_link(mpicxx mpic++ ${BINDIR} development)
tasuki_link(mpifort mpif77 ${BINDIR} development)
tasuki_link(mpifort mpif90 ${BINDIR} development)

set(GENERATED_MODULES ${TASUKI_GENERATED}/fortran/modules)
function(tasuki_header PATH NAME DIRECTORY)
  install(FILES ${PATH} RENAME ${NAME} DESTINATION ${ROOT}${INCLUDEDIR}${DIRECTORY} COMPONENT development)
endfunction()
tasuki_header(${PROJECT_SOURCE_DIR}/include/mpi.h mpi.h "")
tasuki_header(${TASUKI_GENERATED}/binding/abi/mpich/mpi.h mpi.h /mpich)
tasuki_header(${GENERATED_MODULES}/standard/mpif.inc mpif.h "")
tasuki_header(${GENERATED_MODULES}/mpich/mpif.inc mpif.h /mpich)

# The modules' sources, which mpifort compiles for each compiler that it meets.
configure_file(${PROJECT_SOURCE_DIR}/cmake/fortran-modules.in ${MADE}/fortran-modules @ONLY)
install(PROGRAMS ${MADE}/fortran-modules DESTINATION ${ROOT}${LIBEXECDIR}/tasuki COMPONENT development)
install(DIRECTORY ${GENERATED_MODULES} DESTINATION ${ROOT}${DATADIR}/tasuki COMPONENT development)

tasuki_pkgconfig(tasuki "C and C++" tasuki)
tasuki_pkgconfig(mpi-c C tasuki)
tasuki_pkgconfig(mpi-cxx C++ tasuki)
tasuki_pkgconfig(tasuki-fort Fortran tasuki-fort)
tasuki_pkgconfig(mpi-fort Fortran tasuki-fort)

configure_file(${PROJECT_SOURCE_DIR}/cmake/TasukiConfig.cmake.in ${MADE}/TasukiConfig.cmake @ONLY)
write_basic_package_version_file(${MADE}/TasukiConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${MADE}/TasukiConfig.cmake ${MADE}/TasukiConfigVersion.cmake
        DESTINATION ${ROOT}${LIBDIR}/cmake/Tasuki COMPONENT development)

# The libraries; only of the standard ABI also the names that -l finds. Programs link the heap by its one name.
install(TARGETS mpi_abi mpifort_abi LIBRARY DESTINATION ${ROOT}${LIBDIR} COMPONENT runtime
        NAMELINK_COMPONENT development)
install(TARGETS mpi_mpich mpich mpifort_mpich mpichfort LIBRARY DESTINATION ${ROOT}${LIBDIR} COMPONENT runtime
        NAMELINK_SKIP)
install(TARGETS mpicxx LIBRARY DESTINATION ${ROOT}${LIBDIR}/tasuki/mpicxx COMPONENT runtime NAMELINK_SKIP)
foreach(library tasuki_heap tasuki_trace)
  if(TARGET ${library})
    install(TARGETS ${library} LIBRARY DESTINATION ${ROOT}${LIBDIR} COMPONENT runtime)
  endif()
endforeach()
if(SKBUILD)
  include(cmake/wheel.cmake)
endif()
install(TARGETS mpiexec ${with_libraries} RUNTIME DESTINATION ${ROOT}${BINDIR} COMPONENT runtime)
if(TARGET tasuki_source_lines)
  install(TARGETS tasuki_source_lines ${with_libraries} RUNTIME DESTINATION ${ROOT}${LIBEXECDIR} COMPONENT runtime)
endif()
if(NOT SKBUILD)
  tasuki_link(mpiexec mpirun ${BINDIR} runtime)
endif()

# The tools: sources and programs that they run, and, where pip does not see to it, the package and its script.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench/mbl DESTINATION ${ROOT}${DATADIR}/tasuki COMPONENT tools
        FILES_MATCHING PATTERN *.cpp PATTERN *.hpp)
install(FILES ${PROJECT_SOURCE_DIR}/bench/shared_pair.h DESTINATION ${ROOT}${DATADIR}/tasuki COMPONENT tools)
set(programs mbl price algorithms message_ways network_ways tasuki_simulate)
if(SKBUILD)
  list(REMOVE_ITEM programs tasuki_simulate)
endif()
foreach(program IN LISTS programs)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${ROOT}${LIBEXECDIR}/tasuki COMPONENT tools)
  endif()
endforeach()
if(NOT SKBUILD)
  tasuki_tool(tasuki ${BINDIR} tools python "measures MPI libraries, models them and lets Tasuki choose by it.")
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/ DESTINATION ${LIBDIR}/tasuki/python COMPONENT tools
          PATTERN __pycache__ EXCLUDE)
endif()

# The reference application: the program, its Python tools, and its sources, which others build with their MPI.
if(TARGET spam)
  install(TARGETS spam ${with_libraries} RUNTIME DESTINATION ${ROOT}${BINDIR} COMPONENT spam)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/apps/spam DESTINATION ${ROOT}${DATADIR}/tasuki COMPONENT spam
          PATTERN python EXCLUDE)
  if(TARGET spam-cache-model AND NOT SKBUILD)
    install(TARGETS spam-cache-model RUNTIME DESTINATION ${ROOT}${LIBEXECDIR}/tasuki COMPONENT spam)
  endif()
  tasuki_tool(spam-tools ${LIBEXECDIR}/tasuki spam python/spam.py "draws the runs of spam, and sweeps over its options.")
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/apps/spam/python/ DESTINATION ${ROOT}${LIBDIR}/tasuki/python COMPONENT spam
          PATTERN __pycache__ EXCLUDE)
endif()

# What is read, and what shells complete. A wheel goes without.
if(NOT SKBUILD)
  install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${DATADIR}/doc/tasuki COMPONENT documentation)
  install(DIRECTORY docs examples DESTINATION ${DATADIR}/doc/tasuki COMPONENT documentation
          PATTERN man EXCLUDE PATTERN completion EXCLUDE)
  install(FILES bench/shared_pair.h DESTINATION ${DATADIR}/doc/tasuki/bench COMPONENT documentation)  # of pingpong.c

  # The manual pages are together in two files: those of commands in the repository, those of functions generated. The
  # latter tell what the sources of the core check.
  set(functions ${TASUKI_GENERATED}/man/functions.man)
  if(TASUKI_BINDGEN)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cpp ${PROJECT_SOURCE_DIR}/src/api.hpp)
    add_custom_command(OUTPUT ${functions} DEPENDS ${TASUKI_BINDGEN_INPUTS} ${sources} VERBATIM
                       COMMAND ${TASUKI_BINDGEN} manual ${TASUKI_GENERATED} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  endif()
  set(collected ${PROJECT_SOURCE_DIR}/docs/man/generated/commands.man ${functions})
  set(divider ${PROJECT_SOURCE_DIR}/cmake/man-pages.awk)
  add_custom_command(OUTPUT ${MADE}/man.stamp DEPENDS ${collected} ${divider} VERBATIM
                     COMMAND ${CMAKE_COMMAND} -E rm -rf ${MADE}/man
                     COMMAND ${CMAKE_COMMAND} -E make_directory ${MADE}/man/man1 ${MADE}/man/man3
                     COMMAND awk -v into=${MADE}/man -f ${divider} ${collected}
                     COMMAND ${CMAKE_COMMAND} -E touch ${MADE}/man.stamp)
  add_custom_target(tasuki_man ALL DEPENDS ${MADE}/man.stamp)
  function(tasuki_manual SECTION PATTERN COMPONENT)
    install(DIRECTORY ${MADE}/man/man${SECTION} DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT ${COMPONENT}
            FILES_MATCHING PATTERN ${PATTERN})
  endfunction()
  tasuki_manual(1 mpiexec.1 runtime)
  tasuki_manual(1 mpirun.1 runtime)
  tasuki_manual(1 mpi[cf]*.1 development)
  tasuki_manual(1 tasuki*.1 tools)
  tasuki_manual(3 *.3 documentation)

  set(completion ${PROJECT_SOURCE_DIR}/docs/completion)
  function(tasuki_completion COMMAND FILE COMPONENT)
    install(FILES ${completion}/${FILE}.bash RENAME ${COMMAND}
            DESTINATION ${DATADIR}/bash-completion/completions COMPONENT ${COMPONENT})
    install(FILES ${completion}/${FILE}.zsh RENAME _${COMMAND}
            DESTINATION ${DATADIR}/zsh/site-functions COMPONENT ${COMPONENT})
    install(FILES ${completion}/${FILE}.fish RENAME ${COMMAND}.fish
            DESTINATION ${DATADIR}/fish/vendor_completions.d COMPONENT ${COMPONENT})
  endfunction()
  tasuki_completion(mpiexec mpiexec runtime)
  tasuki_completion(mpirun mpiexec runtime)
  tasuki_completion(tasuki tasuki tools)
endif()
if(SKBUILD)
  tasuki_wheel_libraries()
endif()
