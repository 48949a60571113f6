// What ranks and mpiexec say to each other: it comes back as it was, and nothing else is taken for it.
#include "job/spawn_request.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace tasuki {
namespace {

SpawnRequest sample() {
  SpawnRequest request;
  request.parent_port = "tasuki:1.2.3";
  request.spawner = 0x123456789abcdef0;
  request.programs.push_back({3, {"./program", "one word", ""}, "/some/where", "", ""});
  request.programs.push_back({1, {"python3"}, "", "/bin:/usr/bin", "mpi_errors_return"});
  return request;
}

TEST(SpawnRequests, ComeBackAsTheyWere) {
  SpawnRequest read;
  ASSERT_TRUE(decode(encode(sample()), &read));
  EXPECT_EQ(read.parent_port, "tasuki:1.2.3");
  EXPECT_EQ(read.spawner, 0x123456789abcdef0u);
  ASSERT_EQ(read.programs.size(), 2u);
  EXPECT_EQ(read.programs[0].ranks, 3);
  EXPECT_EQ(read.programs[0].command, (std::vector<std::string>{"./program", "one word", ""}));
  EXPECT_EQ(read.programs[0].directory, "/some/where");
  EXPECT_EQ(read.programs[1].path, "/bin:/usr/bin");
  EXPECT_EQ(read.programs[0].initial_errhandler, "");
  EXPECT_EQ(read.programs[1].initial_errhandler, "mpi_errors_return");
  SpawnAnswer answer;
  ASSERT_TRUE(decode(encode(SpawnAnswer{"no such program"}), &answer));
  EXPECT_EQ(answer.error, "no such program");
}

TEST(SpawnRequests, ReportsOfConnectionsComeBackToo) {
  const std::string whole = encode(ConnectionReport{7, 3, {0xffffffffffffffff, 1}});
  ConnectionReport read;
  ASSERT_TRUE(decode(whole, &read));
  EXPECT_EQ(read.job, 7u);
  EXPECT_EQ(read.rank, 3);
  EXPECT_EQ(read.connected, (std::vector<std::uint64_t>{0xffffffffffffffff, 1}));
  ASSERT_TRUE(decode(encode(ConnectionReport{7, 3, {}}), &read));
  EXPECT_TRUE(read.connected.empty());
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(decode(whole.substr(0, length), &read)) << length;
  EXPECT_FALSE(decode(whole + "x", &read));
  EXPECT_FALSE(decode(encode(ConnectionReport{7, -1, {}}), &read));
  EXPECT_FALSE(decode(encode(sample()), &read));
}

TEST(SpawnRequests, WhatIsCutShortOrLongerOrOtherIsRefused) {
  const std::string whole = encode(sample());
  SpawnRequest read;
  SpawnAnswer answer;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    read = {};
    EXPECT_FALSE(decode(whole.substr(0, length), &read)) << length;
  }
  EXPECT_FALSE(decode(whole + "x", &read));
  EXPECT_FALSE(decode(whole, &answer));
  EXPECT_FALSE(decode(farewell(), &read));
  // Every byte in turn made the largest: lengths that lead anywhere, and nothing read outside.
  for (std::size_t place = 0; place < whole.size(); ++place) {
    std::string damaged = whole;
    damaged[place] = '\xff';
    read = {};
    decode(damaged, &read);
  }
}

TEST(SpawnRequests, NoProgramOrACommandOfNoWordsIsRefused) {
  SpawnRequest read;
  EXPECT_FALSE(decode(encode(SpawnRequest{}), &read));
  SpawnRequest empty;
  empty.programs.push_back({1, {}, "", "", ""});
  EXPECT_FALSE(decode(encode(empty), &read));
}

TEST(Messages, GoThroughASocketWhole) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const std::string out = encode(sample());
  ASSERT_TRUE(write_message(ends[0], out));
  ASSERT_TRUE(write_message(ends[0], ""));
  std::string in = "before";
  ASSERT_TRUE(read_message(ends[1], &in));
  EXPECT_EQ(in, out);
  ASSERT_TRUE(read_message(ends[1], &in));
  EXPECT_EQ(in, "");
  close(ends[0]);
  EXPECT_FALSE(read_message(ends[1], &in));
  EXPECT_FALSE(write_message(ends[1], out));  // and no signal
  close(ends[1]);
}

}  // namespace
}  // namespace tasuki
