// What the kernel offers here that Tasuki can do without, asked of it by trying; and what is done where it
// does not, or where what confines this process (a container's seccomp filter) forbids it.
#pragma once

#include <string>
#include <vector>

namespace tasuki::launch {

struct KernelFeature {
  const char* name;
  std::string refusal;  // of the system; empty: it is there
  const char* without;  // what is done without it: a sentence
};

std::vector<KernelFeature> look_for_kernel_features();

}  // namespace tasuki::launch
