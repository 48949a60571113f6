// Published names (MPI 11.9.4): port names that any job of the same user on this machine can look up.
//
// A name is a small file in a folder that belongs to the user alone: the service, the port, and the process
// that publishes it. A process removes its names when it finalises. Names of a process that died are
// recognised by its number and starting time, and removed by the next process that finds them.
//
// Where a job's ranks, or those that it spawns, may be on several hosts, mpiexec keeps the name besides, for
// all of its jobs.
//
// Processes in different PID namespaces may share the folder; they do not see each other's names, because
// they could not reach each other's ports.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "dynamic/api.hpp"
#include "dynamic/dynamic.hpp"
#include "job/directory.hpp"
#include "job/launcher.hpp"
#include "job/local/name_folder.hpp"

namespace tasuki {
namespace {

constexpr std::size_t kFileNameBytesMax = 180;
constexpr std::size_t kEntryBytesMax = 16 * 1024;

struct Entry {
  std::string service;
  std::string port;
  std::string publisher;
};

std::string read_file(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return text;
  char bytes[kEntryBytesMax];
  const ssize_t count = read(fd, bytes, sizeof bytes);
  if (count > 0) text.assign(bytes, static_cast<std::size_t>(count));
  close(fd);
  return text;
}

/// A file's name for any service: its letters and digits, and a number that keeps others apart.
std::string file_name(const std::string& service) {
  std::string name;
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char character : service) {
    const bool plain = std::isalnum(static_cast<unsigned char>(character)) || character == '-';
    if (name.size() < kFileNameBytesMax) name += plain ? character : '_';
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3u;
  }
  char number[24];
  std::snprintf(number, sizeof number, ".%016llx", static_cast<unsigned long long>(hash));
  return name + number;
}

/// The lines of an entry: publisher, port, then the service to the end.
bool read_entry(const std::string& path, Entry* entry) {
  const std::string text = read_file(path);
  const std::size_t first = text.find('\n');
  const std::size_t second = first == std::string::npos ? first : text.find('\n', first + 1);
  if (second == std::string::npos) return false;
  *entry = {text.substr(second + 1), text.substr(first + 1, second - first - 1), text.substr(0, first)};
  return true;
}

bool is_alive(const Entry& entry) {
  return local::is_there(entry.publisher);
}

/// Writes the entry under another name and then gives it its own, so that no process reads half of it and
/// only one can have it. 0 or errno.
int write_entry(const std::string& folder, const std::string& name, const Entry& entry) {
  const std::string path = folder + "/" + name;
  const std::string draft = path + "." + std::to_string(getpid());
  int fd = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  std::string error;
  while (fd < 0 && errno == ENOENT &&
         local::make_name_folder(folder, &error)) {  // removed since it was empty
    fd = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  }
  if (fd < 0) return errno;
  const std::string text = entry.publisher + "\n" + entry.port + "\n" + entry.service;
  int result = 0;
  if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    result = errno != 0 ? errno : EIO;
  close(fd);
  if (result == 0 && link(draft.c_str(), path.c_str()) != 0) result = errno;
  unlink(draft.c_str());
  return result;
}

Code check_service(Process& process, const char* service_name) {
  const std::size_t length = strnlen(service_name, kEntryBytesMax);
  if (length > 0 && length <= kEntryBytesMax / 2) return kSuccess;
  return process.fail(kErrArg, "service_name has %zu characters, expected 1 to %zu", length,
                      kEntryBytesMax / 2);
}

/// Has mpiexec know of it, where the job's family is on several hosts.
bool tell_launcher(Process& process, NameRequest::Verb verb, const std::string& service,
                   const std::string& port, std::string* error) {
  std::string nothing;
  return !process.directory.spans_hosts() ||
         process.launcher.ask_about_name({verb, service, port}, &nothing, error);
}

void withdraw(Process& process, const PublishedName& name) {
  std::string error;
  unlink(name.path.c_str());
  tell_launcher(process, NameRequest::Verb::kUnpublish, name.service, name.port, &error);
}

/// What came of publishing.
struct Publication {
  int failed = 0;     // errno
  Entry other;        // that has the name, where it is EEXIST
  std::string error;  // else: that of the folder, or of mpiexec
};

Publication publish(Process& process, const std::string& folder, const std::string& name, const Entry& mine) {
  Publication result;
  if (!local::make_name_folder(folder, &result.error)) {
    result.error = "no names can be published: " + result.error;
    return result;
  }
  const std::string path = folder + "/" + name;
  result.failed = write_entry(folder, name, mine);
  if (result.failed == EEXIST && (!read_entry(path, &result.other) || !is_alive(result.other))) {
    unlink(path.c_str());
    result.failed = write_entry(folder, name, mine);
  }
  if (result.failed == 0 &&
      !tell_launcher(process, NameRequest::Verb::kPublish, mine.service, mine.port, &result.error)) {
    unlink(path.c_str());
    result.error = "service_name = \"" + mine.service + "\": " + result.error;
  }
  return result;
}

/// What was found of a name.
struct Finding {
  bool is_found = false;
  bool is_of_the_dead = false;
  Entry entry;
};

Finding look_up(Process& process, const std::string& service) {
  Finding finding;
  std::string error;
  if (process.directory.spans_hosts() &&
      process.launcher.ask_about_name({NameRequest::Verb::kLookUp, service, {}}, &finding.entry.port,
                                      &error) &&
      !finding.entry.port.empty()) {
    finding.is_found = true;
    return finding;
  }
  const std::string path = local::name_folder() + "/" + file_name(service);
  finding.is_found =
      local::name_folder_is_ours() && read_entry(path, &finding.entry) && finding.entry.service == service;
  finding.is_of_the_dead = finding.is_found && !is_alive(finding.entry);
  if (finding.is_of_the_dead) unlink(path.c_str());
  return finding;
}

}  // namespace

Dynamic::~Dynamic() {
  for (const PublishedName& name : published) withdraw(process, name);
  if (!published.empty()) local::remove_name_folder_if_empty();
}

namespace api {

Code publish_name(Process& process, const char* service_name, Info*, const char* port_name) {
  if (const Code code = check_service(process, service_name)) return code;
  if (std::strchr(port_name, '\n') != nullptr || *port_name == '\0' ||
      std::strlen(port_name) > kEntryBytesMax / 4)
    return process.fail(kErrPort, "port_name = \"%.100s\", expected a name that MPI_Open_port gave",
                        port_name);
  const std::string folder = local::name_folder();
  const std::string name = file_name(service_name);
  const std::string path = folder + "/" + name;
  const Entry mine{service_name, port_name, local::process_mark(getpid())};
  const Publication result =
      process.dynamic->ask_outside([&] { return publish(process, folder, name, mine); });
  if (result.failed == EEXIST) {
    return process.fail(kErrService, "service_name = \"%s\" is published already, by process %ld",
                        service_name, std::strtol(result.other.publisher.c_str(), nullptr, 10));
  }
  if (result.failed != 0)
    return process.fail(kErrService, "cannot write %s: %s", path.c_str(), std::strerror(result.failed));
  if (!result.error.empty()) return process.fail(kErrService, "%s", result.error.c_str());
  process.dynamic->published.push_back({service_name, port_name, path});
  return kSuccess;
}

Code unpublish_name(Process& process, const char* service_name, Info*, const char* port_name) {
  std::vector<PublishedName>& published = process.dynamic->published;
  const auto found = std::find_if(published.begin(), published.end(),
                                  [&](const PublishedName& name) { return name.service == service_name; });
  if (found == published.end())
    return process.fail(kErrService, "service_name = \"%s\", expected one that this process has published",
                        service_name);
  if (found->port != port_name) {
    return process.fail(kErrPort, "port_name = \"%s\", but \"%s\" is published as \"%s\"", service_name,
                        port_name, found->port.c_str());
  }
  const PublishedName name = std::move(*found);
  published.erase(found);
  process.dynamic->ask_outside([&] {
    withdraw(process, name);
    local::remove_name_folder_if_empty();
    return true;
  });
  return kSuccess;
}

Code lookup_name(Process& process, const char* service_name, Info*, std::string* port_name) {
  if (const Code code = check_service(process, service_name)) return code;
  const std::string service = service_name;
  const Finding finding = process.dynamic->ask_outside([&] { return look_up(process, service); });
  if (finding.is_of_the_dead) {
    return process.fail(kErrName, "service_name = \"%s\" was published by process %ld, which has ended",
                        service_name, std::strtol(finding.entry.publisher.c_str(), nullptr, 10));
  }
  if (finding.is_found) {
    *port_name = finding.entry.port;
    return kSuccess;
  }
  return process.fail(
      kErrName,
      process.directory.spans_hosts()
          ? "service_name = \"%s\" is not published by a job of this mpiexec, nor by another "
            "one on this host; between mpiexecs on different hosts pass the port's name itself"
          : "service_name = \"%s\" is not published on this host; between mpiexecs on "
            "different hosts pass the port's name itself",
      service_name);
}

}  // namespace api
}  // namespace tasuki
