# What this build lacks, since the machine that builds lacks it or an option says so. Each is said while cmake
# configures, and by mpiexec --info of the installed tree.
function(tasuki_left_out NAME LACK WITHOUT)
  message(STATUS "${NAME}: ${LACK}; ${WITHOUT}")
  set_property(GLOBAL APPEND_STRING PROPERTY TASUKI_LEFT_OUT " {\"${NAME}\", \"${LACK}\", \"${WITHOUT}\"},")
endfunction()

# Once all have been asked for: the list, for src/launch/report/library_info.cpp.
function(tasuki_write_left_out)
  get_property(list GLOBAL PROPERTY TASUKI_LEFT_OUT)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/left_out.hpp CONTENT "#define TASUKI_LEFT_OUT ${list}\n" @ONLY)
endfunction()
