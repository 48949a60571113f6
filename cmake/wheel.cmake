# What a Python wheel has besides, since pip installs no packages of the system: the libraries that its programs need,
# in lib/tasuki/. Programs have libstdc++ inside; RPATH, not RUNPATH, leads these libraries to each other, too. A wheel
# has no links, but copies: so mpirun is a script, and each of these libraries has one name. libfabric and PMIx are
# looked for when a program runs: they are the machine's. There is no tasuki-simulate: SimGrid would come with it.
set(WHEEL_LIBRARIES ${CMAKE_INSTALL_LIBDIR}/tasuki)
set(with_libraries RUNTIME_DEPENDENCY_SET libraries)
file(RELATIVE_PATH WHEEL_LIBRARIES_FROM_BINDIR /${CMAKE_INSTALL_BINDIR} /${WHEEL_LIBRARIES})
file(RELATIVE_PATH WHEEL_LIBRARIES_FROM_TOOLS /${CMAKE_INSTALL_LIBEXECDIR}/tasuki /${WHEEL_LIBRARIES})
foreach(target mpiexec tasuki_source_lines spam)
  if(TARGET ${target})
    target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
    set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH "$ORIGIN/${WHEEL_LIBRARIES_FROM_BINDIR}")
  endif()
endforeach()
foreach(target spam mbl price algorithms message_ways network_ways)
  if(TARGET ${target})
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endforeach()

# The heap library opens it when a job begins.
find_library(WHEEL_MIMALLOC libmimalloc.so.2)
if(TARGET tasuki_heap AND WHEEL_MIMALLOC)
  set_target_properties(tasuki_heap PROPERTIES INSTALL_RPATH "$ORIGIN/tasuki")
  target_link_options(tasuki_heap PRIVATE -Wl,--disable-new-dtags)
  file(REAL_PATH ${WHEEL_MIMALLOC} mimalloc)
  install(FILES ${mimalloc} RENAME libmimalloc.so.2 DESTINATION ${ROOT}${WHEEL_LIBRARIES} COMPONENT runtime)
endif()

function(tasuki_wheel_libraries)
  install(RUNTIME_DEPENDENCY_SET libraries
          PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|gcc_s|stdc[+][+]|mpi_abi)[.]so"
          LIBRARY DESTINATION ${ROOT}${WHEEL_LIBRARIES} COMPONENT runtime)
  install(CODE "
    file(GLOB libraries \"${ROOT}${WHEEL_LIBRARIES}/*.so*\")
    foreach(library IN LISTS libraries)
      if(IS_SYMLINK \"\${library}\")
        file(REAL_PATH \"\${library}\" file)
        file(RENAME \"\${file}\" \"\${library}\")
      endif()
    endforeach()" COMPONENT runtime)
  file(WRITE ${MADE}/mpirun "#!/bin/sh\nexec \"$(dirname -- \"$(readlink -f -- \"$0\")\")/mpiexec\" \"$@\"\n")
  install(PROGRAMS ${MADE}/mpirun DESTINATION ${ROOT}${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
endfunction()
