// OuterLink: a link to the ranks of other nodes, which stands before the link of the own node.
//
// It hands all that it does not do itself to the link behind it: that one reaches the ranks of the own node
// and processes of other jobs, lets this rank sleep, and knows its heap. So an implementation holds only
// what carries packets between nodes.
//
// Derived from by: loop/ (the imitated network between virtual nodes), ofi/ (libfabric).
//
// Ownership: it owns the link behind it. Thread safety: as link.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "link/link.hpp"

namespace tasuki {

class OuterLink : public Link {
 public:
  int endpoints() const override { return behind_->endpoints(); }
  int self() const override { return rank_; }
  std::uint32_t piece_bytes(int peer) const override { return behind_->piece_bytes(peer); }
  bool has_left(int peer) const override { return behind_->has_left(peer); }
  bool prefers_bulk(int peer, std::uint32_t bytes) const override {
    return behind_->prefers_bulk(peer, bytes);
  }
  bool takes_ahead(int peer, std::uint32_t bulks) override { return behind_->takes_ahead(peer, bulks); }
  void end_poll() override { behind_->end_poll(); }
  std::uint32_t arm() override { return behind_->arm(); }
  void disarm() override { behind_->disarm(); }
  void ring() override { behind_->ring(); }

  void use_heap(SymmetricHeap& heap) override { behind_->use_heap(heap); }
  bool can_put(int peer) const override { return !is_far(peer) && behind_->can_put(peer); }
  std::uint64_t copy_bytes_min(int peer) const override { return behind_->copy_bytes_min(peer); }
  bool copies_long_only(int peer) const override { return behind_->copies_long_only(peer); }
  bool may_register(int peer, std::uint64_t bytes) const override {
    return behind_->may_register(peer, bytes);
  }
  bool register_memory(int peer, void* base, std::size_t bytes, MemoryKey* key) override {
    return can_put(peer) && behind_->register_memory(peer, base, bytes, key);
  }
  void unregister_memory(int peer, const MemoryKey& key) override { behind_->unregister_memory(peer, key); }
  bool put_memory(int peer, const MemoryKey& key, std::uint64_t offset, const void* from, std::size_t bytes,
                  std::uint64_t* completed) override {
    return can_put(peer) && behind_->put_memory(peer, key, offset, from, bytes, completed);
  }
  bool get_memory(int peer, const MemoryKey& key, std::uint64_t offset, void* to, std::size_t bytes,
                  std::uint64_t* completed) override {
    return can_put(peer) && behind_->get_memory(peer, key, offset, to, bytes, completed);
  }

  void say_finishing() override { behind_->say_finishing(); }
  Presence presence(int endpoint) const override { return behind_->presence(endpoint); }
  bool is_silent(int endpoint) override { return behind_->is_silent(endpoint); }
  void leave() override { behind_->leave(); }
  ProcessName name(int endpoint) const override { return behind_->name(endpoint); }
  bool address(PeerAddress* own, std::string* error) override { return behind_->address(own, error); }
  int join(const PeerAddress& address, std::string* error) override { return behind_->join(address, error); }
  bool has_ended(int endpoint) const override { return behind_->has_ended(endpoint); }
  int endpoints_alive() const override { return behind_->endpoints_alive(); }
  bool open_port(std::uint64_t port) override { return behind_->open_port(port); }
  void close_port(std::uint64_t port) override { behind_->close_port(port); }
  PortState port_state(const PeerAddress& owner, std::uint64_t port) override {
    return behind_->port_state(owner, port);
  }
  std::string trouble(int endpoint) const override { return behind_->trouble(endpoint); }
  int add_endpoint(const PeerAddress& address) override { return behind_->add_endpoint(address); }
  int armed() const override { return behind_->armed(); }

 protected:
  /// `nodes[rank]` is the node of each rank of the job.
  OuterLink(std::unique_ptr<Link> behind, std::vector<int> nodes)
      : behind_(std::move(behind)),
        rank_(behind_->self()),
        nodes_(std::move(nodes)),
        node_(nodes_[static_cast<std::size_t>(rank_)]) {
    for (const int node : nodes_) far_.push_back(node != node_ ? 1 : 0);
  }

  /// Whether this link reaches `endpoint`, and not the one behind it.
  bool is_far(int endpoint) const {
    return endpoint < static_cast<int>(far_.size()) && far_[static_cast<std::size_t>(endpoint)] != 0;
  }

  const std::unique_ptr<Link> behind_;
  const int rank_;
  const std::vector<int> nodes_;  // by rank
  const int node_;                // of this rank
  std::vector<std::uint8_t>
      far_;  // by endpoint: 1: of another node, or, where a link knows such, of another host
};

}  // namespace tasuki
