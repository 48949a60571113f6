// The facts of this process that the rules of the heap need (heap/rules.hpp).
//
// They are read from the kernel by system calls alone: nothing here allocates, since it runs before there is
// a heap. What cannot be read counts as harmless.
//
// Thread safety: reads only; the environment must not change meanwhile.
#pragma once

#include "heap/rules.hpp"

namespace tasuki::heap {

/// Gathers the facts. `environment` is the array of "NAME=value"; `own_malloc`: where this library's malloc
/// lies, null for a program that has none (mpiexec --info).
Facts gather_facts(const char* const* environment, const void* own_malloc);

/// The value of `name` in `environment`, or null.
const char* find_variable(const char* const* environment, const char* name);

/// The entry in brackets of a line like "always [madvise] never". False when there is none.
bool is_chosen(const char* line, const char* entry);

}  // namespace tasuki::heap
