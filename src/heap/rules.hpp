// Whether malloc() is to give global memory: what is known of this process, and what follows from it.
#pragma once

namespace tasuki::heap {

/// What the user asked for: TASUKI_HEAP, which mpiexec --heap sets.
enum class Wish { kAuto, kGlobal, kPrivate };

struct Facts {
  Wish wish = Wish::kAuto;
  int ranks = 1;               // of the job; 1 where there is no launcher
  bool in_front = true;        // malloc() of this process is ours, not another library's
  bool sanitizer = false;      // the program was built with one: it watches memory itself
  bool valgrind = false;       // the same, at run time
  bool address_limit = false;  // ulimit -v
  bool fork_is_safe = false;   // a child that goes on without exec gets a copy of its own
};

struct Decision {
  bool global = false;
  const char* reason = "";
};

Facts gather_facts(int ranks, bool in_front);

/// Pure.
Decision decide(const Facts& facts);

}  // namespace tasuki::heap
