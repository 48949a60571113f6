// The entries of a directory that are numbers: processes in /proc, descriptors in /proc/PID/fd.
#pragma once

#include <dirent.h>

#include <cstdlib>
#include <string>

namespace tasuki::launch {

/// Calls `use` with each name in a directory that is a number. Returns false where it cannot be read.
template <class Use>
bool each_number(const std::string& directory, Use&& use) {
  DIR* entries = opendir(directory.c_str());
  if (entries == nullptr) return false;
  while (const dirent* entry = readdir(entries)) {
    char* end = nullptr;
    const long number = std::strtol(entry->d_name, &end, 10);
    if (end != entry->d_name && *end == '\0') use(static_cast<int>(number));
  }
  closedir(entries);
  return true;
}

}  // namespace tasuki::launch
