// Host lists, host files, allocations of batch systems, and who gets which rank.
#include "launch/allocation/host_list.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tasuki::launch {
namespace {

using Hosts = std::vector<HostSlots>;
using Names = std::vector<std::string>;

Hosts list(const std::string& text) {
  Hosts hosts;
  std::string error;
  EXPECT_TRUE(add_host_list(text, &hosts, &error)) << error;
  return hosts;
}

Hosts file(const std::string& text) {
  Hosts hosts;
  std::string error;
  EXPECT_TRUE(add_host_file(text, &hosts, &error)) << error;
  return hosts;
}

std::string error_of_list(const std::string& text) {
  Hosts hosts;
  std::string error;
  EXPECT_FALSE(add_host_list(text, &hosts, &error)) << text;
  return error;
}

TEST(HostList, NamesSlotsUsersAndAddresses) {
  EXPECT_EQ(list("a:2,b"), (Hosts{{"a", "", 2}, {"b", "", 1}}));
  EXPECT_EQ(list("a,a,b,a:3"), (Hosts{{"a", "", 5}, {"b", "", 1}})) << "a host that is named again gets more";
  EXPECT_EQ(list("me@a:4"), (Hosts{{"a", "me", 4}}));
  EXPECT_EQ(list("10.0.0.1:2,fe80::1%eth0,[2001:db8::1]:3"),
            (Hosts{{"10.0.0.1", "", 2}, {"fe80::1%eth0", "", 1}, {"2001:db8::1", "", 3}}));
}

TEST(HostList, WhatIsNoHostIsRefusedByName) {
  for (const char* word :
       {"", "a,", ",a", "-oProxyCommand=x", "a b", "a:0", "a:", "a:x", "a:99999999", "@a", "a;b", "-l@a"}) {
    EXPECT_FALSE(error_of_list(word).empty()) << word;
  }
  EXPECT_EQ(error_of_list("b:x"), "'b:x': expected a number of slots from 1 to 65536 behind ':'");
}

TEST(HostFile, BothForms) {
  EXPECT_EQ(file("# hosts\na:2 binding=user\n\nb user=me\nc:1\r\n"),
            (Hosts{{"a", "", 2}, {"b", "me", 1}, {"c", "", 1}}));
  EXPECT_EQ(file("me@a slots=2 max_slots=4\nb slots=8 # the big one"), (Hosts{{"a", "me", 2}, {"b", "", 8}}));
}

TEST(HostFile, TellsTheLine) {
  Hosts hosts;
  std::string error;
  EXPECT_FALSE(add_host_file("a\nb slots=many\n", &hosts, &error));
  EXPECT_EQ(error, "line 2: 'slots=many': expected a number of slots from 1 to 65536");
  EXPECT_FALSE(add_host_file("a colour=red\n", &hosts, &error));
  EXPECT_EQ(error, "line 1: 'colour=red' is unknown: expected slots=N or user=NAME");
}

TEST(PlanHosts, FillsOneAfterTheOtherOrInTurn) {
  const Hosts hosts = list("a:2,b:2");
  EXPECT_EQ(plan_hosts(hosts, 4, NodeOrder::kBlock), (std::vector<int>{0, 0, 1, 1}));
  EXPECT_EQ(plan_hosts(hosts, 3, NodeOrder::kBlock), (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(plan_hosts(hosts, 4, NodeOrder::kCyclic), (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(plan_hosts(list("a:1,b:3"), 4, NodeOrder::kCyclic), (std::vector<int>{0, 1, 1, 1}));
}

TEST(PlanHosts, MoreRanksThanSlotsKeepTheProportion) {
  EXPECT_EQ(plan_hosts(list("a:2,b:2"), 5, NodeOrder::kBlock), (std::vector<int>{0, 0, 0, 1, 1}));
  EXPECT_EQ(plan_hosts(list("a,b"), 6, NodeOrder::kBlock), (std::vector<int>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(plan_hosts(list("a,b"), 5, NodeOrder::kCyclic), (std::vector<int>{0, 1, 0, 1, 0}));
}

TEST(ExpandNames, Ranges) {
  Names names;
  EXPECT_TRUE(expand_names("node[1-2,07-09],head,r[1-2]c[1-2]x", &names));
  EXPECT_EQ(names, (Names{"node1", "node2", "node07", "node08", "node09", "head", "r1c1x", "r1c2x", "r2c1x",
                          "r2c2x"}));
  for (const char* bad : {"", "a[", "a[1", "a[2-1]", "a[x]", "a]", "a[1-99999999]", "a,"}) {
    Names none;
    EXPECT_FALSE(expand_names(bad, &none)) << bad;
  }
}

class AllocationTest : public testing::Test {
 protected:
  Hosts found(const std::string& system) {
    Allocation allocation;
    std::string error;
    EXPECT_TRUE(find_allocation(get_, read_, &allocation, &error)) << error;
    EXPECT_EQ(allocation.system, system);
    return allocation.hosts;
  }
  std::string error() {
    Allocation allocation;
    std::string error;
    EXPECT_FALSE(find_allocation(get_, read_, &allocation, &error));
    return error;
  }
  std::map<std::string, std::string> variables_;
  std::map<std::string, std::string> files_;
  GetEnvironment get_ = [this](const char* name) {
    const auto found = variables_.find(name);
    return found != variables_.end() ? found->second.c_str() : nullptr;
  };
  ReadFile read_ = [this](const std::string& path, std::string* text) {
    const auto found = files_.find(path);
    if (found != files_.end()) *text = found->second;
    return found != files_.end();
  };
};

TEST_F(AllocationTest, None) {
  EXPECT_EQ(found(""), Hosts());
}

TEST_F(AllocationTest, Slurm) {
  variables_ = {{"SLURM_JOB_NODELIST", "n[1-3]"}, {"SLURM_TASKS_PER_NODE", "2(x2),1"}};
  EXPECT_EQ(found("Slurm"), (Hosts{{"n1", "", 2}, {"n2", "", 2}, {"n3", "", 1}}));
  variables_["SLURM_TASKS_PER_NODE"] = "2";
  EXPECT_EQ(error(), "Slurm's numbers of tasks, \"2\", do not fit its 3 hosts");
}

TEST_F(AllocationTest, PbsLsfAndGridEngine) {
  variables_ = {{"PBS_NODEFILE", "/pbs"}};
  EXPECT_EQ(error(), "PBS_NODEFILE names the file /pbs, which cannot be read");
  files_["/pbs"] = "a\na\nb\n";
  EXPECT_EQ(found("PBS"), (Hosts{{"a", "", 2}, {"b", "", 1}}));
  variables_ = {{"LSB_MCPU_HOSTS", "a 4 b 2 "}};
  EXPECT_EQ(found("LSF"), (Hosts{{"a", "", 4}, {"b", "", 2}}));
  variables_ = {{"PE_HOSTFILE", "/sge"}};
  files_["/sge"] = "a 4 all.q@a UNDEFINED\nb 2 all.q@b UNDEFINED\n";
  EXPECT_EQ(found("Grid Engine"), (Hosts{{"a", "", 4}, {"b", "", 2}}));
}

}  // namespace
}  // namespace tasuki::launch
