// How a process is named, and where it is reached, beyond the job that it belongs to.
//
// Endpoint numbers mean something only inside one process. What travels between processes of different jobs
// is a ProcessName, which is the same everywhere, or a PeerAddress, by which a process that was never heard
// of can be sent to. What its bytes say only links know.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace tasuki {

/// One process, among all jobs: the random number of its job, and its rank there.
struct ProcessName {
  std::uint64_t job = 0;
  std::int32_t rank = 0;
  std::int32_t padding = 0;  // 0, so that names can be compared as bytes

  auto operator<=>(const ProcessName&) const = default;
};

/// A process, where it is, and `length` bytes by which its link is reached; 0: it could not be had. It
/// travels as it is.
struct PeerAddress {
  static constexpr std::size_t kBytesMax = 136;

  ProcessName name;
  std::uint64_t place = 0;  // the same for processes that can share memory
  std::uint32_t length = 0;
  std::array<std::byte, kBytesMax> bytes{};
};
static_assert(std::is_trivially_copyable_v<PeerAddress> && sizeof(PeerAddress) == 168);

/// The address as a word of letters, digits, '-', '_' and dots, as it stands in the name of a port, of at
/// most kAddressTextMax characters: a port's name has 255 in programs that were built for MPICH.
inline constexpr std::size_t kAddressTextMax = 227;
std::string to_text(const PeerAddress& address);
/// Returns false for what to_text() never made.
bool from_text(const std::string& text, PeerAddress* address);

}  // namespace tasuki
