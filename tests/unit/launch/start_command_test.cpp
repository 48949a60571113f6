// The words that start an agent, and the advice when it does not come.
#include "launch/allocation/start_command.hpp"

#include <gtest/gtest.h>

namespace tasuki::launch {
namespace {

using Words = std::vector<std::string>;

TEST(AgentCommand, Ssh) {
  const Words words = agent_command({}, {"b", "me", 1}, "/opt/ta suki/bin/mpiexec");
  EXPECT_EQ(words.front(), "ssh");
  EXPECT_EQ(Words(words.end() - 5, words.end()),
            (Words{"-l", "me", "b", "'/opt/ta suki/bin/mpiexec'", "--agent"}))
      << "the shell there splits words";
}

TEST(AgentCommand, SlurmHasNoShell) {
  const Words words = agent_command({.kind = RemoteStart::kSlurm}, {"n1", "", 2}, "/opt/ta suki/bin/mpiexec");
  EXPECT_EQ(words[1], "--nodelist=n1");
  EXPECT_EQ(Words(words.end() - 2, words.end()), (Words{"/opt/ta suki/bin/mpiexec", "--agent"}));
}

TEST(AgentCommand, OfTheUser) {
  const RemoteStarter starter{
      .kind = RemoteStart::kCommand, .command = {"docker-ssh", "-q"}, .prefix = "/there"};
  EXPECT_EQ(agent_command(starter, {"b", "", 1}, "/here/bin/mpiexec"),
            (Words{"docker-ssh", "-q", "b", "/there/bin/mpiexec", "--agent"}));
}

TEST(Advice, SaysWhatToTry) {
  EXPECT_NE(advice_for({}, {"b", "", 1}, 127, "/p/bin/mpiexec").find("/p/bin/mpiexec on 'b'"),
            std::string::npos);
  EXPECT_NE(advice_for({}, {"b", "", 1}, 255, "/p/bin/mpiexec").find("ssh -o BatchMode=yes b true"),
            std::string::npos);
}

}  // namespace
}  // namespace tasuki::launch
