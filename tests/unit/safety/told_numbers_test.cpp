// What a rank makes of lengths and amounts that others tell it in messages of the library's own: where they
// cannot be, a message that says whose memory is damaged, before any memory is taken by them.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "coll/byte_collectives.hpp"
#include "communicator/api.hpp"
#include "communicator/topology_exchange.hpp"
#include "dynamic/api.hpp"
#include "io/file/agreed_hints.hpp"
#include "io/file/agreement.hpp"
#include "io/hints/hint_table.hpp"
#include "io/support.hpp"
#include "object/api.hpp"
#include "object/topology.hpp"
#include "p2p/ranks.hpp"
#include "support/child.hpp"

namespace tasuki::test {
namespace {

constexpr double kSecondsMax = 30;
constexpr int kVictim = 0;
constexpr int kTeller = 1;

/// The job must end with these words, and soon.
void expect_told(const std::string& words, int teller, const std::function<void()>& job) {
  const Ending ending = run_in_child(job, kSecondsMax);
  EXPECT_EQ(ending.how, Ended::kTold) << words << "\n" << ending.text;
  const std::string whose = "memory shared with rank " + std::to_string(teller) + " is damaged: ";
  EXPECT_NE(ending.text.find(whose + words), std::string::npos) << words << "\n" << ending.text;
}

void expect_told_in_world(const std::string& words, const std::function<void(Rank&)>& victim,
                          const std::function<void(Rank&)>& teller) {
  expect_told(words, kTeller, [&] {
    run_ranks(2, [&](Process& process) {
      Rank rank(process);
      (rank.rank == kVictim ? victim : teller)(rank);
    });
  });
}

TEST(ToldNumbers, OfSpawnedProcessesAreLookedAt) {
  const auto spawn = [](Rank& rank) {
    Comm* inter = nullptr;
    std::vector<int> codes;
    static_cast<void>(
        api::comm_spawn(rank.process, "none", nullptr, 1, nullptr, kTeller, rank.world, &inter, &codes));
  };
  expect_told_in_world("the number of processes to spawn", spawn, [](Rank& rank) {
    std::array<std::int32_t, 2> counts = {-1, 1};
    bcast_bytes(*rank.world, counts.data(), sizeof counts, kTeller);
  });
}

TEST(ToldNumbers, OfAGraphsEdgesAreLookedAt) {
  const auto create = [](Rank& rank) {
    Comm* graph = nullptr;
    const int degree = 1;
    static_cast<void>(api::dist_graph_create(rank.process, rank.world, 1, &rank.rank, &degree, &kTeller,
                                             kUnweighted, nullptr, false, &graph));
  };
  for (const Count told : {Count{-24}, Count{7}, Count{1} << 50}) {
    expect_told_in_world("the number of edges of a graph", create, [told](Rank& rank) {
      const int weighted = 0;
      TopologyAgreement agreed;
      const TopologyShare share{.fingerprint =
                                    fingerprint(3, &weighted, 1)};  // as of a graph without weights
      ASSERT_EQ(exchange_shares(*rank.world, share, false, &agreed), kSuccess);
      const std::array<Count, 2> out = {told, 0};
      std::array<Count, 2> in = {};
      alltoall_bytes(*rank.world, out.data(), in.data(), sizeof(Count));
    });
  }
}

TEST(ToldNumbers, OfTheLengthOfHintsAreLookedAt) {
  for (const std::int64_t told : {std::int64_t{-1}, std::int64_t{1} << 40}) {
    expect_told("the length of its hints", 0, [told] {
      with_file(2, [told](Process& process, File& file) {
        if (process.rank != 0) {
          static_cast<void>(change_hints(file, nullptr));
          return;
        }
        std::int64_t bytes = told;
        static_cast<void>(agree(*file.comm, kSuccess, 1));
        bcast_bytes(*file.comm, &bytes, sizeof bytes, 0);
      });
    });
  }
}

}  // namespace
}  // namespace tasuki::test
