// Where a program called MPI, for the doctor and for error messages.
#pragma once

/// Where a Fortran program called the procedure that makes this thread's call; null where C made it. The
/// Fortran libraries (src/fortran/) set it, since what the entry returns to is theirs.
extern "C" [[gnu::visibility("default")]] constinit thread_local const void* tasuki_fortran_site
    [[gnu::tls_model("initial-exec")]];

namespace tasuki {

/// `returns_to`: what __builtin_return_address(0) is in the entry.
[[gnu::always_inline]] inline const void* call_site(const void* returns_to) {
  return tasuki_fortran_site == nullptr ? returns_to : tasuki_fortran_site;
}

}  // namespace tasuki
