// Files and folders under /tmp: nothing there is trusted before its owner is known.
#include "job/local/name_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/system/process_state.hpp"
#include "node/processors.hpp"

namespace tasuki::local {
namespace {

constexpr int kAttemptsMax = 1000;

std::string top_folder() {
  return "/tmp/tasuki-" + std::to_string(geteuid());
}

bool is_ours_alone(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & 077) == 0;
}

/// Whether the process that wrote the file has ended. A draft may be empty still: its name ends with the
/// writer's number.
bool is_of_the_dead(const std::string& folder, const std::string& name) {
  const std::string text = read_text(folder + "/" + name);
  const std::string mark = text.substr(0, text.find('\n'));
  if (!mark.empty()) return !is_there(mark);
  const std::string number = name.substr(name.rfind('.') + 1);
  return state_of_process(static_cast<int>(std::strtol(number.c_str(), nullptr, 10))).ended();
}

}  // namespace

std::string name_folder() {
  char space[64] = "";
  const ssize_t length = readlink("/proc/self/ns/pid", space, sizeof space - 1);  // "pid:[4026531836]"
  const std::string number(space, length > 0 ? static_cast<std::size_t>(length) : 0);
  return top_folder() + "/names-" +
         std::to_string(std::strtoul(number.c_str() + std::min<std::size_t>(5, number.size()), nullptr, 10));
}

/// Another user may have made it first, or a link in its place: then nothing is made in it. True also when it
/// has just been removed.
static bool make_own_folder(const std::string& path, std::string* error) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    const int reason = errno;
    *error = "cannot make " + path + ": " + std::strerror(reason);
    return reason == ENOENT;
  }
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || is_ours_alone(path)) return true;
  *error =
      path + " is not a folder of this user's alone (it belongs to user " + std::to_string(info.st_uid) + ")";
  return false;
}

bool name_folder_is_ours() {
  return is_ours_alone(top_folder()) && is_ours_alone(name_folder());
}

bool make_name_folder(const std::string& folder, std::string* error) {
  const std::string top = top_folder();
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    if (!make_own_folder(top, error)) return false;
    if (mkdir(folder.c_str(), 0700) != 0 && errno == ENOENT)
      continue;  // another found `top` empty, removed it
    if (!make_own_folder(folder, error)) return false;
    if (name_folder_is_ours()) return true;
  }
  *error = folder + " is removed again and again";
  return false;
}

std::string process_mark(int pid) {
  const ProcessState state = state_of_process(pid);
  if (!state.known() || state.ended()) return {};
  return std::to_string(pid) + " " + std::to_string(state.start_ticks);
}

bool is_there(const std::string& mark) {
  const int pid = static_cast<int>(std::strtol(mark.c_str(), nullptr, 10));
  return state_of_process(pid).letter == ProcessState::kUnknown || process_mark(pid) == mark;
}

void remove_names_of_the_dead() {
  const std::string folder = name_folder();
  if (!name_folder_is_ours()) return;
  DIR* entries = opendir(folder.c_str());
  if (entries == nullptr) return;
  while (const dirent* entry = readdir(entries)) {
    const std::string name = entry->d_name;
    if (name[0] != '.' && is_of_the_dead(folder, name)) unlink((folder + "/" + name).c_str());
  }
  closedir(entries);
  remove_name_folder_if_empty();
}

void remove_name_folder_if_empty() {
  if (!is_ours_alone(top_folder())) return;
  if (rmdir(name_folder().c_str()) == 0 || errno == ENOENT) rmdir(top_folder().c_str());
}

}  // namespace tasuki::local
