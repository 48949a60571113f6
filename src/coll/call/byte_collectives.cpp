// The collectives that the core uses itself: see coll/byte_collectives.hpp.
#include <utility>

#include "coll/byte_collectives.hpp"
#include "coll/call/intercommunicator.hpp"
#include "coll/run/execution.hpp"
#include "coll/shm/flag_collectives.hpp"
#include "datatype/predefined.hpp"
#include "object/objects.hpp"

namespace tasuki {
namespace {

constexpr Count kWindowBytes = 64 * 1024;

auto bcast_bytes_plan(void* data, Count bytes, int root) {
  return [=](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kInternal, {.root = root, .bytes = bytes});
    execution.arguments.receive = data;
    bcast_binomial(execution.schedule, execution.self(), root,
                   {.element = ElementType::kBytes, .count = bytes});
    return 0;
  };
}

auto allgather_bytes_plan(const void* mine, void* all, Count bytes) {
  return [=](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kInternal, {.bytes = bytes});
    execution.arguments.send = mine;
    execution.arguments.receive = all;
    plan_chosen_allgather(execution, {.space = Space::kSend, .element = ElementType::kBytes, .count = bytes},
                          {.element = ElementType::kBytes, .count = bytes});
    return 0;
  };
}

/// Where there is no memory for it the request is over, with that error.
Request* start_plan(Comm& comm, Execution& execution, std::function<void()> then) {
  auto* request = new CollectiveRequest(comm);
  request->then = std::move(then);
  if (const Code code = comm.process.collectives->admit(execution)) {
    request->status.error = comm.process.collectives->refuse(execution, code);
    request->complete();
    return request;
  }
  comm.process.collectives->start(execution, *request);
  return request;
}

}  // namespace

Code barrier_by_messages(Comm& comm) {
  return run_collective(comm, [](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kInternal);
    barrier_dissemination(execution.schedule, execution.self());
    return 0;
  });
}

Code allgather_bytes(Comm& comm, const void* mine, void* all, Count bytes) {
  if (NodeSegment* segment = comm.slots.get(kNodeSegmentSlot); segment != nullptr) {
    const auto* byte = predefined_object<Datatype>(*comm.process.objects, kMpiByte);
    Code code = kSuccess;
    if (flag_allgather(comm, *segment, mine, bytes, byte, all, bytes, *byte, &code)) return code;
  }
  return run_collective(comm, allgather_bytes_plan(mine, all, bytes));
}

Code bcast_bytes(Comm& comm, void* data, Count bytes, int root) {
  if (NodeSegment* segment = comm.slots.get(kNodeSegmentSlot); segment != nullptr) {
    const auto& byte = *predefined_object<Datatype>(*comm.process.objects, kMpiByte);
    Code code = kSuccess;
    if (flag_bcast(comm, *segment, data, bytes, byte, root, &code)) return code;
  }
  return run_collective(comm, bcast_bytes_plan(data, bytes, root));
}

Code alltoall_bytes(Comm& comm, const void* out, void* in, Count bytes) {
  return run_collective(comm, [&](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kInternal, {.bytes = bytes});
    execution.arguments.send = out;
    execution.arguments.receive = in;
    alltoall_pairwise(execution.schedule, execution.self(),
                      {.space = Space::kSend, .element = ElementType::kBytes, .count = bytes},
                      {.element = ElementType::kBytes, .count = bytes}, kWindowBytes);
    return 0;
  });
}

Code alltoallv_bytes(Comm& comm, const void* out, CountArray out_bytes, CountArray out_places, void* in,
                     CountArray in_bytes, CountArray in_places) {
  return run_collective(comm, [&](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kInternal);
    execution.arguments.send = out;
    execution.arguments.receive = in;
    const Blocks from{.space = Space::kSend,
                      .element = ElementType::kBytes,
                      .counts = out_bytes,
                      .displacements = out_places,
                      .displacement_bytes = 1};
    const Blocks to{.element = ElementType::kBytes,
                    .counts = in_bytes,
                    .displacements = in_places,
                    .displacement_bytes = 1};
    alltoall_pairwise(execution.schedule, execution.self(), from, to, kWindowBytes);
    return 0;
  });
}

Code allgather_remote_bytes(Comm& comm, const void* mine, void* all, Count bytes) {
  return run_collective(comm, [&](Execution& execution) -> Code {
    execution.describe(CollectiveCall::kInternal, {.bytes = bytes});
    execution.arguments.send = mine;
    execution.arguments.receive = all;
    const Blocks same{
        .space = Space::kSend, .element = ElementType::kBytes, .type = {.extent = 0}, .count = bytes};
    const Blocks theirs{.element = ElementType::kBytes, .count = bytes};
    inter_exchange(execution.schedule, execution.self(), same, theirs, comm.remote_group->size());
    return 0;
  });
}

Request* start_bcast_bytes(Comm& comm, void* data, Count bytes, int root, std::function<void()> then) {
  Execution& execution = comm.process.collectives->open(comm, CollectiveForm::kNonblocking);
  plan_collective(execution, bcast_bytes_plan(data, bytes, root));
  return start_plan(comm, execution, std::move(then));
}

Request* start_allgather_bytes(Comm& comm, const void* mine, void* all, Count bytes) {
  Execution& execution = comm.process.collectives->open(comm, CollectiveForm::kNonblocking);
  plan_collective(execution, allgather_bytes_plan(mine, all, bytes));
  return start_plan(comm, execution, {});
}

Request* start_exchange_of_leaders(Comm& comm, void* both, Count bytes, std::function<void()> then) {
  Execution& execution = comm.process.collectives->open(comm, CollectiveForm::kNonblocking);
  plan_collective(execution, [&](Execution& leaders) -> Code {
    leaders.describe(CollectiveCall::kInternal, {.bytes = bytes});
    leaders.arguments.receive = both;
    inter_exchange_of_leaders(leaders.schedule, leaders.self(), bytes);
    return 0;
  });
  return start_plan(comm, execution, std::move(then));
}

bool has_open_collectives(const Comm& comm) {
  return comm.process.collectives->is_active(comm);
}

}  // namespace tasuki
