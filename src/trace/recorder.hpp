// The recorder of one process: collects calls in memory and appends them, a block at a time, to the rank's
// part file. It knows nothing of MPI's types, so both ABIs share it (call.hpp uses it).
//
// There is one, made at its first use and never destroyed, since calls may come until the process ends.
// Threads may call it at the same time once `set_threaded()` was called; Lock is its lock then. What it holds
// is bounded: kRecordsMax calls, or what comes within kFlushNs and a call.
//
// Invariants:
//  1. A part file holds whole blocks, but for the one that is being written when the process dies.
//  2. Nothing is written before open(), which gives the identity of this process; and nothing by a child of
//  fork().
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/encode.hpp"
#include "trace/place/python_place.hpp"
#include "trace/processor_times.hpp"
#include "trace/record.hpp"
#include "trace/requests.hpp"

namespace tasuki::trace {

/// The ranks in MPI_COMM_WORLD of a group's members.
class RankMap {
 public:
  explicit RankMap(std::vector<std::int32_t> ranks) : ranks_(std::move(ranks)) {}
  std::int32_t world_rank(int rank) const {
    return rank >= 0 && rank < static_cast<int>(ranks_.size()) ? ranks_[static_cast<std::size_t>(rank)]
                                                               : kOtherWorld;
  }
  const std::vector<std::int32_t>& ranks() const { return ranks_; }

 private:
  std::vector<std::int32_t> ranks_;
};

/// A communicator, a window or a file.
struct Group {
  std::uint32_t number = 0;
  int size = 0;      // of the local group
  int rank = 0;      // in it
  int sources = -1;  // how many neighbours send to this rank and receive from it; -1: not known yet
  int destinations = -1;
  const RankMap* peers = nullptr;  // of an intercommunicator: the remote group
};

enum class Holder : std::uint8_t { kCommunicator, kWindow, kFile };

/// The identity of a process, for the head of its part.
struct Identity {
  int rank = 0;
  int size = 1;
  const char* abi = "";
  std::string library;
  std::int64_t clock_offset_ns = 0;  // what rank 0's clock shows more than ours
  std::int64_t clock_error_ns = 0;   // by how much that may be wrong
};

/// What a call is, and where the program makes it.
struct Origin {
  const char* function = "";
  const void* site = nullptr;           // null: not known
  const PythonPlace* python = nullptr;  // the line of Python from which that code was called; null: none
};

class Recorder {
 public:
  static Recorder& get();

  void set_threaded() { threaded_ = true; }
  bool recording() const { return recording_; }
  bool opened() const { return fd_ >= 0; }
  std::int64_t ticks() const { return counter_ ? read_counter_ticks() : monotonic_ticks(); }

  /// Sets the identity of this process, and makes the part file. Where that fails nothing is recorded.
  void open(const Identity& identity);
  /// Writes what is there, and that the trace is whole.
  void close();
  /// Writes what is there.
  void flush();
  /// MPI_Pcontrol.
  void pause(bool paused) { recording_ = !paused && !broken_; }
  void set_phase(const std::string& name);

  class Lock {
   public:
    explicit Lock(Recorder& recorder) : recorder_(recorder.threaded_ ? &recorder : nullptr) {
      if (recorder_ != nullptr) pthread_mutex_lock(&recorder_->mutex_);
    }
    ~Lock() {
      if (recorder_ != nullptr) pthread_mutex_unlock(&recorder_->mutex_);
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    Recorder* recorder_;
  };

  // All that follows REQUIRES: the lock is held.

  /// Takes over a call: `record` with its `done`, and the persistent serials in `started` for kStarts.
  void append(Record record, const std::vector<Done>& done, const std::vector<std::int64_t>& started,
              const Origin& origin);
  /// The number of the next request that is made.
  std::int64_t next_request() const { return requests_; }
  OpenRequests& open_requests() { return open_requests_; }

  Group* find_group(Holder holder, std::uintptr_t handle);
  /// Enters a group; `peers` are world ranks, those of the remote group in an intercommunicator.
  Group* add_group(Holder holder, std::uintptr_t handle, const std::vector<std::int32_t>& members,
                   const std::vector<std::int32_t>* remote, int rank, const std::string& name);
  /// A text for a number that stands in a column.
  void define(char kind, std::uint64_t number, const std::string& text);
  void name_group(const Group& group, const std::string& name);
  void forget_group(Holder holder, std::uintptr_t handle);

 private:
  Recorder();
  static std::int64_t read_counter_ticks();
  static std::int64_t monotonic_ticks();
  bool joins_last(const Record& record) const;
  std::uint16_t number_of(std::size_t function, const char* name);
  std::uint32_t number_of_site(const void* site, const PythonPlace* python);
  const RankMap* map_of(const std::vector<std::int32_t>& ranks);
  void write_block(const char kind[4], const std::string& payload);
  void write_records();
  void add_own_record(std::int64_t begin);
  void give_up(const char* what);

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  bool threaded_ = false;
  bool counter_ = false;
  std::atomic<bool> recording_ = true;
  bool broken_ = false;
  int pid_ = 0;
  int fd_ = -1;
  std::string path_;
  ProcessorTimes processor_times_;  // at open()
  TickLine line_;                   // from the last block's end on
  std::int64_t flush_due_ = 0;      // ticks
  std::int64_t flush_ticks_ = 0;    // between two flushes at most
  std::vector<Record> records_;
  std::uint64_t own_records_ = 0;  // of them: see add_own_record()
  std::vector<Done> done_;
  std::vector<std::int64_t> started_;
  std::vector<std::string> definitions_;
  std::int64_t requests_ = 0;         // made so far
  std::int64_t requests_before_ = 0;  // made before the first of records_
  OpenRequests open_requests_;
  std::vector<std::uint16_t> numbers_;  // of the functions in this part, from 1 as they come; 0: not yet
  std::uint16_t functions_made_ = 0;
  std::unordered_map<std::uint64_t, Group*> groups_[3];  // by handle, for each Holder
  Group* last_[3] = {};
  std::uintptr_t last_handle_[3] = {};
  std::uint32_t groups_made_ = 0;
  std::unordered_multimap<std::uint64_t, const RankMap*> maps_;  // by a hash of the ranks
  struct KnownSite {
    const void* site = nullptr;
    const PythonPlace* python = nullptr;
    std::uint32_t number = 0;
  };
  static constexpr std::size_t kKnownSites = 256;
  KnownSite last_sites_[kKnownSites];  // by some bits of the address: those that were last called from
  std::unordered_map<const PythonPlace*, std::unordered_map<const void*, std::uint32_t>> sites_;
  std::uint32_t sites_made_ = 0;
  std::unordered_map<std::string, std::uint32_t> phases_;
  std::uint32_t phase_ = 0;
};

}  // namespace tasuki::trace
