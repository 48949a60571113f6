// Loops over particles are compiled for what processors may have, and the best is chosen when the program
// starts.
#pragma once

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__)
#define SPAM_VECTORISED __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define SPAM_VECTORISED
#endif
