# The generated files: the C and Fortran entries, the tables of both ABIs, the MPICH ABI's mpi.h, the sources of Fortran's
# modules, the wrappers of the trace, the functions' manual pages. bindgen/ makes them of the MPI standard's
# machine-readable form (the Python package pympistandard) and of the api.hpp files below src/.
#
# Sets TASUKI_GENERATED, the folder with these files, and TASUKI_INCLUDES, the folders that #include "..." is looked up in.
# A source archive (make dist) has the files in generated/. Elsewhere bindgen writes them into the build tree when CMake
# configures, and CMake configures again when one of bindgen's inputs has changed. The manual pages depend on every source
# of the core, so they have a rule of their own (cmake/install.cmake).
set(TASUKI_GENERATED ${PROJECT_SOURCE_DIR}/generated)
set(TASUKI_INCLUDES ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
if(EXISTS ${TASUKI_GENERATED})
  message(STATUS "Generated files: those of the source archive")
  return()
endif()
set(TASUKI_GENERATED ${PROJECT_BINARY_DIR}/generated)
set(TASUKI_INCLUDES ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR})

# The Python that has the package: Python3_EXECUTABLE, or else the first in PATH or the one of make build.
file(STRINGS ${PROJECT_SOURCE_DIR}/tools/requirements-build.txt wanted REGEX "^pympistandard==")
string(REPLACE "pympistandard==" "" version ${wanted})
set(candidates ${Python3_EXECUTABLE})
if(NOT candidates)
  set(candidates python3 ${PROJECT_SOURCE_DIR}/build/venv/bin/python)
endif()
set(TASUKI_BINDGEN "")
foreach(candidate IN LISTS candidates)
  set(program "import importlib.metadata as m; raise SystemExit(m.version('pympistandard') != '${version}')")
  execute_process(COMMAND ${candidate} -c "${program}" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed EQUAL 0)
    set(TASUKI_BINDGEN ${candidate} -B -m bindgen)
    break()
  endif()
endforeach()
if(NOT TASUKI_BINDGEN)
  list(JOIN candidates " and " candidates)
  message(FATAL_ERROR "No Python 3 with pympistandard ${version} was found (tried ${candidates}): run pip install ${wanted} "
                      "in a virtual environment and give cmake -DPython3_EXECUTABLE=ENVIRONMENT/bin/python, or build "
                      "from the archive of make dist, which needs neither")
endif()
list(GET TASUKI_BINDGEN 0 candidate)
message(STATUS "Generated files: by bindgen, run by ${candidate}")

file(GLOB TASUKI_BINDGEN_INPUTS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bindgen/*.py ${PROJECT_SOURCE_DIR}/bindgen/spec/*)
file(GLOB_RECURSE interfaces CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/api.hpp)
file(GLOB fortran CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/fortran/*.hpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TASUKI_BINDGEN_INPUTS} ${interfaces} ${fortran}
             ${PROJECT_SOURCE_DIR}/tools/requirements-build.txt)
execute_process(COMMAND ${TASUKI_BINDGEN} sources ${TASUKI_GENERATED} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                RESULT_VARIABLE failed)
if(NOT failed EQUAL 0)
  message(FATAL_ERROR "bindgen could not write the generated files; the lines above say why")
endif()
