// Two worlds of ranks as threads that meet at a port: messages, collectives and a merge across jobs, one
// connection after another, and every way in which a port can be the wrong one.
#include <gtest/gtest.h>

#include <barrier>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "coll/api.hpp"
#include "communicator/api.hpp"
#include "dynamic/api.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "p2p/remote_job.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

Datatype& integer(Process& process) {
  return *predefined_object<Datatype>(*process.objects, kMpiInt);
}
Op* sum(Process& process) {
  return predefined_object<Op>(*process.objects, kMpiSum);
}

/// Runs `server` with `servers` ranks and `client` with `clients` at once, as two jobs. Both get the name of
/// a port that the server's rank 0 has open.
using Body = std::function<void(Process&, const std::string& port)>;
void run_two_jobs(int servers, int clients, const Body& server, const Body& client,
                  ThreadLevel level = ThreadLevel::kSingle) {
  std::promise<std::string> opened;
  const std::shared_future<std::string> port = opened.get_future().share();
  test::WorldOptions options;
  options.thread_level = level;
  options.job = 11;
  std::barrier both_ended(2);
  // The two see each other's memory through mappings that the thread sanitizer cannot connect.
  std::barrier all_begun(servers + clients);
  options.before_memory_goes = [&both_ended] { both_ended.arrive_and_wait(); };
  std::thread other([&] {
    test::WorldOptions client_options = options;
    client_options.job = 22;
    test::run_ranks(
        clients,
        [&](Process& process) {
          all_begun.arrive_and_wait();
          client(process, port.get());
        },
        client_options);
  });
  test::run_ranks(
      servers,
      [&](Process& process) {
        all_begun.arrive_and_wait();
        if (process.rank == 0) {
          std::string name;
          ASSERT_EQ(api::open_port(process, nullptr, &name), kSuccess);
          opened.set_value(name);
        }
        server(process, port.get());
      },
      options);
  other.join();
}

void free_comm(Process& process, Comm* comm) {
  EXPECT_EQ(api::comm_disconnect(process, &comm), kSuccess);
  EXPECT_EQ(comm, nullptr);
}

/// Every process sends something of any size to every one on the other side.
void talk(Process& process, Comm& inter, int ints) {
  const int others = inter.remote_group->size();
  std::vector<Request*> requests;
  std::vector<std::vector<int>> in(static_cast<std::size_t>(others),
                                   std::vector<int>(static_cast<std::size_t>(ints)));
  const std::vector<int> out(static_cast<std::size_t>(ints), 100 * inter.rank + 7);
  for (int peer = 0; peer < others; ++peer) {
    requests.emplace_back();
    ASSERT_EQ(api::irecv(process, in[static_cast<std::size_t>(peer)].data(), ints, &integer(process), peer, 3,
                         &inter, &requests.back()),
              kSuccess);
    requests.emplace_back();
    ASSERT_EQ(api::isend(process, out.data(), ints, &integer(process), peer, 3, &inter, &requests.back()),
              kSuccess);
  }
  ASSERT_EQ(api::waitall(process, static_cast<Count>(requests.size()), requests.data(), nullptr), kSuccess);
  for (int peer = 0; peer < others; ++peer)
    for (const int value : in[static_cast<std::size_t>(peer)]) ASSERT_EQ(value, 100 * peer + 7);
}

/// The sum of 1 over a merged communicator, in which each job has a rank of its own.
void merge_and_sum(Process& process, Comm* inter, bool high) {
  Comm* merged = nullptr;
  ASSERT_EQ(api::intercomm_merge(process, inter, high, &merged), kSuccess);
  const int size = inter->size() + inter->remote_group->size();
  ASSERT_EQ(merged->size(), size);
  int mine = merged->rank;
  int total = -1;
  ASSERT_EQ(api::allreduce(process, &mine, &total, 1, &integer(process), sum(process), merged), kSuccess);
  EXPECT_EQ(total, size * (size - 1) / 2);
  Comm* half = nullptr;
  ASSERT_EQ(api::comm_split(process, merged, merged->rank % 2, 0, &half), kSuccess);
  ASSERT_EQ(api::barrier(process, half), kSuccess);
  free_comm(process, half);
  free_comm(process, merged);
}

class Meeting : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(Meeting, MessagesAndCollectivesAcrossJobs) {
  const int servers = GetParam().first, clients = GetParam().second;
  const auto work = [](Process& process, Comm* inter, bool high) {
    for (const int ints : {1, 100, 1000, 30000}) talk(process, *inter, ints);
    merge_and_sum(process, inter, high);
    free_comm(process, inter);
  };
  run_two_jobs(
      servers, clients,
      [&](Process& process, const std::string& port) {
        Comm* inter = nullptr;
        ASSERT_EQ(api::comm_accept(process, port.c_str(), nullptr, 0, process.objects->world, &inter),
                  kSuccess);
        EXPECT_EQ(inter->remote_group->size(), clients);
        work(process, inter, false);
      },
      [&](Process& process, const std::string& port) {
        Comm* inter = nullptr;
        const int root = process.size - 1;
        ASSERT_EQ(api::comm_connect(process, process.rank == root ? port.c_str() : nullptr, nullptr, root,
                                    process.objects->world, &inter),
                  kSuccess);
        EXPECT_EQ(inter->remote_group->size(), servers);
        work(process, inter, true);
      });
}

INSTANTIATE_TEST_SUITE_P(Sizes, Meeting,
                         testing::Values(std::pair(1, 1), std::pair(1, 3), std::pair(4, 1), std::pair(3, 2)));

TEST(Ports, OneConnectionAfterAnother) {
  constexpr int kTimes = 20;
  run_two_jobs(
      2, 2,
      [](Process& process, const std::string& port) {
        for (int time = 0; time < kTimes; ++time) {
          Comm* inter = nullptr;
          ASSERT_EQ(api::comm_accept(process, port.c_str(), nullptr, 0, process.objects->world, &inter),
                    kSuccess);
          talk(process, *inter, 10);
          free_comm(process, inter);
        }
      },
      [](Process& process, const std::string& port) {
        for (int time = 0; time < kTimes; ++time) {
          Comm* inter = nullptr;
          ASSERT_EQ(api::comm_connect(process, port.c_str(), nullptr, 0, process.objects->world, &inter),
                    kSuccess);
          talk(process, *inter, 10);
          free_comm(process, inter);
        }
        // Both sides are known since the first time.
        EXPECT_EQ(process_name(process, 2).job, 11u);
      });
}

TEST(Ports, RanksOfOneJobMeet) {
  test::WorldOptions options;
  options.job = 5;
  test::run_ranks(
      3,
      [](Process& process) {
        Comm* world = process.objects->world;
        Comm* side = nullptr;
        ASSERT_EQ(api::comm_split(process, world, process.rank == 0 ? 0 : 1, 0, &side), kSuccess);
        char name[256] = "";
        if (process.rank == 0) {
          std::string port;
          ASSERT_EQ(api::open_port(process, nullptr, &port), kSuccess);
          port.copy(name, sizeof name - 1);
        }
        ASSERT_EQ(api::bcast(process, name, sizeof name,
                             predefined_object<Datatype>(*process.objects, kMpiByte), 0, world),
                  kSuccess);
        Comm* inter = nullptr;
        const Code code = process.rank == 0 ? api::comm_accept(process, name, nullptr, 0, side, &inter)
                                            : api::comm_connect(process, name, nullptr, 0, side, &inter);
        ASSERT_EQ(code, kSuccess);
        talk(process, *inter, 5000);
        free_comm(process, inter);
        free_comm(process, side);
      },
      options);
}

void expect_error(Process& process, Code code, int error_class, const std::string& text) {
  EXPECT_EQ(error_class_bits(code), error_class);
  EXPECT_NE(process.errors.text(code).find(text), std::string::npos) << process.errors.text(code);
}

TEST(Ports, TheRootsErrorIsEverybodys) {
  test::run_ranks(3, [](Process& process) {
    Comm* world = process.objects->world;
    Comm* inter = nullptr;
    expect_error(process, api::comm_connect(process, "nonsense", nullptr, 1, world, &inter), kErrPort,
                 "port_name = \"nonsense\", expected a name that MPI_Open_port gave");
    expect_error(process, api::comm_connect(process, nullptr, nullptr, 1, world, &inter), kErrPort,
                 "expected");
    expect_error(process, api::comm_accept(process, "tasuki:1.2.3.4.5.6.7", nullptr, 2, world, &inter),
                 kErrPort, "expected a port that this process has open");
    EXPECT_EQ(inter, nullptr);
    ASSERT_EQ(api::barrier(process, world), kSuccess);
  });
}

TEST(Ports, AClosedPortIsToldAtOnce) {
  run_two_jobs(
      1, 2,
      [](Process& process, const std::string& port) {
        std::string other;
        ASSERT_EQ(api::open_port(process, nullptr, &other), kSuccess);
        ASSERT_NE(other, port);
        ASSERT_EQ(api::close_port(process, other.c_str()), kSuccess);
        expect_error(process, api::close_port(process, other.c_str()), kErrPort, "expected a port");
        Comm* inter = nullptr;
        ASSERT_EQ(api::comm_accept(process, port.c_str(), nullptr, 0, process.objects->self, &inter),
                  kSuccess);
        ASSERT_EQ(api::send(process, other.data(), static_cast<Count>(other.size()),
                            predefined_object<Datatype>(*process.objects, kMpiByte), 0, 1, inter),
                  kSuccess);
        free_comm(process, inter);
      },
      [](Process& process, const std::string& port) {
        Comm* inter = nullptr;
        ASSERT_EQ(api::comm_connect(process, port.c_str(), nullptr, 0, process.objects->world, &inter),
                  kSuccess);
        char closed[256] = "";
        if (process.rank == 0) {
          ASSERT_EQ(api::recv(process, closed, sizeof closed,
                              predefined_object<Datatype>(*process.objects, kMpiByte), 0, 1, inter, nullptr),
                    kSuccess);
        }
        Comm* none = nullptr;
        expect_error(process, api::comm_connect(process, closed, nullptr, 0, process.objects->world, &none),
                     kErrPort, "is not open");
        free_comm(process, inter);
      });
}

TEST(Ports, AConnectorGivesUpAndTheNextIsTaken) {
  run_two_jobs(
      1, 1,
      [](Process& process, const std::string& port) {
        // Accepts only when the first attempt has timed out: its hello is still in the queue then.
        timespec pause{0, 400'000'000};
        nanosleep(&pause, nullptr);
        Comm* inter = nullptr;
        ASSERT_EQ(api::comm_accept(process, port.c_str(), nullptr, 0, process.objects->self, &inter),
                  kSuccess);
        talk(process, *inter, 3);
        free_comm(process, inter);
      },
      [](Process& process, const std::string& port) {
        Info* info = nullptr;
        ASSERT_EQ(api::info_create(process, &info), kSuccess);
        ASSERT_EQ(api::info_set(process, info, "timeout", "0.1"), kSuccess);
        Comm* inter = nullptr;
        expect_error(process,
                     api::comm_connect(process, port.c_str(), info, 0, process.objects->self, &inter),
                     kErrPort, "no process accepted within 0.1 s");
        ASSERT_EQ(api::info_set(process, info, "timeout", "soon"), kSuccess);
        expect_error(process,
                     api::comm_connect(process, port.c_str(), info, 0, process.objects->self, &inter),
                     kErrInfoValue, "timeout = \"soon\"");
        ASSERT_EQ(api::info_free(process, &info), kSuccess);
        ASSERT_EQ(api::comm_connect(process, port.c_str(), nullptr, 0, process.objects->self, &inter),
                  kSuccess);
        talk(process, *inter, 3);
        free_comm(process, inter);
      });
}

}  // namespace
}  // namespace tasuki
