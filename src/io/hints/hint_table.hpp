// IoHints: what a file's ranks go by, from the user's hints (MPI 14.2.8, ROMIO's, ours) or by themselves; and
// the table of hints, which says of each how it is read, when it counts and how MPI_File_get_info shows it.
// docs/io.md has the same table for users.
//
// The values are alike at all ranks of a file, but for those of independent access: rank 0's count, and
// TASUKI_EXPLAIN reports ranks that gave other values. Rank 0's file of hints (io/hints/system_hints.hpp)
// comes before the info of MPI_File_open, which wins.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.hpp"
#include "io/plan/aggregators.hpp"
#include "io/plan/exchange_order.hpp"
#include "storage/driver.hpp"

namespace tasuki {

/// How data gets from its owners to the aggregators (tasuki_io_exchange).
enum class ExchangeBy : std::uint8_t {
  kAutomatic,  // by memory within a node where that can be, else by messages
  kMessages,
};

struct IoHints {
  HintSwitch collective_read = HintSwitch::kAutomatic;   // romio_cb_read, collective_buffering
  HintSwitch collective_write = HintSwitch::kAutomatic;  // romio_cb_write, collective_buffering
  HintSwitch sieve_read = HintSwitch::kAutomatic;        // romio_ds_read
  HintSwitch sieve_write = HintSwitch::kAutomatic;       // romio_ds_write
  bool no_independent_access = false;                    // romio_no_indep_rw
  Count collective_buffer_bytes = 16 << 20;              // cb_buffer_size
  bool collective_buffer_given = false;                  // else it is the most that is taken
  Count block_bytes = 0;  // cb_block_size: domains are stripes of it; 0: blocks
  // A window of data sieving: what stays in the processor's cache; less to write, as others wait meanwhile.
  Count sieve_read_bytes = 256 << 10;  // ind_rd_buffer_size
  Count sieve_write_bytes = 64 << 10;  // ind_wr_buffer_size
  // cb_nodes, cb_config_list, tasuki_io_aggregators; nothing asked for: their number is the model's.
  AggregatorRequest aggregators;
  ExchangeOrder order = ExchangeOrder::kWeighted;  // tasuki_io_order
  ExchangeBy exchange = ExchangeBy::kAutomatic;    // tasuki_io_exchange
  HintSwitch io_uring = HintSwitch::kAutomatic;    // tasuki_io_uring
  int striping_factor = 0;                         // storage targets; 0: as the file system has it
  Count striping_unit_bytes = 0;                   // 0: likewise
  int start_device = -1;                           // start_iodevice, romio_lustre_start_iodevice; -1: any
  int lustre_co_ratio = 1;                         // romio_lustre_co_ratio: aggregators for each target
  Count lustre_collective_bytes_max = 0;           // romio_lustre_coll_threshold; 0: none
  int permissions = -1;                            // file_perm; -1: not given

  /// Whether ranks open the file when they first need it: a program that said that all access will be
  /// collective, and did not switch that off, means so.
  bool defers_open() const {
    return no_independent_access && collective_read != HintSwitch::kDisable &&
           collective_write != HintSwitch::kDisable;
  }
};

enum class HintScope : std::uint8_t {
  kFile,  // rank 0's counts for all
  kRank,  // each rank's own counts for it; where it gave none, that of rank 0's file of hints
};

/// What MPI_File_get_info shows of an open file.
struct HintsInForce {
  const IoHints& hints;
  const Striping& striping;
  const std::vector<int>& aggregators;  // ranks; empty: not chosen yet
};

struct HintRule {
  const char* key;
  HintScope scope;
  bool only_at_open;     // what MPI_File_set_info and MPI_File_set_view say comes too late
  const char* expected;  // of the value, in words
  /// Returns false for a value that is not as expected, and changes nothing then.
  bool (*take)(IoHints* hints, const std::string& value);
  /// The value in force; empty: there is none to show.
  std::string (*show)(const HintsInForce& file);
};

/// In the order in which they are taken: of two that set the same, the later one wins.
std::span<const HintRule> hint_rules();
const HintRule* find_hint_rule(std::string_view key);

/// Why a hint that others know changes nothing here; null for one that is not known at all.
const char* why_without_effect(std::string_view key);

}  // namespace tasuki
