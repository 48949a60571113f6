# Writes TASUKI_COMMIT, of the sources that are built, into the header FILE: cmake -DSOURCE=… -DFILE=… -P commit.cmake.
# An unchanged header is left alone. Without git, or in sources that are no repository of their own, it is empty.
set(commit "")
if(EXISTS ${SOURCE}/.git)
  execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
file(CONFIGURE OUTPUT ${FILE} CONTENT "#define TASUKI_COMMIT \"@commit@\"\n" @ONLY)
