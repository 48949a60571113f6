// Fabric: one endpoint of libfabric with all that belongs to it, and the buffers that it sends from and
// receives into. It moves bytes; what they mean is OfiLink's.
//
// Objects of libfabric: a fabric (a network), a domain (an interface), an address vector (peers), a
// completion queue with a descriptor that a rank can sleep on, an endpoint for datagrams that arrive once and
// are matched in order. The progress is manual: bytes move while this rank reads the queue.
//
// Ownership: a Fabric owns its buffers, also those that are under way. Thread safety: the process lock guards
// it, but for descriptor(), which never changes.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "link/ofi/choice/choice.hpp"
#include "link/ofi/choice/copying.hpp"
#include "link/ofi/library.hpp"

namespace tasuki::ofi {

/// What libfabric is at. `context` is libfabric's while that is under way.
struct Work {
  fi_context2 context{};
  bool is_copy = false;
};

/// Memory that is sent from or received into.
struct Buffer : Work {
  std::byte* memory = nullptr;  // aligned to 64
  std::uint32_t capacity = 0;
  void* registration = nullptr;  // where the provider wants its memory registered

  // Of the link.
  Buffer* next = nullptr;
  std::uint32_t length = 0;    // of the packet, from kFrameAt on
  const void* lent = nullptr;  // memory of the user's that its bulk is sent from; null: it is in `memory`
  std::uint32_t covers = 0;    // packets that went without a completion before this one
  int peer = -1;               // that it is sent to; -1: it is received into
};

/// Own memory that peers may put into and get from: what they have to know.
struct Region {
  fid_mr* registration = nullptr;
  const std::byte* base = nullptr;
  std::size_t bytes = 0;
  std::uint64_t address = 0;  // of the first byte, as they name it
  std::uint64_t key = 0;
};

/// Bytes on their way between own memory and a region of a peer, part after part.
struct Copy : Work {
  Copy() { is_copy = true; }

  bool puts = false;       // else it gets
  bool tells = false;      // the target, when all is there
  std::uint32_t word = 0;  // that it is told
  std::byte* here = nullptr;
  std::uint64_t there = 0;  // as the peer has named it
  std::uint64_t key = 0;
  std::size_t bytes = 0;        // that are left
  std::size_t part = 0;         // of these, under way
  const Region* own = nullptr;  // of `here`, made for this copy; null: none is needed

  // Of the link.
  Copy* next = nullptr;
  int peer = -1;
  std::uint64_t* completed = nullptr;
};

/// What libfabric says of a buffer that it gives back, of a part of a copy, or, where there is no work, of a
/// peer's put that tells. Without initial values: each poll has room for many.
struct Completion {
  Work* work;
  std::size_t bytes;   // that were received
  int error;           // 0: none
  std::uint32_t word;  // that was told
};

class Fabric {
 public:
  /// The largest packet, its frame and what is before it included.
  static std::unique_ptr<Fabric> open(const std::string& library, const Wish& wish, std::size_t packet_bytes,
                                      std::string* error);
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  const std::string& provider() const { return offer_.provider; }
  const std::string& version() const { return version_; }
  const std::string& interface() const { return offer_.interface; }
  const Library& library() const { return library_; }
  const std::string& reason() const { return reason_; }
  /// Where peers reach this endpoint: bytes that travel as they are.
  const std::string& name() const { return name_; }
  /// Whether names are addresses of the internet, which can be tried by a connection.
  bool has_ip() const { return offer_.address.bytes_used != 0; }

  /// A buffer for `bytes` bytes.
  Buffer* take(std::size_t bytes);
  void give_back(Buffer* buffer);

  /// Makes the buffer one that the next packet may come into.
  bool post(Buffer* buffer);
  /// The number of the peer with that name; FI_ADDR_NOTAVAIL: it is none.
  fi_addr_t insert(const std::string& name);
  /// 0, -FI_EAGAIN, or another error. The buffer is under way after 0.
  long send(fi_addr_t peer, Buffer* buffer);
  /// The same, with bytes that may be used again at once. REQUIRES: bytes <= inject_bytes_max().
  long inject(fi_addr_t peer, const void* data, std::size_t bytes);
  /// Whether bulks can be sent from where the user has them.
  bool can_lend() const { return !wants_registered() && info_->tx_attr->iov_limit >= 2; }
  std::size_t inject_bytes_max() const { return inject_bytes_max_; }

  /// How memory that keys name is copied.
  const CopyPlan& copying() const { return copying_; }
  /// Lets peers put into and get from memory. Null when that cannot be.
  const Region* register_memory(void* base, std::size_t bytes);
  void unregister_memory(std::uint64_t key);
  /// Begins the next part of a copy. 0, -FI_EAGAIN, or another error. The copy is under way after 0.
  long begin(fi_addr_t peer, Copy* copy);
  /// The copy is over, or will not be.
  void end(Copy* copy);

  /// What has come to an end. Returns how many completions it wrote.
  int read(std::span<Completion> completions);

  /// Sleeping: expect_events(), then read(), then can_wait(): if nothing had happened before that, nothing
  /// was read, and it is true, descriptor() becomes readable when something happens. -1: there is no
  /// descriptor. A read may leave what is not to be told again: one after which something was left has ended
  /// a packet, a copy, or (here nothing is seen of it) a peer's copy, which has_regions() makes possible.
  enum class Events : std::uint8_t { kNone, kSome, kClosed };  // closed: by somebody else
  int descriptor() const { return descriptor_; }
  Events expect_events();
  /// Nobody sleeps for a while. Each packet that comes costs the system less then, 0.1 us over TCP.
  void expect_no_events();
  bool can_wait();
  bool has_regions() const { return !regions_.empty(); }

 private:
  struct Slab {
    void* memory;
    std::size_t bytes;
    fid_mr* registration;
    std::unique_ptr<Buffer[]> buffers;
  };
  /// Buffers of one size.
  struct Pool {
    std::size_t bytes = 0;
    int buffers_per_slab = 0;
    Buffer* free = nullptr;
  };

  Fabric() = default;
  bool find_network(const Wish& wish, std::string* error);
  bool find_network(const Wish& wish, std::uint64_t capabilities, std::string* error);
  bool open_objects(std::string* error);
  bool open_endpoint(std::string* error);
  bool read_name(std::string* error);
  bool wants_registered() const;
  void* description_of(Copy& copy);
  fid_mr* make_registration(void* base, std::size_t bytes, std::uint64_t access);
  bool grow(Pool& pool);
  Completion read_error();
  std::string failure(const char* call, long result) const;

  Library library_;
  fi_info* info_ = nullptr;
  Offer offer_;
  std::string version_;
  std::string reason_;
  std::string name_;
  std::size_t inject_bytes_max_ = 0;
  CopyPlan copying_;
  std::map<std::uint64_t, Region> regions_;  // by key
  int queue_descriptor_ = -1;
  int descriptor_ = -1;     // an epoll
  bool expecting_ = false;  // the queue's descriptor is in it
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_av* peers_ = nullptr;
  fid_cq* queue_ = nullptr;
  fid_ep* endpoint_ = nullptr;
  Pool small_, large_;
  std::vector<Slab> slabs_;
};

}  // namespace tasuki::ofi
