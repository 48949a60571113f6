// A missing ierror, told in words. Programs with mpif.h have no interfaces, so a call without its last
// argument compiles, and the procedure stores its code wherever a register happens to point: the commonest
// crash of such programs. Where that is no memory the store faults, and this finds that it was such a store.
//
// Nothing is paid for this in a call: each store leaves its address in the section tasuki_ierror (give(),
// arguments.hpp), as kernels do for accesses to users' memory. The handler is there from MPI_Init on. All
// that it does not know goes to the handler that was there before; gfortran's prints a backtrace.
#include <csignal>
#include <cstdint>

#include "fortran/arguments.hpp"

extern "C" void tasuki_fortran_unwritable(const void* address);  // of the C library: ends the job

#if defined __x86_64__
#include <ucontext.h>

extern "C" {
[[gnu::visibility("hidden")]] extern const std::int32_t __start_tasuki_ierror[];
[[gnu::visibility("hidden")]] extern const std::int32_t __stop_tasuki_ierror[];
}

namespace tasuki::fortran {
namespace {

struct sigaction before;

bool stores_ierror(std::uintptr_t instruction) {
  for (const std::int32_t* entry = __start_tasuki_ierror; entry != __stop_tasuki_ierror; ++entry) {
    if (reinterpret_cast<std::uintptr_t>(entry) + static_cast<std::intptr_t>(*entry) == instruction)
      return true;
  }
  return false;
}

void look_at_fault(int signal, siginfo_t* info, void* context) {
  const auto* const state = static_cast<const ucontext_t*>(context);
  if (stores_ierror(static_cast<std::uintptr_t>(state->uc_mcontext.gregs[REG_RIP])))
    tasuki_fortran_unwritable(info->si_addr);  // null where no address is possible
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  sigaction(signal, &before, nullptr);  // the instruction is run again, and ends the process
}

}  // namespace

void watch_ierror() {
  struct sigaction now = {};
  if (sigaction(SIGSEGV, nullptr, &now) != 0 || now.sa_sigaction == look_at_fault) return;
  before = now;
  now = {};
  now.sa_sigaction = look_at_fault;
  now.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &now, nullptr);
}

}  // namespace tasuki::fortran
#else
namespace tasuki::fortran {
void watch_ierror() {}
}  // namespace tasuki::fortran
#endif
