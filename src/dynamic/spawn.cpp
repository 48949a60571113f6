// Spawning (MPI 11.8): the root has mpiexec start the programs, then both sides meet at a port of the root's.
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/user_memory.hpp"
#include "base/variables/settings.hpp"
#include "coll/byte_collectives.hpp"
#include "communicator/api.hpp"
#include "dynamic/api.hpp"
#include "dynamic/dynamic.hpp"
#include "job/directory.hpp"
#include "job/launcher.hpp"
#include "object/comm.hpp"
#include "object/info.hpp"
#include "object/objects.hpp"

namespace tasuki {
namespace {

/// The arguments of a spawn at its root.
struct Programs {
  int count = 0;
  char** commands = nullptr;
  char*** arguments = nullptr;  // null: MPI_ARGVS_NULL
  const int* ranks = nullptr;
  Info* const* infos = nullptr;
};

bool is_this_machine(const std::string& host) {
  char own[HOST_NAME_MAX + 1] = "";
  gethostname(own, sizeof own - 1);
  const std::string full = own;
  return host == full || host == full.substr(0, full.find('.')) || host == "localhost" ||
         host == "127.0.0.1" || host == "::1";
}

/// The next number of a soft triplet; `*at` goes behind it.
bool take_number(const char** at, long* value) {
  char* end = nullptr;
  *value = std::strtol(*at, &end, 10);
  const bool good = end != *at && *value >= INT_MIN && *value <= INT_MAX;
  *at = end;
  return good;
}

/// The largest number up to `most` in a list like "1,4:8,10:20:2" (MPI 11.8.4), -1 when there is none, -2
/// when it is no such list.
int largest_in(const char* list, int most) {
  int largest = -1;
  for (const char* at = list;; ++at) {
    long begin = 0;
    long end = 0;
    long step = 1;
    if (!take_number(&at, &begin)) return -2;
    end = begin;
    if (*at == ':' && !take_number(&++at, &end)) return -2;
    if (*at == ':' && (!take_number(&++at, &step) || step == 0)) return -2;
    if (step < 0) {
      const long first = begin;
      begin = first + (end - first) / step * step;  // the same numbers, ascending
      end = first;
      step = -step;
    }
    const long last = std::min<long>(end, most);
    if (last >= begin) {
      const long member = begin + (last - begin) / step * step;
      if (member >= 0) largest = std::max(largest, static_cast<int>(member));
    }
    if (*at == '\0') return largest;
    if (*at != ',') return -2;
  }
}

/// The reserved keys that ask for more than there is: another architecture than this machine's, a file with
/// more such keys.
Code refuse_keys(Process& process, const Info* info) {
  utsname machine{};
  const std::string* arch = find_info(info, "arch");
  if (arch != nullptr && uname(&machine) == 0 && *arch != machine.machine)
    return process.fail(kErrSpawn, "info: arch = \"%s\" is not this machine's architecture, %s",
                        arch->c_str(), machine.machine);
  if (const std::string* file = find_info(info, "file"))
    return process.fail(
        kErrSpawn, "info: file = \"%s\": files of further keys are not read, expected the keys themselves",
        file->c_str());
  return kSuccess;
}

constexpr std::size_t kWordsBytesMax = 2 << 20;  // of a command and its arguments; systems take no more

/// One program as mpiexec is to start it.
Code read_program(Process& process, const Programs& programs, int index, SpawnProgram* program) {
  const char* command = programs.commands[index];
  const int ranks = programs.ranks[index];
  const Info* info = programs.infos[index];
  if (command == nullptr || *command == '\0') {
    const char* value = command == nullptr ? "NULL" : "\"\"";
    return programs.count == 1
               ? process.fail(kErrArg, "command = %s, expected the name of a program", value)
               : process.fail(kErrArg, "array_of_commands[%d] = %s, expected the name of a program", index,
                              value);
  }
  if (ranks < 0) {
    return programs.count == 1
               ? process.fail(kErrArg, "maxprocs = %d, expected 0 or more", ranks)
               : process.fail(kErrArg, "array_of_maxprocs[%d] = %d, expected 0 or more", index, ranks);
  }
  std::size_t left = kWordsBytesMax;
  char** words = programs.arguments != nullptr ? programs.arguments[index] : nullptr;
  for (const char* word = command; word != nullptr; word = words == nullptr ? nullptr : *words++) {
    const std::size_t bytes = strnlen(word, left) + 1;
    if (bytes > left)
      return process.fail(kErrSpawn,
                          "command and argv have more than %zu bytes, expected what a program takes",
                          kWordsBytesMax);
    left -= bytes;
    program->command.emplace_back(word);
  }
  program->ranks = ranks;
  if (const std::string* soft = find_info(info, "soft")) {
    program->ranks = largest_in(soft->c_str(), ranks);
    if (program->ranks == -2)
      return process.fail(kErrInfoValue, "info: soft = \"%s\", expected a list like \"1,4:8,10:20:2\"",
                          soft->c_str());
    if (program->ranks < 0)
      return process.fail(kErrSpawn, "info: soft = \"%s\" has no number from 0 to maxprocs = %d",
                          soft->c_str(), ranks);
  }
  const std::string* host = find_info(info, "host");
  if (host != nullptr && process.directory.spans_hosts()) {
    program->hosts = *host;
  } else if (host != nullptr && !is_this_machine(*host)) {
    return process.fail(kErrSpawn, "info: host = \"%s\" is not this machine, on which all ranks run",
                        host->c_str());
  }
  if (const Code code = refuse_keys(process, info)) return code;
  const std::string* directory = find_info(info, "wdir");
  if (directory == nullptr) directory = find_info(info, "wd");
  if (directory != nullptr) program->directory = *directory;
  if (const std::string* path = find_info(info, "path")) program->path = *path;
  if (const std::string* handler = find_info(info, "mpi_initial_errhandler")) {
    if (!is_initial_errhandler(handler->c_str()))
      return process.fail(kErrInfoValue, "info: mpi_initial_errhandler = \"%s\", expected %s",
                          handler->c_str(), kInitialErrhandlers);
    program->initial_errhandler = *handler;
  }
  return kSuccess;
}

/// What the root sends to all besides its error.
struct Counts {
  std::int32_t asked = 0;
  std::int32_t programs = 0;
};

Code read_programs(Process& process, const Programs& programs, SpawnRequest* request, Counts* counts) {
  if (programs.count < 1)
    return process.fail(kErrArg, "count = %d, expected 1 or more programs", programs.count);
  std::int64_t asked = 0;
  std::int64_t started = 0;
  for (int index = 0; index < programs.count; ++index) asked += std::max(0, programs.ranks[index]);
  if (asked > INT_MAX)
    return process.fail(kErrArg, "maxprocs = %lld in all, which is too many", static_cast<long long>(asked));
  *counts = {static_cast<std::int32_t>(asked), programs.count};
  if (!try_resize(&request->programs, static_cast<std::size_t>(programs.count)))
    return fail_memory(process, "count", programs.count);
  for (int index = 0; index < programs.count; ++index) {
    SpawnProgram& program = request->programs[static_cast<std::size_t>(index)];
    if (const Code code = read_program(process, programs, index, &program)) return code;
    started += program.ranks;
  }
  if (started > 0) return kSuccess;
  return process.fail(kErrArg, "maxprocs = %lld in all, expected 1 or more processes to start",
                      static_cast<long long>(asked));
}

/// The root's part: the programs run, and their first rank is on the road.
Code start_programs(Process& process, const Programs& programs, Counts* counts, std::vector<int>* codes,
                    Ref<Comm>* road) {
  SpawnRequest request;
  Code code = read_programs(process, programs, &request, counts);
  if (code == kSuccess && !has_memory_for(static_cast<std::size_t>(counts->asked), 2 * sizeof(int))) {
    code = fail_memory(process, "maxprocs", counts->asked);
    counts->asked = 0;
  }
  codes->assign(static_cast<std::size_t>(counts->asked), kErrSpawn);
  if (code != kSuccess) return code;
  Port* port = nullptr;
  if ((code = make_port(process, reach_of_family(process), &port)) != kSuccess) return code;
  request.parent_port = port->name;
  request.spawner = process.directory.job_id();
  std::string error;
  if (process.dynamic->ask_outside([&] { return process.launcher.spawn(request, &error); })) {
    code = accept_one(process, *port, true, -1, road);
  } else {
    code = process.fail(kErrSpawn, "%s", error.c_str());
  }
  drop_port(process, port);
  if (code != kSuccess) return code;
  auto next = codes->begin();
  for (int index = 0; index < programs.count; ++index) {
    std::fill_n(next, request.programs[static_cast<std::size_t>(index)].ranks, kSuccess);
    next += programs.ranks[index];
  }
  return kSuccess;
}

Code spawn(Process& process, const Programs& programs, int root, Comm& comm, Comm** intercomm,
           std::vector<int>* errcodes) {
  if (comm.is_inter())
    return process.fail(kErrComm, "comm is an intercommunicator, expected an intracommunicator");
  Counts counts;
  std::vector<int> codes;
  Ref<Comm> road;
  Code mine = kSuccess;
  if (comm.rank == root) mine = start_programs(process, programs, &counts, &codes, &road);
  if (const Code code = bcast_bytes(comm, &counts, sizeof counts, root)) return code;
  if (counts.asked < 0) process.launcher.end_damaged(comm.endpoint(root), "the number of processes to spawn");
  if (!try_resize(&codes, static_cast<std::size_t>(counts.asked)))
    return fail_memory(process, "maxprocs", counts.asked);
  const auto bytes = static_cast<Count>(codes.size() * sizeof(int));
  if (const Code code = bcast_bytes(comm, codes.data(), bytes, root)) return code;
  *errcodes = codes;
  if (const Code code = share_outcome(comm, root, mine)) return code;
  return api::intercomm_create(process, &comm, root, road.get(), 0, 0, intercomm);
}

}  // namespace

namespace api {

Code comm_spawn(Process& process, const char* command, char** argv, int maxprocs, Info* info, int root,
                Comm* comm, Comm** intercomm, std::vector<int>* array_of_errcodes) {
  char* commands[] = {const_cast<char*>(command)};
  char** arguments[] = {argv};
  return spawn(process, {1, commands, arguments, &maxprocs, &info}, root, *comm, intercomm,
               array_of_errcodes);
}

Code comm_spawn_multiple(Process& process, int count, char** array_of_commands, char*** array_of_argv,
                         const int* array_of_maxprocs, Info* const* array_of_info, int root, Comm* comm,
                         Comm** intercomm, std::vector<int>* array_of_errcodes) {
  return spawn(process, {count, array_of_commands, array_of_argv, array_of_maxprocs, array_of_info}, root,
               *comm, intercomm, array_of_errcodes);
}

}  // namespace api
}  // namespace tasuki
