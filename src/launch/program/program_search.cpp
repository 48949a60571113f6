// PATH search with the reason why not.
#include "launch/program/program_search.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tasuki::launch {
namespace {

/// 0 when the file can be executed, else why not.
int executable(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return errno;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  return access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

bool can_be_seen(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

std::string below(const std::string& directory, const std::string& name) {
  return directory.empty() || name[0] == '/' ? name : directory + "/" + name;
}

}  // namespace

FoundProgram find_program(const std::string& name, const std::string& directory, const char* path_variable) {
  FoundProgram found;
  found.path = name;
  if (name.empty()) {
    found.error = ENOENT;
    return found;
  }
  if (name.find('/') != std::string::npos) {
    found.error = executable(below(directory, name));
    return found;
  }
  found.searched_path = true;
  found.error = ENOENT;
  const std::string list = path_variable != nullptr ? path_variable : "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    const std::string place = end > begin ? list.substr(begin, end - begin) : ".";
    begin = end + 1;
    const std::string path = place + "/" + name;
    const int error = executable(below(directory, path));
    if (error == 0) {
      found.path = path;
      found.error = 0;
      return found;
    }
    // There, but not to be executed: more telling than "not found". A folder that may not be entered has
    // none.
    if (error == EACCES && can_be_seen(below(directory, path))) found.error = EACCES;
  }
  return found;
}

std::string path_of_program(const std::string& name, const std::string& directory,
                            const char* path_variable) {
  const FoundProgram program = find_program(name, directory, path_variable);
  return program.error == 0 ? below(directory, program.path) : std::string();
}

int cannot_run_status(int error) {
  return error == ENOENT || error == ENOTDIR ? 127 : 126;
}

}  // namespace tasuki::launch
