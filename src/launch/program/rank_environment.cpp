// Inheriting, scrubbing, setting.
#include "launch/program/rank_environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <filesystem>

#include "heap/choice/facts.hpp"
#include "heap/interface.hpp"
#include "job/local/job_segment.hpp"
#include "job/other_launchers.hpp"
#include "launch/base/format.hpp"

namespace tasuki::launch {
namespace {

/// A job of ours around this one: its ranks are not this job's.
bool is_outer_job(const std::string& name) {
  for (const char* own :
       {local::kJobFdName, local::kJobPidName, local::kJobIdName, local::kRankName, local::kSizeName,
        local::kLauncherIdName, "TASUKI_SINGLETON", local::kTuningTableName, "TASUKI_TRACE_PART",
        "TASUKI_TRACE_WORLD", kHeapReasonVariable}) {
    if (name == own) return true;
  }
  return false;
}

bool inherits(const Application& application, const std::string& name) {
  if (is_variable_of_other_launcher(name.c_str()) || is_outer_job(name)) return false;
  switch (application.inherit) {
    case Inherit::kAll:
      return true;
    case Inherit::kNone:
      return false;
    case Inherit::kListed:
      break;
  }
  const std::vector<std::string>& names = application.inherited;
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// mpiexec's own directory, or an empty string.
std::string bin_directory() {
  char own[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", own, sizeof own);
  if (length <= 0 || length == static_cast<ssize_t>(sizeof own)) return {};
  std::string directory(own, static_cast<std::size_t>(length));
  directory.resize(directory.rfind('/'));
  return directory;
}

/// A file of our installation, or an empty string. `directory_from_bin` leads there from mpiexec's.
std::string installed(const char* directory_from_bin, const char* name, int access_mode) {
  const std::string bin = bin_directory();
  if (bin.empty()) return {};
  const std::string path = bin + "/" + directory_from_bin + "/" + name;
  return access(path.c_str(), access_mode) == 0 ? path : std::string();
}

}  // namespace

RankEnvironment::RankEnvironment(char** inherited, const Options& options, const Application& application) {
  for (char** entry = inherited; *entry != nullptr; ++entry) {
    const char* equals = std::strchr(*entry, '=');
    if (equals == nullptr || equals == *entry) continue;
    const std::string name(*entry, static_cast<std::size_t>(equals - *entry));
    if (inherits(application, name)) entries_.emplace_back(*entry);
  }
  for (const Assignment& assignment : options.environment) set(assignment.name, assignment.value);
  for (const Assignment& assignment : application.environment) set(assignment.name, assignment.value);
}

std::string* RankEnvironment::find(const std::string& name) {
  for (std::string& entry : entries_) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.compare(0, name.size(), name) == 0) {
      return &entry;
    }
  }
  return nullptr;
}

void RankEnvironment::set(const std::string& name, const std::string& value) {
  std::string* entry = find(name);
  if (entry == nullptr) entry = &entries_.emplace_back();
  *entry = name + "=" + value;
}

void RankEnvironment::set_if_absent(const std::string& name, const std::string& value) {
  if (find(name) == nullptr) set(name, value);
}

void RankEnvironment::append_path(const std::string& name, const std::string& directory) {
  const char* path = get(name);
  set(name, path == nullptr || *path == '\0' ? directory : std::string(path) + ":" + directory);
}

void RankEnvironment::preload(const std::string& library) {
  const std::string name = library.substr(library.rfind('/'));
  const char* before = get("LD_PRELOAD");
  std::string list;
  for (const char* entry = before != nullptr ? before : ""; *entry != '\0';) {
    const std::size_t length = std::strcspn(entry, ": ");
    const std::string path(entry, length);
    if (length > 0 && !path.ends_with(name)) list += path + ":";
    entry += length + (entry[length] != '\0' ? 1 : 0);
  }
  set("LD_PRELOAD", list + library);
}

void RankEnvironment::let_sanitizer_start() {
  constexpr char kName[] = "ASAN_OPTIONS";
  constexpr char kOption[] = "verify_asan_link_order";
  const char* options = get(kName);
  const std::string before = options != nullptr ? options : "";
  if (before.find(kOption) != std::string::npos) return;
  set(kName, before + (before.empty() ? "" : ":") + kOption + "=0");
}

const char* RankEnvironment::get(const std::string& name) const {
  const std::string* entry = const_cast<RankEnvironment*>(this)->find(name);
  return entry != nullptr ? entry->c_str() + name.size() + 1 : nullptr;
}

std::vector<char*> RankEnvironment::pointers() {
  std::vector<char*> pointers;
  pointers.reserve(entries_.size() + 1);
  for (std::string& entry : entries_) pointers.push_back(entry.data());
  pointers.push_back(nullptr);
  return pointers;
}

void set_job_variables(RankEnvironment& environment, const JobVariables& job, int rank) {
  environment.set(local::kJobFdName, std::to_string(job.fd));
  environment.set(local::kJobPidName, std::to_string(job.pid));
  environment.set(local::kJobIdName, format("%llx", static_cast<unsigned long long>(job.job_id)));
  environment.set(local::kSizeName, std::to_string(job.size));
  environment.set(local::kRankName, std::to_string(rank));
}

std::string installed_library() {
  return installed(TASUKI_LIBDIR_FROM_BINDIR, "libmpi.so.12", R_OK);
}

heap::Verdict heap_verdict(const char* wish, int ranks, const std::vector<std::string>& command,
                           const CommandPlace& place) {
  heap::Facts facts = heap::gather_facts(environ, nullptr);
  facts.ranks = ranks;
  add_program_facts(command, place, &facts);
  return heap::decide(heap::read_wish(wish), facts);
}

std::string installed_heap() {
  return installed(TASUKI_LIBDIR_FROM_BINDIR, "libtasuki_heap.so", R_OK);
}

std::string installed_trace() {
  return installed(TASUKI_LIBDIR_FROM_BINDIR, "libtasuki_trace.so", R_OK);
}

std::string installed_command(const char* name) {
  return installed(".", name, X_OK);
}

std::string installed_program(const char* name) {
  return installed(TASUKI_LIBEXECDIR_FROM_BINDIR, name, X_OK);
}

std::string configuration_path(const char* name) {
  const std::string bin = bin_directory();
  if (bin.empty()) return {};
  const std::filesystem::path path = bin + "/" TASUKI_SYSCONFDIR_FROM_BINDIR "/tasuki/" + name;
  return path.lexically_normal();
}

}  // namespace tasuki::launch
