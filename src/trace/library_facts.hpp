// What the MPI library tells of itself while it is recorded: its performance variables (MPI 15.3.7), read
// after a call. Compiled once for each ABI. A library that has no variables of these names tells nothing.
//
// Each reading takes some tens of nanoseconds, so of each call only what concerns it is asked. Thread safety:
// the recorder's lock protects it.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "trace/record.hpp"

namespace tasuki::trace::TASUKI_TRACE_ABI {

/// From this size on it matters which way a message takes.
inline constexpr std::int64_t kMuchBytes = 4096;

class LibraryFacts {
 public:
  static LibraryFacts& get();

  /// Finds the variables. Called once MPI_Init has returned.
  void open();

  /// How many messages have come for which no receive is posted.
  void tell_queue(Record* record);
  /// The way of the messages that were sent or received since this was last asked; of several that with the
  /// most bytes.
  void tell_way(Record* record);
  /// The algorithm of the last collective, and what the model said.
  void tell_algorithm(Record* record);

 private:
  static constexpr int kWays = 6;
  static constexpr int kAlgorithmsMax = 512;

  struct Variable {
    MPI_T_pvar_handle handle;
    bool there = false;
  };

  Variable find(const char* name, int kind);
  std::uint64_t read(Variable& variable);
  std::uint32_t number_of_algorithm(std::uint64_t item);

  MPI_T_pvar_session session_;
  MPI_T_enum algorithms_;
  Variable queue_;
  Variable ways_[kWays][2];  // bytes sent and received
  std::uint64_t moved_[kWays] = {};
  bool named_ways_[kWays] = {};
  bool named_algorithms_[kAlgorithmsMax] = {};
  Variable algorithm_, runner_up_, predicted_, runner_up_predicted_;
};

}  // namespace tasuki::trace::TASUKI_TRACE_ABI
