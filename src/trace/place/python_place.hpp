// The line of a Python program that makes a call of MPI. What calls is mpi4py's code, whose place says
// nothing.
//
// Python's functions are found when the program has them (3.9 and later), so the recorder needs no Python. A
// frame may be looked at by the thread that holds Python's lock, which mpi4py gives away for the call. It is
// taken again for a moment, but only where the calling thread is the only one that Python knows: then nobody
// else holds it, and the recorder waits for nobody. Other calls have no such place.
#pragma once

#include <string>

namespace tasuki::trace {

/// A line of Python's. One for each that called, never deleted.
struct PythonPlace {
  std::string text;  // "LINE FUNCTION FILE"
};

/// Which line the calling thread is in: of the innermost frame that is neither mpi4py's nor the import
/// system's. Null where there is none, or it is not known.
const PythonPlace* python_place();

}  // namespace tasuki::trace
