// Card: what a rank tells the others of its end of the network, in the Directory, so that they can reach it:
// provider, its version, interface, host, address. Ranks whose providers or versions differ speak different
// languages on the wire, so they are refused, by name.
//
// Pure but for Probe. Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tasuki::ofi {

inline constexpr std::size_t kNameBytesMax = 128;

struct Card {
  std::string provider;
  std::string version;
  std::string interface;
  std::string host;
  std::string name;  // of the endpoint: bytes

  bool operator==(const Card&) const = default;
};

/// "1 net 117.0 eth0 node1 0200b3...": at most 511 characters.
std::string to_text(const Card& card);
/// Returns false for what to_text() never made.
bool from_text(const std::string& text, Card* card);

/// Empty where the two can talk; else the end of a sentence that names both: `own` is of `rank`, `other` of
/// `peer`.
std::string why_not(int rank, const Card& own, int peer, const Card& other);

/// "rank 1 on node2 (interface eth0, address 10.77.0.2:41234)".
std::string text_of(int rank, const Card& card);

/// Tries whether a connection to an address of the internet comes about. The system of the other host takes
/// it also while the rank there computes; so this tells a rank that is busy from one that cannot be reached.
class Probe {
 public:
  enum class State : std::uint8_t { kNone, kOpen, kConnected, kFailed };

  Probe() = default;
  ~Probe() { end(); }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  /// Begins; `own` and `other` are names of endpoints. kFailed at once where that is no such address.
  void begin(const std::string& own, const std::string& other);
  /// The same, for a connection that is kept: it breaks when the process at the other end dies, whether it
  /// has taken it or not, and when its host has not answered for so long. kNone where this process cannot
  /// have one more.
  void begin_kept(const std::string& own, const std::string& other, int seconds);
  State look();
  void end();
  /// After kFailed. `refused`: the other system is there, and nobody listens: the process has ended.
  const std::string& reason() const { return reason_; }
  bool refused() const { return refused_; }

 private:
  bool is_broken();

  int socket_ = -1;
  bool kept_ = false;
  State state_ = State::kNone;
  std::string reason_;
  bool refused_ = false;
};

/// Whether the bytes are an address of the internet, which Probe can try.
bool is_internet_address(const std::string& name);

/// "10.0.0.1", or empty where they are none.
std::string internet_address(const std::string& name);

/// Its port. REQUIRES: is_internet_address(name).
std::uint16_t internet_port(const std::string& name);

/// "10.0.0.1:4242".
std::string address_text(const std::string& name);

}  // namespace tasuki::ofi
