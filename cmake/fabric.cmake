# libfabric's headers, for messages between hosts. Optional: without them only jobs of one host can be run. The
# library itself is not linked; it is looked for when a program needs it.
#
# Sets TASUKI_FABRIC and TASUKI_FABRIC_INCLUDE.
option(TASUKI_WITH_FABRIC "send between hosts over libfabric where its headers are found" ON)
set(TASUKI_FABRIC OFF)
set(lack "TASUKI_WITH_FABRIC is OFF")
if(TASUKI_WITH_FABRIC)
  set(lack "no headers of 1.17 or newer (libfabric-dev)")
  find_path(TASUKI_FABRIC_INCLUDE rdma/fi_endpoint.h)
  if(TASUKI_FABRIC_INCLUDE)
    file(STRINGS ${TASUKI_FABRIC_INCLUDE}/rdma/fabric.h version REGEX "define FI_(MAJOR|MINOR)_VERSION")
    string(REGEX REPLACE "[^0-9;]" "" version "${version}")
    string(REPLACE ";" "." version "${version}")
    if(version VERSION_GREATER_EQUAL 1.17)
      set(TASUKI_FABRIC ON)
    endif()
  endif()
endif()
if(NOT TASUKI_FABRIC)
  tasuki_left_out(libfabric "${lack}" "jobs are of one host")
endif()
