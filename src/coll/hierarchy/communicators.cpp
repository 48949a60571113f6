// Making a hierarchy: see coll/hierarchy/communicators.hpp.
#include "coll/hierarchy/communicators.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "coll/byte_collectives.hpp"

namespace tasuki {
namespace {

/// A hidden communicator of these ranks of `comm`.
Ref<Comm> make_hidden(const Comm& comm, Context context, std::span<const int> ranks) {
  std::vector<int> endpoints;
  endpoints.reserve(ranks.size());
  for (const int rank : ranks) endpoints.push_back(comm.endpoint(rank));
  Comm* made = new Comm(comm.process, true);
  made->context = context;
  made->group = Ref<Group>(make_group(comm.process, std::move(endpoints)));
  made->rank = made->group->rank;
  made->errhandler = comm.errhandler;
  return Ref<Comm>(made);
}

}  // namespace

std::shared_ptr<Hierarchy> Hierarchy::make(Comm& comm) {
  std::shared_ptr<Hierarchy> hierarchy(new Hierarchy(comm));
  return hierarchy->connect(comm) ? hierarchy : nullptr;
}

Hierarchy::Hierarchy(Comm& comm) {
  node_map(comm);
  map_ = comm.slots.share(kNodeMapSlot);
}

bool Hierarchy::connect(Comm& comm) {
  struct Offer {
    Context node, lane;  // by the first member of each
  };
  const auto size = static_cast<std::size_t>(comm.size());
  const int index = map_->index_of(comm.rank);
  std::vector<int> lane;
  for (int node = 0; node < map_->nodes(); ++node) {
    if (index < map_->ranks_on(node)) lane.push_back(map_->ranks_of(node)[static_cast<std::size_t>(index)]);
  }
  const Offer mine{.node = index == 0 ? make_context(comm.process) : 0,
                   .lane = lane.front() == comm.rank ? make_context(comm.process) : 0};
  std::vector<Offer> offers(size);
  if (allgather_bytes(comm, &mine, offers.data(), sizeof mine) != 0) return false;
  const auto leader = static_cast<std::size_t>(map_->leader_of(map_->own_node()));
  node_ = make_hidden(comm, offers[leader].node, map_->own_ranks());
  lane_ = make_hidden(comm, offers[static_cast<std::size_t>(lane.front())].lane, lane);
  return true;
}

}  // namespace tasuki
