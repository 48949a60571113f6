// Looking for messages that were not received: ordinary ones, and partitioned ones that no MPI_Precv_init
// matches.
#include "p2p/unreceived.hpp"

#include "object/comm.hpp"
#include "p2p/partitioned/partitioned.hpp"
#include "p2p/point_to_point.hpp"

namespace tasuki {
namespace {

constexpr Context kPlanes = 3;  // the bits of a context that tell the plane
constexpr std::size_t kRememberedMax = 1000;

template <class Each>
void for_each_arrived(MatchQueue& queue, Each&& each) {
  for (ArrivedMessage* one = queue.arrived.first; one != nullptr; one = one->next) {
    each(*static_cast<Message*>(one));
  }
}

}  // namespace

std::vector<UnreceivedMessage> unreceived_messages(Process& process) {
  while (process.progress->poll()) {
  }
  PointToPoint& p2p = *process.p2p;
  std::vector<UnreceivedMessage> left = p2p.unreceived;
  for (Matching* const matching : {&p2p.matching, &p2p.partitioned->matching}) {
    matching->for_each([&](MatchQueue& queue) {
      if ((queue.context & kPlanes) != static_cast<Context>(Plane::kPointToPoint)) return;
      for_each_arrived(queue, [&](const Message& message) {
        left.push_back({queue.context, {}, message.source, message.tag, message.bytes});
      });
    });
  }
  return left;
}

void remember_unreceived(Comm& comm) {
  PointToPoint& p2p = *comm.process.p2p;
  for (Matching* const matching : {&p2p.matching, &p2p.partitioned->matching}) {
    MatchQueue* queue = matching->find(comm.context | static_cast<Context>(Plane::kPointToPoint));
    if (queue == nullptr) continue;
    for_each_arrived(*queue, [&](const Message& message) {
      if (p2p.unreceived.size() < kRememberedMax)
        p2p.unreceived.push_back({0, comm.name, message.source, message.tag, message.bytes});
    });
  }
}

}  // namespace tasuki
