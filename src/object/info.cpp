// Info objects (MPI 10): ordered lists of key and value.
#include "object/info.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>
#include <iterator>
#include <string_view>

#include "object/api.hpp"
#include "object/objects.hpp"
#include "object/session.hpp"

namespace tasuki {
namespace {

auto position(Info& info, std::string_view key) {
  return std::find_if(info.entries.begin(), info.entries.end(),
                      [key](const auto& entry) { return entry.first == key; });
}

Code check_key(Process& process, const char* key) {
  if (key == nullptr || *key == '\0') return process.fail(kErrInfoKey, "key is empty, expected a name");
  return kSuccess;
}

void set_if_short(Info* info, const char* key, const std::string& value) {
  if (!value.empty() && value.size() <= kInfoValueMax) set_info(info, key, value);
}

/// The program's name and its arguments, joined by blanks, as the kernel has them.
std::pair<std::string, std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string words((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!words.empty() && words.back() == '\0') words.pop_back();
  const std::size_t end = words.find('\0');
  std::string arguments = end == std::string::npos ? std::string() : words.substr(end + 1);
  std::replace(arguments.begin(), arguments.end(), '\0', ' ');
  return {words.substr(0, end), arguments};
}

}  // namespace

const char* thread_level_name(ThreadLevel level) {
  switch (level) {
    case ThreadLevel::kSingle:
      return "MPI_THREAD_SINGLE";
    case ThreadLevel::kFunneled:
      return "MPI_THREAD_FUNNELED";
    case ThreadLevel::kSerialized:
      return "MPI_THREAD_SERIALIZED";
    case ThreadLevel::kMultiple:
      return "MPI_THREAD_MULTIPLE";
  }
  return "";
}

const std::string* find_info(const Info* info, const std::string& key) {
  if (info == nullptr) return nullptr;
  for (const auto& [name, value] : info->entries) {
    if (name == key) return &value;
  }
  return nullptr;
}

void set_info(Info* info, std::string key, std::string value) {
  const auto entry = position(*info, key);
  if (entry != info->entries.end()) {
    entry->second = std::move(value);
  } else {
    info->entries.emplace_back(std::move(key), std::move(value));
  }
}

void fill_environment_info(const Process& process, Info* info) {
  const auto [command, arguments] = command_line();
  set_if_short(info, "command", command);
  set_if_short(info, "argv", arguments);
  const std::string size = std::to_string(process.size);
  set_if_short(info, "maxprocs", size);
  set_if_short(info, "soft", size);
  utsname machine{};
  if (uname(&machine) == 0) {
    set_if_short(info, "host", machine.nodename);
    set_if_short(info, "arch", machine.machine);
  }
  char directory[PATH_MAX];
  if (getcwd(directory, sizeof directory) != nullptr) set_if_short(info, "wdir", directory);
  set_if_short(info, "thread_level", thread_level_name(process.thread_level));
}

namespace api {

Code info_create(Process&, Info** info) {
  *info = new Info;
  return kSuccess;
}

Code info_create_env(Process& process, int argc, char** argv, Info** info) {
  Info* made = new Info;
  fill_environment_info(process, made);
  if (argc > 0 && argv != nullptr && argv[0] != nullptr) {
    set_if_short(made, "command", argv[0]);
    std::string arguments;
    for (int index = 1; index < argc && argv[index] != nullptr; ++index) {
      if (index > 1) arguments += ' ';
      arguments += argv[index];
    }
    const auto entry = position(*made, "argv");
    if (entry != made->entries.end()) made->entries.erase(entry);
    set_if_short(made, "argv", arguments);
  }
  *info = made;
  return kSuccess;
}

Code info_dup(Process&, Info* info, Info** newinfo) {
  Info* made = new Info;
  made->entries = info->entries;
  *newinfo = made;
  return kSuccess;
}

Code info_free(Process& process, Info** info) {
  if ((*info)->predefined != 0) return process.fail(kErrInfo, "info = MPI_INFO_ENV, which cannot be freed");
  release(*info);
  *info = nullptr;
  return kSuccess;
}

Code info_set(Process& process, Info* info, const char* key, const char* value) {
  if (info->predefined != 0) return process.fail(kErrInfo, "info = MPI_INFO_ENV, which cannot be changed");
  if (const Code code = check_key(process, key)) return code;
  if (value == nullptr) return process.fail(kErrInfoValue, "value is null, expected a string");
  set_info(info, key, value);
  return kSuccess;
}

Code info_delete(Process& process, Info* info, const char* key) {
  if (info->predefined != 0) return process.fail(kErrInfo, "info = MPI_INFO_ENV, which cannot be changed");
  if (const Code code = check_key(process, key)) return code;
  const auto entry = position(*info, key);
  if (entry == info->entries.end())
    return process.fail(kErrInfoNokey, "key = \"%.64s\" is not in the info", key);
  info->entries.erase(entry);
  return kSuccess;
}

Code info_get_string(Process& process, Info* info, const char* key, std::string* value, bool* flag) {
  if (const Code code = check_key(process, key)) return code;
  const std::string* found = find_info(info, key);
  *flag = found != nullptr;
  if (found != nullptr) *value = *found;
  return kSuccess;
}

Code info_get_valuelen(Process& process, Info* info, const char* key, int* valuelen, bool* flag) {
  if (const Code code = check_key(process, key)) return code;
  const std::string* found = find_info(info, key);
  *flag = found != nullptr;
  if (found != nullptr) *valuelen = static_cast<int>(found->size());
  return kSuccess;
}

Code info_get_nkeys(Process&, Info* info, int* nkeys) {
  *nkeys = static_cast<int>(info->entries.size());
  return kSuccess;
}

Code info_get_nthkey(Process& process, Info* info, int n, std::string* key) {
  const int keys = static_cast<int>(info->entries.size());
  if (n < 0 || n >= keys) return process.fail(kErrArg, "n = %d, expected 0..%d", n, keys - 1);
  *key = info->entries[static_cast<std::size_t>(n)].first;
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
