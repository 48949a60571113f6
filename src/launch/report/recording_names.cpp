// Names of recordings: see recording.hpp.
#include "launch/report/recording_names.hpp"

#include <unistd.h>

#include <algorithm>
#include <climits>

namespace tasuki::launch {
namespace {

std::string last_word(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::string name_after(const std::vector<std::string>& command, const std::string& ending) {
  std::string name = last_word(command[0]);
  if (name.starts_with("python")) {
    const auto is_script = [](const std::string& word) { return word.ends_with(".py"); };
    const auto script = std::find_if(command.begin(), command.end(), is_script);
    if (script != command.end()) name = last_word(*script);
  }
  if (name.ends_with(".py")) name.resize(name.size() - 3);
  return name + ending;
}

std::string absolute_path(const std::string& path) {
  char here[PATH_MAX];
  if (path[0] == '/' || getcwd(here, sizeof here) == nullptr) return path;
  return std::string(here) + "/" + path;
}

}  // namespace tasuki::launch
