// run_ranks: a world of N ranks as threads of the test program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/distance_tables.hpp"
#include "base/process.hpp"
#include "base/system/clock.hpp"
#include "base/types.hpp"
#include "link/waiter.hpp"
#include "support/scripted_ranks.hpp"
#include "support/thread_machine.hpp"

namespace tasuki::test {

enum class Network { kSharedMemory, kInproc };

struct WorldOptions {
  Network network = Network::kSharedMemory;  // the real rings, in this program's memory; or the toy
  bool symmetric_heap = true;                // the ranks may write into each other's buffers
  bool odd_ranks_private = false;            // but for those of odd ranks
  bool odd_heaps_private = false;            // but for what odd ranks do not allocate there
  bool reach_nobody = false;                 // it is global, but nobody can map it (forbidden)
  bool file_locks = true;                    // the ranks share locks on the ranges of files
  ThreadLevel thread_level = ThreadLevel::kSingle;
  std::uint64_t job = 0;        // worlds that meet have different ones
  std::vector<int> nodes = {};  // of each rank, with a network between them (on real rings); empty: one node
  bool late_copies = false;     // of the toy: memory that keys name is copied late, past packets
  /// Called before the ranks start: the memory that they share, for tests that damage it.
  std::function<void(ThreadMachine&)> with_machine = [](ThreadMachine&) {};
  /// The time in which the ranks live, and how they wait for what a link brings; null: the usual ones.
  const Clock* clock = nullptr;
  std::function<std::unique_ptr<Waiter>(Link&)> make_waiter = [](Link&) { return nullptr; };
  /// The ranks run one at a time, in its order and in its time; null: as their threads do. Of the toy.
  ScriptedRanks* script = nullptr;
  /// Called when all ranks have ended, before their memory goes: worlds that met ring each other's doorbells.
  std::function<void()> before_memory_goes = [] {};
  Config config{.eager_bytes_max = 1024,
                .sender_write_bytes_min = 512,
                .waiting_get_bytes_min = 8 * 1024,
                .cooperative_bytes_min = 8 * 1024,
                .stream_bytes_min = kNeverStreamed,
                .ring_bytes = 16 * 1024,
                .spin_count = 16};  // small: full FIFOs are common
};

/// With the built-in parameters for this maker's processors: of a test that looks at what is chosen by them.
WorldOptions with_processor(ProcessorMaker maker);

/// Runs `body` once per rank, each in a thread with a Process of its own, from init to finalize. A rank that
/// is still running after 900 s, which only guards against a hang, aborts the test program with a message
/// that names the ranks that hang.
void run_ranks(int size, const std::function<void(Process&)>& body, const WorldOptions& options = {});

}  // namespace tasuki::test
