# Writes TASUKI_COMMIT, of the sources that are built, into the header FILE: cmake -DSOURCE=… -DFILE=… -P commit.cmake.
# An unchanged header is left alone. `git archive` writes the commit into archive-commit.txt; it is empty in sources
# that are neither a repository of their own nor such an archive.
cmake_minimum_required(VERSION 3.25)
set(commit "")
if(EXISTS ${SOURCE}/.git)
  execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
else()
  file(STRINGS ${SOURCE}/cmake/archive-commit.txt archived REGEX "^[0-9a-f]+$")
  string(SUBSTRING "${archived}" 0 12 commit)
endif()
file(CONFIGURE OUTPUT ${FILE} CONTENT "#define TASUKI_COMMIT \"@commit@\"\n" @ONLY)
