// How the ranks of a file take hints: rank 0 tells the others what it was given, each adds its own, and the
// hints that took no effect are explained (TASUKI_EXPLAIN). The table of hints is io/hints/hint_table.hpp.
//
// Thread safety: the process lock.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "io/file/agreement.hpp"
#include "io/hints/system_hints.hpp"

namespace tasuki {

struct File;
struct Info;

/// What a rank brings to the agreement on hints.
struct OfferedHints {
  HintList own;            // of its info, of those that count for all
  HintList for_all;        // rank 0: what counts for all; at others `own`
  std::int64_t value = 0;  // its Ballot::value, by which the ranks see whether they differ
};

/// Take the hints of `info` (may be null): those that are known for files and whose values make sense; the
/// others are ignored and explained. Collective.
///
/// For MPI_File_open, before the file itself is opened: what offer_first_hints() gives is part of an
/// agreement, and with what all ranks brought to it (`ballots`) take_first_hints() goes on. `comm`: of the
/// file's ranks.
OfferedHints offer_first_hints(Comm& comm, const Info* info);
Code take_first_hints(File& file, Comm& comm, const Info* info, const OfferedHints& offered,
                      const std::vector<Ballot>& ballots);
/// Of an open file: no rank returns before all have come.
Code change_hints(File& file, const Info* info);

/// Once the file is open: explains what of the hints its file system cannot do.
void explain_hints_of_storage(const File& file, const Info* info);

}  // namespace tasuki
