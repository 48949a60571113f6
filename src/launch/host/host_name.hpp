// The name of this machine, for messages.
#pragma once

#include <unistd.h>

#include <climits>
#include <string>

namespace tasuki::launch {

inline std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  gethostname(name, sizeof name - 1);
  return name[0] != '\0' ? name : "localhost";
}

}  // namespace tasuki::launch
