// The table of MPI's functions: complete, and right about those whose kind is well known.
#include "base/calls/function.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

namespace tasuki {
namespace {

std::string lower(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

TEST(Function, NamesAreThoseOfTheNumbers) {
  EXPECT_STREQ(function_name(Function::kNone), "");
  EXPECT_STREQ(function_name(Function::kSend), "MPI_Send");
  EXPECT_STREQ(function_name(Function::kSend_c), "MPI_Send_c");
  EXPECT_STREQ(function_name(Function::kWtime), "MPI_Wtime");
  EXPECT_STREQ(function_name(Function::kT_init_thread), "MPI_T_init_thread");
}

TEST(Function, NamesAreDifferentAndInOrder) {
  std::set<std::string> names;
  std::string last;
  for (int number = 1; number < kFunctions; ++number) {
    const std::string name = function_name(static_cast<Function>(number));
    EXPECT_TRUE(name.starts_with("MPI_")) << number;
    EXPECT_LT(last, lower(name));
    last = lower(name);
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 690u);
}

TEST(Function, NumbersThatAreNoneHaveNoName) {
  for (const int number : {kFunctions, 0x7fff, 0xffff}) {
    const FunctionFacts& facts = function_facts(static_cast<Function>(number));
    EXPECT_STREQ(facts.name, "");
    EXPECT_STREQ(facts.peer, "");
    EXPECT_FALSE(facts.is_collective || facts.may_wait);
  }
}

TEST(Function, ArgumentsOfTheLine) {
  const FunctionFacts& receive = function_facts(Function::kRecv);
  EXPECT_STREQ(receive.object, "comm");
  EXPECT_STREQ(receive.peer, "source");
  EXPECT_STREQ(receive.tag, "tag");
  EXPECT_STREQ(receive.count, "count");
  EXPECT_STREQ(receive.type, "datatype");
  EXPECT_STREQ(receive.op, "");
  const FunctionFacts& reduce = function_facts(Function::kReduce);
  EXPECT_STREQ(reduce.peer, "root");
  EXPECT_STREQ(reduce.tag, "");
  EXPECT_STREQ(reduce.op, "op");
  EXPECT_STREQ(function_facts(Function::kSendrecv).peer, "dest");
  EXPECT_STREQ(function_facts(Function::kWin_lock).peer, "rank");
  EXPECT_STREQ(function_facts(Function::kCart_coords).peer, "");
  EXPECT_STREQ(function_facts(Function::kFile_write_at_all).object, "fh");
  EXPECT_STREQ(function_facts(Function::kWaitall).count, "count");
  EXPECT_STREQ(function_facts(Function::kAlltoallw).count, "");
}

TEST(Function, WhoWaitsAndWhoMeets) {
  for (const Function both :
       {Function::kBarrier, Function::kAllreduce_c, Function::kComm_split, Function::kNeighbor_alltoallw,
        Function::kReduce_scatter_block, Function::kWin_fence, Function::kFile_close,
        Function::kFile_write_ordered, Function::kComm_accept, Function::kFinalize}) {
    EXPECT_TRUE(function_facts(both).is_collective) << function_name(both);
    EXPECT_TRUE(function_facts(both).may_wait) << function_name(both);
  }
  for (const Function only_meets : {Function::kIbarrier, Function::kBcast_init, Function::kComm_idup,
                                    Function::kIneighbor_allgather, Function::kFile_iread_at_all}) {
    EXPECT_TRUE(function_facts(only_meets).is_collective) << function_name(only_meets);
    EXPECT_FALSE(function_facts(only_meets).may_wait) << function_name(only_meets);
  }
  for (const Function only_waits : {Function::kSend, Function::kSsend_c, Function::kRecv, Function::kMprobe,
                                    Function::kSendrecv_replace, Function::kWait, Function::kWaitsome,
                                    Function::kWin_lock, Function::kWin_complete, Function::kComm_join}) {
    EXPECT_FALSE(function_facts(only_waits).is_collective) << function_name(only_waits);
    EXPECT_TRUE(function_facts(only_waits).may_wait) << function_name(only_waits);
  }
  for (const Function neither : {Function::kIsend, Function::kBsend, Function::kTest, Function::kIprobe,
                                 Function::kPut, Function::kComm_rank, Function::kType_commit,
                                 Function::kT_init_thread, Function::kReduce_local, Function::kFile_read}) {
    EXPECT_FALSE(function_facts(neither).is_collective) << function_name(neither);
    EXPECT_FALSE(function_facts(neither).may_wait) << function_name(neither);
  }
}

}  // namespace
}  // namespace tasuki
