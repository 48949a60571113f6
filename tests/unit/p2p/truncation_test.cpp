// A message longer than its receive: an error at the receiver that names both sizes, as many bytes as fit,
// nothing behind them, a sender that does not notice, and the next message as if nothing had been.
#include <gtest/gtest.h>

#include "p2p/ranks.hpp"

namespace tasuki::test {
namespace {

struct Case {
  std::size_t sent;
  std::size_t room;
};

std::vector<Case> cases() {
  return {{8, 4},     {40, 0},       {800, 400},      {800, 0},    {1024, 1},
          {5000, 10}, {100000, 100}, {100000, 99999}, {100000, 0}, {100000, 5000}};
}

void expect_truncated(Rank& on, Code code, const Status& status, const Bytes& got, const Case& one) {
  EXPECT_EQ(error_class_bits(code), kErrTruncate);
  const std::string expected = "message of " + std::to_string(one.sent) + " bytes from rank 0, tag 5, " +
                               "receive buffer holds " + std::to_string(one.room) + ", expected";
  EXPECT_EQ(on.text(code).substr(0, expected.size()), expected);
  EXPECT_EQ(status.bytes, static_cast<Count>(one.room));
  EXPECT_EQ(status.source, 0);
  Bytes data = pattern(one.sent, 3);
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i], i < one.room ? data[i] : 0xee) << "byte " << i << " of " << one.sent;
  }
}

void receive(Rank& on, const Case& one, bool message_first) {
  Bytes got(one.room + 64, 0xee), go;
  Request* request = nullptr;
  Status status;
  if (message_first) on.recv(go, 0, 9);
  api::irecv(on.process, got.data(), static_cast<Count>(one.room), on.byte, 0, 5, on.world, &request);
  if (!message_first) on.send(go, 0, 9);
  const Code code = on.wait(request, &status);
  EXPECT_EQ(request, nullptr) << "the request is over all the same";
  EXPECT_EQ(on.process.error_owner, on.world);
  expect_truncated(on, code, status, got, one);
}

TEST(Truncation, NamesBothSizesAndHurtsNobodyElse) {
  for (const bool message_first : {false, true}) {
    on_both_networks(2, [message_first](Rank& on) {
      for (const Case& one : cases()) {
        const Bytes data = pattern(one.sent, 3);
        if (on.rank == 0) {
          Bytes go;
          if (!message_first) on.recv(go, 1, 9);
          Request* request = on.isend(data, 1, 5);
          if (message_first) on.send(go, 1, 9);
          EXPECT_EQ(on.wait(request), 0);
          EXPECT_EQ(on.send(data, 1, 6), 0);
        } else {
          receive(on, one, message_first);
          Bytes whole(one.sent);
          EXPECT_EQ(on.recv(whole, 0, 6), 0);
          EXPECT_EQ(whole, data);
        }
      }
    });
  }
}

TEST(Truncation, OfASynchronousSendCompletesIt) {
  on_both_networks(2, [](Rank& on) {
    for (const Case& one : cases()) {
      if (on.rank == 0) {
        const Bytes data = pattern(one.sent, 3);
        EXPECT_EQ(api::ssend(on.process, data.data(), static_cast<Count>(one.sent), on.byte, 1, 5, on.world),
                  0);
      } else {
        Bytes got(one.room);
        EXPECT_EQ(error_class_bits(on.recv(got, 0, 5)), kErrTruncate);
      }
    }
  });
}

TEST(Truncation, InsideWaitallIsInStatus) {
  on_both_networks(2, [](Rank& on) {
    std::vector<Request*> requests;
    std::vector<Bytes> data;
    for (int i = 0; i < 4; ++i) data.push_back(on.rank == 0 ? Bytes(2000, 1) : Bytes(i == 2 ? 100 : 2000));
    for (int i = 0; i < 4; ++i) {
      Bytes& one = data[static_cast<std::size_t>(i)];
      requests.push_back(on.rank == 0 ? on.isend(one, 1, i) : on.irecv(one, 0, i));
    }
    std::vector<Status> statuses(4);
    const Code code = on.waitall(requests, statuses.data());
    for (Request* request : requests) EXPECT_EQ(request, nullptr);
    if (on.rank == 0) {
      EXPECT_EQ(code, 0);
      return;
    }
    EXPECT_EQ(error_class_bits(code), kErrInStatus);
    EXPECT_EQ(on.text(code),
              "1 of 4 requests failed; requests[2]: message of 2000 bytes from rank 0, tag 2, receive buffer "
              "holds 100, expected no more than that; hint: count is in elements of datatype; MPI_Probe and "
              "MPI_Get_count tell how many there are");
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(error_class_bits(statuses[static_cast<std::size_t>(i)].error), i == 2 ? kErrTruncate : 0);
    }
  });
}

}  // namespace
}  // namespace tasuki::test
