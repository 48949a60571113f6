// What the tests of point-to-point communication share: terse calls on one rank, and data that names the rank
// that made it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "base/predefined.hpp"
#include "base/process.hpp"
#include "datatype/call/api.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/point_to_point.hpp"
#include "support/pattern.hpp"
#include "support/world.hpp"

namespace tasuki::test {

/// One rank, and MPI in a few letters.
struct Rank {
  explicit Rank(Process& owner)
      : process(owner),
        world(owner.objects->world),
        self(owner.objects->self),
        rank(owner.rank),
        size(owner.size),
        byte(type(kMpiByte)),
        integer(type(kMpiInt)) {}

  Datatype* type(Predefined number) { return static_cast<Datatype*>(process.objects->predefined[number]); }
  Code send(const Bytes& data, int dest, int tag) {
    return api::send(process, data.data(), static_cast<Count>(data.size()), byte, dest, tag, world);
  }
  Request* isend(const Bytes& data, int dest, int tag) {
    Request* request = nullptr;
    EXPECT_EQ(
        api::isend(process, data.data(), static_cast<Count>(data.size()), byte, dest, tag, world, &request),
        0);
    return request;
  }
  Request* issend(const Bytes& data, int dest, int tag) {
    Request* request = nullptr;
    EXPECT_EQ(
        api::issend(process, data.data(), static_cast<Count>(data.size()), byte, dest, tag, world, &request),
        0);
    return request;
  }
  Code recv(Bytes& data, int source, int tag, Status* status = nullptr) {
    return api::recv(process, data.data(), static_cast<Count>(data.size()), byte, source, tag, world, status);
  }
  Request* irecv(Bytes& data, int source, int tag) {
    Request* request = nullptr;
    EXPECT_EQ(
        api::irecv(process, data.data(), static_cast<Count>(data.size()), byte, source, tag, world, &request),
        0);
    return request;
  }
  Code wait(Request*& request, Status* status = nullptr) { return api::wait(process, &request, status); }
  Code waitall(std::vector<Request*>& requests, Status* statuses = nullptr) {
    return api::waitall(process, static_cast<Count>(requests.size()), requests.data(), statuses);
  }
  bool test(Request*& request, Status* status = nullptr) {
    bool flag = false;
    EXPECT_EQ(api::test(process, &request, &flag, status), 0);
    return flag;
  }
  /// All ranks have come here. Zero-byte messages around the ring, twice.
  void barrier() {
    constexpr int kTag = kTagMax;
    Bytes none;
    for (int lap = 0; lap < 2; ++lap) {
      if (rank == 0) {
        send(none, (rank + 1) % size, kTag);
        recv(none, (rank + size - 1) % size, kTag);
      } else {
        recv(none, rank - 1, kTag);
        send(none, (rank + 1) % size, kTag);
      }
    }
  }
  std::string text(Code code) { return process.errors.text(code); }

  Process& process;
  Comm* world;
  Comm* self;
  int rank;
  int size;
  Datatype* byte;
  Datatype* integer;
};

/// Runs `body` on `size` ranks over the shared-memory rings, then over the toy network.
inline void on_both_networks(int size, const std::function<void(Rank&)>& body) {
  for (const Network network : {Network::kSharedMemory, Network::kInproc}) {
    SCOPED_TRACE(network == Network::kInproc ? "in-process network" : "shared-memory rings");
    WorldOptions options;
    options.network = network;
    run_ranks(
        size,
        [&](Process& process) {
          Rank rank(process);
          body(rank);
        },
        options);
  }
}

/// Sizes at the edges of the protocols: short, one bulk, several bulks, long.
inline std::vector<std::size_t> edge_sizes(Rank& rank) {
  const auto& p2p = *rank.process.p2p;
  const auto bulk = static_cast<std::size_t>(p2p.bulk_bytes_max);
  const auto eager = static_cast<std::size_t>(p2p.table.eager_bytes_max);
  return {0,     1,         8,        39,   40,       41,           64,           100,
          eager, eager + 1, bulk - 1, bulk, bulk + 1, 2 * bulk + 7, 50 * bulk + 3};
}

}  // namespace tasuki::test
