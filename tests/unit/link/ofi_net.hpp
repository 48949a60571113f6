// Links over libfabric of ranks that are threads or take turns in one, each on a node of its own unless a
// test says otherwise. TCP over the loopback interface is the network, or another provider that a test names.
#pragma once

#include <atomic>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/system/clock.hpp"
#include "link/ofi/ofi_link.hpp"
#include "support/thread_machine.hpp"

namespace tasuki::test {

inline constexpr ofi::Secret kSecret = {{0x0123456789abcdef, 0xfedcba9876543210}};

inline constexpr int kPatient = 120;                                  // seconds
inline constexpr std::int64_t kGuardNs = kPatient * 1'000'000'000LL;  // against a hang

/// Why libfabric cannot be used here; empty: it can.
inline std::string why_skipped(const std::string& provider = "") {
  std::string error;
  return OfiLink::open("", {.provider = provider, .one_machine = true}, &error) != nullptr ? "" : error;
}

/// Links of ranks that are each on a node of their own, unless `nodes` says otherwise.
class Net {
 public:
  struct Terms {
    std::string provider;
    ofi::WaitBy wait_by = ofi::WaitBy::kBest;
    std::vector<int> nodes;
    ofi::CopyWish copying;
    int connect_seconds = 1;  // kPatient where nothing gets lost: a busy machine may be late
  };
  Net(int size, const Terms& terms)
      : machine_(size, terms.nodes.empty() ? own_nodes(size) : terms.nodes, Config{}),
        cards(static_cast<std::size_t>(size)),
        sentences(static_cast<std::size_t>(size)) {
    for (int rank = 0; rank < size; ++rank) {
      bells_.push_back(machine_.make_doorbells(rank));
      ends_.push_back(make(rank, terms));
      if (ends_.back() != nullptr) cards[static_cast<std::size_t>(rank)] = ends_.back()->card();
    }
  }
  explicit Net(int size) : Net(size, Terms{}) {}
  OfiLink& operator[](int rank) { return *ends_[static_cast<std::size_t>(rank)]; }

 private:
  static std::vector<int> own_nodes(int size) {
    std::vector<int> nodes(static_cast<std::size_t>(size));
    std::iota(nodes.begin(), nodes.end(), 0);
    return nodes;
  }
  std::unique_ptr<OfiLink> make(int rank, const Terms& terms) {
    OfiLink::Wiring wiring;
    wiring.card = [this](int peer, std::string* card) {
      *card = cards[static_cast<std::size_t>(peer)];
      return !card->empty();
    };
    wiring.secret = [this](ofi::Secret* secret) {
      *secret = kSecret;
      return secret_is_known.load();
    };
    wiring.fail = [this, rank](const std::string& sentence) {
      sentences[static_cast<std::size_t>(rank)].push_back(sentence);
    };
    wiring.connect_seconds = terms.connect_seconds;
    wiring.wait_by = terms.wait_by;
    wiring.host = "here";
    std::string error;
    auto fabric = OfiLink::open(
        "", {.provider = terms.provider, .one_machine = true, .copying = terms.copying}, &error);
    Doorbells& bells = *bells_[static_cast<std::size_t>(rank)];
    std::vector<int> nodes;
    for (int peer = 0; peer < machine_.size(); ++peer) nodes.push_back(machine_.node(peer));
    std::unique_ptr<Link> behind = machine_.make_shm_link(rank, bells);
    return OfiLink::make(&behind, bells, nodes, std::move(fabric), wiring, real_clock(), &error);
  }

  test::ThreadMachine machine_;
  std::vector<std::unique_ptr<Doorbells>> bells_;

 public:
  std::vector<std::string> cards;
  std::vector<std::vector<std::string>> sentences;  // with which each rank would have ended the job
  std::atomic<bool> secret_is_known{true};

 private:
  std::vector<std::unique_ptr<OfiLink>> ends_;
};

}  // namespace tasuki::test
