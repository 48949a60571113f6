// TASUKI_CHECK of messages: what each level refuses, and what it lets pass; by every mode and way that a
// message can take.
#include "p2p/message_checks.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/calls/call_board.hpp"
#include "base/calls/function.hpp"
#include "p2p/ranks.hpp"

namespace tasuki::test {
namespace {

void on_checked(
    int size, std::int64_t level, const std::function<void(Rank&)>& body,
    const std::function<void(WorldOptions&)>& change = [](WorldOptions&) {}) {
  WorldOptions options;
  options.config.check = level;
  change(options);
  run_ranks(
      size,
      [&](Process& process) {
        Rank rank(process);
        body(rank);
      },
      options);
}

/// As the binding says it.
void is_in(Rank& rank, Function function) {
  std::atomic<std::uint64_t>& word = rank.process.line.word;
  word.store(next_call(word.load(), function));
}

void expect_error(Rank& rank, Code code, int error_class, const std::string& text) {
  EXPECT_EQ(error_class_bits(code), error_class);
  EXPECT_NE(rank.text(code).find(text), std::string::npos) << rank.text(code);
}

Ref<Datatype> structure(Rank& rank) {  // int, double
  const int lengths[] = {1, 1};
  const std::int64_t places[] = {0, 8};
  Datatype* const parts[] = {rank.integer, rank.type(kMpiDouble)};
  Datatype* made = nullptr;
  EXPECT_EQ(
      api::type_create_struct(rank.process, 2, CountArray(lengths), CountArray(places), parts, &made, false),
      0);
  EXPECT_EQ(api::type_commit(rank.process, &made), 0);
  return Ref<Datatype>(made);
}

// ----- level 2: the types of both ends ---------------------------------------------------------------------

/// What rank 0 sends and rank 1 receives; empty text: it is right.
struct Exchange {
  Predefined sent;
  Count sent_count;
  Predefined received;
  Count received_count;
  const char* text;
};

constexpr Exchange kExchanges[] = {
    {kMpiInt, 10, kMpiInt, 10, ""},
    {kMpiInt, 3, kMpiInt, 10, ""},
    {kMpiInt, 10, kMpiInt32T, 10, ""},
    {kMpiInt, 0, kMpiDouble, 10, ""},
    {kMpiPacked, 40, kMpiInt, 10, ""},
    {kMpiInt, 10, kMpiPacked, 40, ""},
    {kMpiUnsignedChar, 10, kMpiByte, 10, ""},
    {kMpiDouble, 10, kMpiInt, 20,
     "sent as 10 x MPI_DOUBLE by MPI_Send, received as 20 x MPI_INT by MPI_Recv"},
    {kMpiInt, 3000, kMpiFloat, 3000, "sent as 3000 x MPI_INT"},
    {kMpiFloat, 200000, kMpiInt, 200000, "sent as 200000 x MPI_FLOAT"},
    {kMpiInt, 10, kMpiByte, 40, "sent as 10 x MPI_INT"},
    {kMpiDouble, 1, kMpiInt, 2, "sent as 1 x MPI_DOUBLE"},
};

TEST(CheckedMessages, HaveTheTypesOfTheirReceives) {
  for (const bool shared : {true, false}) {
    on_checked(
        2, 2,
        [](Rank& rank) {
          std::vector<double> data(200000);
          for (const bool receive_first : {false, true}) {
            for (const Exchange& one : kExchanges) {
              SCOPED_TRACE(one.text);
              if (rank.rank == 0) {
                is_in(rank, Function::kSend);
                if (receive_first) rank.barrier();
                EXPECT_EQ(api::send(rank.process, data.data(), one.sent_count, rank.type(one.sent), 1, 5,
                                    rank.world),
                          0);
                if (!receive_first) rank.barrier();
                continue;
              }
              is_in(rank, Function::kRecv);
              Request* request = nullptr;
              if (!receive_first) {
                Status status;
                EXPECT_EQ(api::probe(rank.process, 0, 5, rank.world, &status), 0);
              }
              EXPECT_EQ(api::irecv(rank.process, data.data(), one.received_count, rank.type(one.received), 0,
                                   5, rank.world, &request),
                        0);
              Status status;
              if (receive_first) rank.barrier();
              const Code code = rank.wait(request, &status);
              if (!receive_first) rank.barrier();
              EXPECT_EQ(status.bytes, one.sent_count * rank.type(one.sent)->size);
              if (*one.text == '\0') {
                EXPECT_EQ(code, 0) << rank.text(code);
              } else {
                expect_error(rank, code, kErrType, one.text);
                expect_error(rank, code, kErrType, "message from rank 0, tag 5");
              }
            }
          }
        },
        [&](WorldOptions& options) { options.symmetric_heap = shared; });
  }
}

TEST(CheckedMessages, OfDerivedTypesMayBeCutBetweenElements) {
  on_checked(2, 2, [](Rank& rank) {
    const Ref<Datatype> pair = structure(rank);
    std::vector<double> data(64);
    if (rank.rank == 0) {
      EXPECT_EQ(api::send(rank.process, data.data(), 3, pair.get(), 1, 0, rank.world), 0);
      EXPECT_EQ(api::send(rank.process, data.data(), 1, rank.integer, 1, 0, rank.world), 0);
      EXPECT_EQ(api::send(rank.process, data.data(), 2, rank.integer, 1, 0, rank.world), 0);
      EXPECT_EQ(api::send(rank.process, data.data(), 3, pair.get(), 1, 0, rank.world), 0);
      return;
    }
    const auto receive = [&](Count count, Datatype* type) {
      return api::recv(rank.process, data.data(), count, type, 0, 0, rank.world, nullptr);
    };
    EXPECT_EQ(receive(5, pair.get()), 0);
    EXPECT_EQ(receive(5, pair.get()), 0) << "the first int of a pair";
    expect_error(rank, receive(5, pair.get()), kErrType, "sent as 2 x MPI_INT");
    expect_error(rank, receive(20, rank.integer), kErrType, "sent as 6 x mixed types");
  });
}

TEST(CheckedMessages, AreComparedInEveryMode) {
  on_checked(2, 2, [](Rank& rank) {
    Process& process = rank.process;
    int out[4] = {}, in[4] = {};
    std::vector<std::byte> room(4096);
    EXPECT_EQ(api::buffer_attach(process, room.data(), static_cast<Count>(room.size())), 0);
    const int other = 1 - rank.rank;
    Datatype* const wrong = rank.type(kMpiFloat);
    const auto expect_wrong = [&](Code code) { expect_error(rank, code, kErrType, "sent as 4 x MPI_INT"); };
    const auto receive = [&] { return api::recv(process, in, 4, wrong, other, 1, rank.world, nullptr); };
    if (rank.rank == 0) {
      EXPECT_EQ(api::ssend(process, out, 4, rank.integer, other, 1, rank.world), 0);
      EXPECT_EQ(api::bsend(process, out, 4, rank.integer, other, 1, rank.world), 0);
      Request* request = nullptr;
      EXPECT_EQ(api::send_init(process, out, 4, rank.integer, other, 1, rank.world, &request), 0);
      for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(api::start(process, &request), 0);
        EXPECT_EQ(rank.wait(request), 0);
      }
      EXPECT_EQ(api::request_free(process, &request), 0);
    } else {
      for (int message = 0; message < 4; ++message) expect_wrong(receive());
    }
    // Replaced data travel packed, and are still of their type; and so to itself.
    expect_wrong(
        api::sendrecv(process, out, 4, rank.integer, other, 1, in, 4, wrong, other, 1, rank.world, nullptr));
    EXPECT_EQ(api::sendrecv_replace(process, in, 4, rank.integer, other, 1, other, 1, rank.world, nullptr),
              0);
    Request* request = nullptr;
    EXPECT_EQ(api::isendrecv_replace(process, in, 4, rank.integer, other, 1, other, 1, rank.world, &request),
              0);
    EXPECT_EQ(rank.wait(request), 0);
    const Bytes eight(8);
    request = rank.isend(eight, rank.rank, 2);
    expect_error(rank, api::recv(process, in, 2, rank.integer, rank.rank, 2, rank.world, nullptr), kErrType,
                 "sent as 8 x MPI_BYTE");
    EXPECT_EQ(rank.wait(request), 0);
    // By a matched probe.
    request = nullptr;
    EXPECT_EQ(api::isend(process, out, 4, rank.integer, other, 3, rank.world, &request), 0);
    Message* message = nullptr;
    EXPECT_EQ(api::mprobe(process, other, 3, rank.world, &message, nullptr), 0);
    expect_wrong(api::mrecv(process, in, 4, wrong, &message, nullptr));
    EXPECT_EQ(rank.wait(request), 0);
    void* address = nullptr;
    Count size = 0;
    EXPECT_EQ(api::buffer_detach(process, &address, &size), 0);
  });
}

TEST(CheckedMessages, InTheReadyModeNeedTheirReceiveFirst) {
  on_checked(2, 2, [](Rank& rank) {
    Bytes data(16);
    if (rank.rank == 0) {
      rank.barrier();
      EXPECT_EQ(api::rsend(rank.process, data.data(), 16, rank.byte, 1, 1, rank.world), 0);
      EXPECT_EQ(api::rsend(rank.process, data.data(), 16, rank.byte, 1, 2, rank.world), 0);
      rank.barrier();
      return;
    }
    Request* request = rank.irecv(data, 0, 1);
    rank.barrier();
    EXPECT_EQ(rank.wait(request), 0);
    rank.barrier();
    expect_error(rank, rank.recv(data, 0, 2), kErrOther, "came before its receive");
  });
}

TEST(CheckedMessages, ThatFitPassAtEveryLevelAndSize) {
  for (const std::int64_t level : {1, 2, 3}) {
    for (const bool far : {false, true}) {
      on_checked(
          3, level,
          [](Rank& rank) {
            for (const std::size_t size : edge_sizes(rank)) {
              const int to = (rank.rank + 1) % rank.size, from = (rank.rank + 2) % rank.size;
              const Bytes out = pattern(size, static_cast<std::uint32_t>(rank.rank));
              Bytes in(size), again(size);
              std::vector<Request*> requests = {rank.irecv(in, from, 1), rank.irecv(again, kAnySource, 2)};
              requests.push_back(rank.isend(out, to, 1));
              requests.push_back(rank.issend(out, to, 2));
              EXPECT_EQ(rank.waitall(requests), 0);
              EXPECT_EQ(in, pattern(size, static_cast<std::uint32_t>(from)));
              EXPECT_EQ(again, in);
            }
          },
          [&](WorldOptions& options) {
            if (far) options.nodes = {0, 0, 1};
          });
    }
  }
}

// ----- level 1: one call -----------------------------------------------------------------------------------

TEST(CheckedBuffers, OfOneCallDoNotOverlap) {
  on_checked(1, 1, [](Rank& rank) {
    Process& process = rank.process;
    int data[8] = {};
    expect_error(rank,
                 api::sendrecv(process, data, 4, rank.integer, 0, 1, data + 3, 4, rank.integer, 0, 1,
                               rank.world, nullptr),
                 kErrBuffer, "bytes 12..15");
    EXPECT_EQ(api::sendrecv(process, data, 4, rank.integer, 0, 1, data + 4, 4, rank.integer, 0, 1, rank.world,
                            nullptr),
              0);
    Datatype* twice = nullptr;
    EXPECT_EQ(api::type_vector(process, 2, 2, 1, rank.integer, &twice, false), 0);
    EXPECT_EQ(api::type_commit(process, &twice), 0);
    Request* sent = nullptr;
    EXPECT_EQ(api::isend(process, data, 1, twice, 0, 1, rank.world, &sent), 0) << "they may be sent";
    expect_error(rank, api::recv(process, data, 1, twice, 0, 1, rank.world, nullptr), kErrBuffer,
                 "more than once");
    EXPECT_EQ(api::recv(process, data, 4, rank.integer, 0, 1, rank.world, nullptr), 0);
    EXPECT_EQ(rank.wait(sent), 0);
    EXPECT_EQ(api::type_free(process, &twice), 0);
    expect_error(rank,
                 api::recv(process, reinterpret_cast<void*>(16), 1, rank.integer, 0, 1, rank.world, nullptr),
                 kErrBuffer, "expected the addresses of memory");
  });
}

TEST(CheckedRequests, AreOnceInAnArray) {
  on_checked(1, 1, [](Rank& rank) {
    Bytes data(4);
    Request* request = rank.irecv(data, 0, 1);
    std::vector<Request*> both = {request, nullptr, request};
    expect_error(rank, rank.waitall(both), kErrRequest, "requests[2] is the same request as requests[0]");
    EXPECT_EQ(rank.send(Bytes(4), 0, 1), 0);
    EXPECT_EQ(rank.wait(request), 0);
  });
}

// ----- level 3: buffers of open requests -------------------------------------------------------------------

TEST(PendingMessages, KeepTheirBuffersApart) {
  on_checked(2, 3, [](Rank& rank) {
    Bytes data(64);
    const int other = 1 - rank.rank;
    const auto at = [&](std::size_t place) { return data.data() + place; };
    is_in(rank, Function::kIrecv);
    Request *receive = nullptr, *second = nullptr;
    EXPECT_EQ(api::irecv(rank.process, at(0), 32, rank.byte, other, 1, rank.world, &receive), 0);
    const char* const text = "being received into by MPI_Irecv (source = ";
    expect_error(rank, api::irecv(rank.process, at(31), 1, rank.byte, other, 2, rank.world, &second),
                 kErrBuffer, text);
    expect_error(rank, api::isend(rank.process, at(16), 32, rank.byte, other, 3, rank.world, &second),
                 kErrBuffer, text);
    expect_error(rank, api::send(rank.process, at(0), 1, rank.byte, other, 3, rank.world), kErrBuffer, text);
    expect_error(rank, api::recv(rank.process, at(0), 1, rank.byte, other, 3, rank.world, nullptr),
                 kErrBuffer, text);
    EXPECT_EQ(second, nullptr);
    std::vector<Request*> sends = {nullptr, nullptr};
    is_in(rank, Function::kIsend);
    for (Request*& send : sends)
      EXPECT_EQ(api::isend(rank.process, at(32), 32, rank.byte, other, 1, rank.world, &send), 0);
    expect_error(rank, api::irecv(rank.process, at(63), 1, rank.byte, other, 4, rank.world, &second),
                 kErrBuffer, "being sent by MPI_Isend (dest = ");
    EXPECT_EQ(rank.wait(receive), 0);
    EXPECT_EQ(api::recv(rank.process, at(0), 32, rank.byte, other, 1, rank.world, nullptr), 0);
    EXPECT_EQ(rank.waitall(sends), 0);
    EXPECT_EQ(api::irecv(rank.process, at(63), 1, rank.byte, other, 4, rank.world, &second), 0);
    EXPECT_EQ(api::cancel(rank.process, second), 0);
    EXPECT_EQ(rank.wait(second), 0);
  });
}

TEST(PendingMessages, TellWhoChangedABuffer) {
  on_checked(2, 3, [](Rank& rank) {
    for (const std::size_t size : {std::size_t{8}, std::size_t{3000}, std::size_t{100000}}) {
      Bytes out(size), in(size);
      const int other = 1 - rank.rank;
      is_in(rank, Function::kIsend);
      Request* send = rank.isend(out, other, 1);
      out[size / 2] = 1;
      rank.barrier();  // no rank reads it while it changes
      is_in(rank, Function::kIrecv);
      Request* receive = rank.irecv(in, other, 1);
      EXPECT_EQ(rank.wait(receive), 0);
      expect_error(rank, rank.wait(send), kErrBuffer, "the buffer of MPI_Isend (dest = ");
      receive = rank.irecv(in, other, 2);
      in[size / 2] = 7;
      rank.barrier();
      EXPECT_EQ(rank.send(out, other, 2), 0);
      expect_error(rank, rank.wait(receive), kErrBuffer,
                   "was written by the program before its message came");
    }
  });
}

}  // namespace
}  // namespace tasuki::test
