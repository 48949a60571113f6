// Words for ssh and srun.
#include "launch/allocation/start_command.hpp"

#include <string_view>

#include "launch/base/format.hpp"

namespace tasuki::launch {
namespace {

/// As a shell on the other side takes it for one word.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-=:,@%";
  if (word.find_first_not_of(kPlain) == std::string::npos && !word.empty()) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string agent_path(const RemoteStarter& starter, const std::string& own_path) {
  return starter.prefix.empty() ? own_path : starter.prefix + "/bin/mpiexec";
}

}  // namespace

std::string RemoteStarter::name() const {
  if (kind == RemoteStart::kCommand) return command.front();
  return kind == RemoteStart::kSlurm ? "srun" : "ssh";
}

std::vector<std::string> command_on_host(const RemoteStarter& starter, const HostSlots& host,
                                         const std::vector<std::string>& program) {
  std::vector<std::string> words;
  switch (starter.kind) {
    case RemoteStart::kSlurm:
      // Processors are dealt by the agent, which lifts what srun bound it to.
      words = {"srun",      "--nodelist=" + host.name,
               "--nodes=1", "--ntasks=1",
               "--overlap", "--mpi=none",
               "--mem=0",   "--unbuffered",
               "--quiet"};
      words.insert(words.end(), program.begin(), program.end());  // no shell on the other side
      return words;
    case RemoteStart::kSsh:
      // No terminal, no X11, no question that nobody could answer; a host that does not answer is told soon.
      words = {"ssh", "-x", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"};
      break;
    case RemoteStart::kCommand:
      words = starter.command;
      break;
  }
  if (!host.user.empty()) words.insert(words.end(), {"-l", host.user});
  words.push_back(host.name);
  for (const std::string& word : program) words.push_back(shell_word(word));
  return words;
}

std::vector<std::string> agent_command(const RemoteStarter& starter, const HostSlots& host,
                                       const std::string& own_path) {
  return command_on_host(starter, host, {agent_path(starter, own_path), "--agent"});
}

std::string advice_for(const RemoteStarter& starter, const HostSlots& host, int status,
                       const std::string& own_path) {
  const std::string path = agent_path(starter, own_path);
  if (status == 127 || status == 126) {
    return format(
        "is there a %s on '%s'? Install Tasuki there at the same place, or say where it is by --prefix DIR",
        path.c_str(), host.name.c_str());
  }
  if (starter.kind == RemoteStart::kSsh) {
    return format("does \"ssh -o BatchMode=yes %s true\" work without a password?", host.name.c_str());
  }
  return format("does \"%s\" reach '%s'?", starter.name().c_str(), host.name.c_str());
}

}  // namespace tasuki::launch
