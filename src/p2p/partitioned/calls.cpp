// Partitioned communication: the calls (MPI 4.2).
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/user_memory.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/partitioned/api.hpp"
#include "p2p/partitioned/partitioned.hpp"
#include "p2p/point_to_point.hpp"
#include "progress/progress.hpp"

namespace tasuki {
namespace {

Code check_partitions(Process& process, int partitions, Count count, const Datatype& datatype) {
  if (partitions < 0) return process.fail(kErrArg, "partitions = %d, expected 0 or more", partitions);
  Count elements;
  Count bytes;
  if (!__builtin_mul_overflow(count, Count{partitions}, &elements) &&
      !__builtin_mul_overflow(elements, datatype.size, &bytes)) {
    return kSuccess;
  }
  return process.fail(kErrCount,
                      "%d partitions of count = %lld elements, expected less than 2^63 bytes in all",
                      partitions, static_cast<long long>(count));
}

/// Refuses what is no started send, and partitions first..last that cannot become ready now.
Code check_ready(Process& process, Request* request, int first, int last, const char* argument) {
  if (request->request_type != RequestType::kPartitionedSend) {
    return process.fail(kErrRequest, "request was not made by MPI_Psend_init, expected a partitioned send");
  }
  const auto& send = static_cast<PartitionedSend&>(*request);
  if (!send.active) {
    return process.fail(kErrRequest, "the partitioned send is inactive, expected it to be started first");
  }
  const int partitions = send.has_none ? 0 : send.partitions;
  if (first < 0 || last >= partitions) {
    return process.fail(kErrArg, "%s = %d, expected 0..%d", argument, first < 0 ? first : last,
                        partitions - 1);
  }
  const auto begin = send.ready.begin();
  const auto found = std::find(begin + first, begin + last + 1, true);
  if (found == begin + last + 1) return kSuccess;
  return process.fail(kErrArg, "%s: partition %d is ready already, expected MPI_Pready once in a cycle",
                      argument, static_cast<int>(found - begin));
}

void make_ready(Process& process, PartitionedSend& send, int first, int last) {
  if (MessageChecks* const checks = process.p2p->checks.get()) checks->ready(send, first, last + 1);
  send.mark_ready(first, last + 1);
  send.send_pending();
  if (send.done) process.progress->wake();
}

}  // namespace

namespace api {

Code psend_init(Process& process, const void* buf, int partitions, Count count, Datatype* datatype, int dest,
                int tag, Comm* comm, Info*, Request** request) {
  if (const Code code = check_partitions(process, partitions, count, *datatype)) return code;
  if (!has_memory_for(static_cast<std::size_t>(partitions) / 8, 1))  // PartitionedSend::ready
    return fail_memory(process, "partitions", partitions);
  PointToPoint& p2p = *process.p2p;
  PartitionedSend* made = p2p.partitioned->sends.make(buf, partitions, count, *datatype, dest, tag, *comm);
  *request = made;
  if (dest == kProcNull) return kSuccess;
  OfferHeader offer{.lead = lead_word(PacketKind::kPartitionedOffer, comm->rank),
                    .tag = tag,
                    .context = comm->context,
                    .bytes = static_cast<std::uint64_t>(made->cursor.total_bytes()),
                    .sender = p2p.partitioned->sends.id(made),
                    .types = 0,
                    .basic = 0};
  if (p2p.checks != nullptr) p2p.checks->seal_offer(*made, &offer);
  p2p.answer(made->endpoint, as_answer(offer));
  return kSuccess;
}

Code precv_init(Process& process, void* buf, int partitions, Count count, Datatype* datatype, int source,
                int tag, Comm* comm, Info*, Request** request) {
  if (source == kAnySource) return process.fail(kErrRank, "source = MPI_ANY_SOURCE, expected a rank");
  if (tag == kAnyTag) return process.fail(kErrTag, "tag = MPI_ANY_TAG, expected 0..%d", kTagMax);
  if (const Code code = check_partitions(process, partitions, count, *datatype)) return code;
  if (!has_memory_for(static_cast<std::size_t>(partitions), sizeof(Count)))  // PartitionedReceive::lacking
    return fail_memory(process, "partitions", partitions);
  Partitioned& engine = *process.p2p->partitioned;
  PartitionedReceive* made = engine.receives.make(buf, partitions, count, *datatype, source, tag, *comm);
  *request = made;
  if (source == kProcNull) return kSuccess;
  ArrivedMessage* const arrived = engine.matching.find_arrived(comm->context, source, tag);
  if (arrived == nullptr) {
    made->place = engine.places.make(*made);
    engine.matching.post(comm->context, made->place);
    return kSuccess;
  }
  engine.matching.remove(arrived);
  const Ref<Message> offer(static_cast<Message*>(arrived));
  OfferHeader header;
  std::memcpy(&header, offer->small, sizeof header);
  made->match(offer->endpoint, header);
  return kSuccess;
}

Code pready(Process& process, int partition, Request* request) {
  if (const Code code = check_ready(process, request, partition, partition, "partition"))
    return blame_owner(process, *request, code);
  make_ready(process, static_cast<PartitionedSend&>(*request), partition, partition);
  return kSuccess;
}

Code pready_range(Process& process, int partition_low, int partition_high, Request* request) {
  if (partition_low > partition_high) {
    const Code code = process.fail(kErrArg, "partition_low = %d, expected at most partition_high = %d",
                                   partition_low, partition_high);
    return blame_owner(process, *request, code);
  }
  if (const Code code =
          check_ready(process, request, partition_low, partition_high, "partition_low, partition_high"))
    return blame_owner(process, *request, code);
  make_ready(process, static_cast<PartitionedSend&>(*request), partition_low, partition_high);
  return kSuccess;
}

Code pready_list(Process& process, int length, const int* array_of_partitions, Request* request) {
  std::vector<int> sorted;
  if (!try_assign(&sorted, array_of_partitions, static_cast<std::size_t>(length)))
    return fail_memory(process, "length", length);
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    const Code code =
        process.fail(kErrArg, "array_of_partitions names partition %d twice, expected each once", *twice);
    return blame_owner(process, *request, code);
  }
  for (int i = 0; i < length; ++i) {
    const int partition = array_of_partitions[i];
    if (const Code code = check_ready(process, request, partition, partition, "array_of_partitions"))
      return blame_owner(process, *request, code);
  }
  for (const int partition : sorted)
    make_ready(process, static_cast<PartitionedSend&>(*request), partition, partition);
  return kSuccess;
}

Code parrived(Process& process, Request* request, int partition, bool* flag) {
  *flag = true;
  if (request == nullptr) return kSuccess;
  if (request->request_type != RequestType::kPartitionedReceive) {
    const Code code =
        process.fail(kErrRequest, "request was not made by MPI_Precv_init, expected a partitioned receive");
    return blame_owner(process, *request, code);
  }
  const auto& receive = static_cast<PartitionedReceive&>(*request);
  if (partition < 0 || partition >= receive.partitions) {
    const Code code =
        process.fail(kErrArg, "partition = %d, expected 0..%d", partition, receive.partitions - 1);
    return blame_owner(process, *request, code);
  }
  const auto has_arrived = [&] {
    return !receive.active || receive.done || receive.lacking[static_cast<std::size_t>(partition)] == 0;
  };
  if (has_arrived()) return kSuccess;
  process.progress->poll_once();
  *flag = has_arrived();
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
