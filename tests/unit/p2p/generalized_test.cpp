// Generalised requests: which of the user's functions run, when, how often, and what their errors do.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "p2p/ranks.hpp"

namespace tasuki::test {
namespace {

/// What the user's functions saw and what they are to answer.
struct Log {
  int queries = 0;
  int frees = 0;
  int cancels = 0;
  bool complete_at_cancel = false;
  Code query_code = 0;
  Code free_code = 0;
  Code cancel_code = 0;
};

Code query(void* state, Status* status) {
  auto* log = static_cast<Log*>(state);
  ++log->queries;
  status->source = 3;
  status->tag = 7;
  status->bytes = 40;
  return log->query_code;
}

Code end(void* state) {
  auto* log = static_cast<Log*>(state);
  ++log->frees;
  return log->free_code;
}

Code cancel(void* state, bool complete) {
  auto* log = static_cast<Log*>(state);
  ++log->cancels;
  log->complete_at_cancel = complete;
  return log->cancel_code;
}

Request* start(Rank& on, Log& log) {
  Request* request = nullptr;
  EXPECT_EQ(api::grequest_start(on.process, reinterpret_cast<AnyFunction>(query),
                                reinterpret_cast<AnyFunction>(end), reinterpret_cast<AnyFunction>(cancel),
                                &log, &request),
            0);
  return request;
}

/// As the binding calls it: with a handle that is not the user's variable.
Code complete(Rank& on, Request* request) {
  return api::grequest_complete(on.process, &request);
}

void alone(void (*body)(Rank&)) {
  run_ranks(1, [body](Process& process) {
    Rank on(process);
    body(on);
  });
}

TEST(Generalized, WaitQueriesAndThenFrees) {
  alone([](Rank& on) {
    Log log;
    Request* request = start(on, log);
    EXPECT_FALSE(on.test(request));
    EXPECT_EQ(log.queries + log.frees, 0) << "nothing runs before the operation is over";
    EXPECT_EQ(complete(on, request), 0);
    EXPECT_EQ(log.queries + log.frees, 0) << "completing runs none of them either";
    Status status;
    EXPECT_EQ(on.wait(request, &status), 0);
    EXPECT_EQ(request, nullptr);
    EXPECT_EQ(status.source, 3);
    EXPECT_EQ(status.tag, 7);
    EXPECT_EQ(status.bytes, 40);
    EXPECT_EQ(log.queries, 1);
    EXPECT_EQ(log.frees, 1);
  });
}

TEST(Generalized, QueryRunsAlsoWhenTheStatusIsIgnored) {
  alone([](Rank& on) {
    Log log;
    Request* request = start(on, log);
    EXPECT_EQ(complete(on, request), 0);
    EXPECT_TRUE(on.test(request));
    EXPECT_EQ(log.queries, 1);
    EXPECT_EQ(log.frees, 1);
  });
}

TEST(Generalized, GetStatusQueriesAndFreesNothing) {
  alone([](Rank& on) {
    Log log;
    Request* request = start(on, log);
    bool flag = true;
    Status status;
    EXPECT_EQ(api::request_get_status(on.process, request, &flag, &status), 0);
    EXPECT_FALSE(flag);
    EXPECT_EQ(complete(on, request), 0);
    for (int lap = 1; lap <= 2; ++lap) {
      EXPECT_EQ(api::request_get_status(on.process, request, &flag, &status), 0);
      EXPECT_TRUE(flag);
      EXPECT_EQ(status.tag, 7);
      EXPECT_EQ(log.queries, lap);
    }
    EXPECT_EQ(log.frees, 0);
    EXPECT_EQ(on.wait(request), 0);
    EXPECT_EQ(log.frees, 1);
  });
}

TEST(Generalized, FreedBeforeOrAfterItIsOver) {
  alone([](Rank& on) {
    Log log;
    Request* request = start(on, log);
    Request* copy = request;
    EXPECT_EQ(api::request_free(on.process, &request), 0);
    EXPECT_EQ(request, nullptr);
    EXPECT_EQ(log.frees, 0);
    EXPECT_EQ(complete(on, copy), 0);
    EXPECT_EQ(log.frees, 1);

    request = start(on, log);
    EXPECT_EQ(complete(on, request), 0);
    EXPECT_EQ(log.frees, 1);
    EXPECT_EQ(api::request_free(on.process, &request), 0);
    EXPECT_EQ(log.frees, 2);
    EXPECT_EQ(log.queries, 0) << "no call asked for a status";
  });
}

TEST(Generalized, CancelTellsWhetherItIsOver) {
  alone([](Rank& on) {
    Log log;
    Request* request = start(on, log);
    EXPECT_EQ(api::cancel(on.process, request), 0);
    EXPECT_FALSE(log.complete_at_cancel);
    EXPECT_EQ(complete(on, request), 0);
    EXPECT_EQ(api::cancel(on.process, request), 0);
    EXPECT_TRUE(log.complete_at_cancel);
    EXPECT_EQ(log.cancels, 2);
    log.cancel_code = kErrPending;
    EXPECT_EQ(api::cancel(on.process, request), kErrPending);
    EXPECT_EQ(on.wait(request), 0);
  });
}

TEST(Generalized, ErrorsOfTheFunctionsComeBackAndTheRequestEnds) {
  alone([](Rank& on) {
    Log log;
    log.query_code = kErrBuffer;
    Request* request = start(on, log);
    EXPECT_EQ(complete(on, request), 0);
    EXPECT_EQ(on.wait(request), kErrBuffer);
    EXPECT_EQ(request, nullptr);
    EXPECT_EQ(log.frees, 1) << "freed in spite of the failing query";
    EXPECT_EQ(on.process.error_owner, nullptr) << "it belongs to no communicator";

    log.query_code = 0;
    log.free_code = kErrOther;
    request = start(on, log);
    EXPECT_EQ(complete(on, request), 0);
    EXPECT_EQ(on.wait(request), kErrOther);

    request = start(on, log);
    Request* copy = request;
    EXPECT_EQ(api::request_free(on.process, &request), 0);
    EXPECT_EQ(complete(on, copy), kErrOther);
  });
}

TEST(Generalized, AmongOtherRequests) {
  on_both_networks(2, [](Rank& on) {
    const int peer = 1 - on.rank;
    Log good;
    Log bad;
    bad.query_code = kErrBuffer;
    Bytes in(8);
    const Bytes out = pattern(8, 1);
    std::vector<Request*> requests{start(on, good), on.irecv(in, peer, 1), start(on, bad),
                                   on.isend(out, peer, 1)};
    EXPECT_EQ(complete(on, requests[0]), 0);
    EXPECT_EQ(complete(on, requests[2]), 0);
    std::vector<Status> statuses(4);
    EXPECT_EQ(error_class_bits(on.waitall(requests, statuses.data())), kErrInStatus);
    EXPECT_EQ(statuses[0].tag, 7);
    EXPECT_EQ(statuses[0].error, 0);
    EXPECT_EQ(statuses[2].error, kErrBuffer);
    EXPECT_EQ(statuses[1].error, 0);
    EXPECT_EQ(in, out);

    Request* late = start(on, good);
    Request* two[] = {late, nullptr};
    int index = 5;
    bool flag = true;
    EXPECT_EQ(api::testany(on.process, 2, two, &index, &flag, nullptr), 0);
    EXPECT_FALSE(flag);
    EXPECT_EQ(complete(on, late), 0);
    Count outcount = 0;
    int indices[2];
    EXPECT_EQ(api::waitsome(on.process, 2, two, &outcount, indices, nullptr), 0);
    EXPECT_EQ(outcount, 1);
    EXPECT_EQ(indices[0], 0);
    EXPECT_EQ(good.frees, 2);
    EXPECT_EQ(bad.frees, 1);
  });
}

TEST(Generalized, WrongRequestsAreRefused) {
  alone([](Rank& on) {
    Bytes data(4);
    Request* plain = on.irecv(data, 0, 1);
    EXPECT_EQ(error_class_bits(complete(on, plain)), kErrRequest);
    on.send(data, 0, 1);
    EXPECT_EQ(on.wait(plain), 0);
    Log log;
    Request* request = start(on, log);
    EXPECT_EQ(complete(on, request), 0);
    const Code twice = complete(on, request);
    EXPECT_EQ(error_class_bits(twice), kErrRequest);
    EXPECT_NE(on.text(twice).find("complete already"), std::string::npos);
    EXPECT_EQ(on.wait(request), 0);
    EXPECT_EQ(log.frees, 1);
  });
}

TEST(Generalized, AnotherThreadCompletesItWhileThisOneSleeps) {
  WorldOptions options;
  options.thread_level = ThreadLevel::kMultiple;
  run_ranks(
      2,
      [](Process& process) {
        Rank on(process);
        for (int lap = 0; lap < 20; ++lap) {
          Log log;
          Request* request = nullptr;
          {
            const std::lock_guard lock(process.lock);
            request = start(on, log);
          }
          std::thread worker([&on, request] {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            const std::lock_guard lock(on.process.lock);
            EXPECT_EQ(complete(on, request), 0);
          });
          {
            const std::lock_guard lock(process.lock);
            EXPECT_EQ(on.wait(request), 0);
          }
          worker.join();
          EXPECT_EQ(log.frees, 1);
        }
      },
      options);
}

}  // namespace
}  // namespace tasuki::test
