// format(): printf into a string, for mpiexec's messages.
#pragma once

#include <string>

namespace tasuki::launch {

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

}  // namespace tasuki::launch
