// Which form a file's range locks have: see range_locks.hpp.
#include "io/shared/range_locks.hpp"

#include <algorithm>

#include "io/shared/mapped_range_locks.hpp"
#include "io/shared/served_range_locks.hpp"
#include "job/directory.hpp"
#include "node/node.hpp"

namespace tasuki {

std::unique_ptr<RangeLocks> make_range_locks(Comm& comm, std::uint64_t identity, SharedState& state,
                                             const std::unique_ptr<OwnerService>& job_locks) {
  identity = std::max<std::uint64_t>(identity, 1);
  const Process& process = comm.process;
  const auto& endpoints = comm.group->endpoints;
  const bool one_job =
      std::all_of(endpoints.begin(), endpoints.end(), [&](int endpoint) { return endpoint < process.size; });
  if (!one_job) return state.make_locks(identity);
  if (process.directory.nodes() > 1)
    return std::make_unique<JobRangeLocks>(job_locks, process.size, identity, state.make_locks(identity));
  std::byte* const table = process.node.file_locks();
  if (table == nullptr) return state.make_locks(identity);
  return std::make_unique<MappedRangeLocks>(comm.process, table, identity);
}

}  // namespace tasuki
