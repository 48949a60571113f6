// Where in the program a call of MPI is made.
//
// What the interposed function returns to is noted by thread, since the wrapper is a call of its own. A
// program in Fortran calls a library of ours that calls MPI's C function: that library says where it was
// called from.
#pragma once

#include <string>

namespace tasuki::trace {

/// Where this thread's last call of an interposed function returns to.
extern constinit thread_local const void* returns_to;

/// The instruction after the call that this thread makes.
const void* call_site();

/// "OFFSET INODE PATH" of the call that returns to this address, as tasuki-source-lines is asked: the offset
/// in the file in hexadecimal. Empty where the address is in no file's code.
std::string site_text(const void* address);

}  // namespace tasuki::trace
