// How a process is named, and where it is reached, beyond the job that it belongs to.
//
// Endpoint numbers mean something only inside one process. What travels between processes of different jobs
// is a ProcessName, which is the same everywhere, or a PeerAddress, by which a process that was never heard
// of can be sent to. What an address says only links know.
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

/// A process, and `length` bytes by which its link is reached; 0: it could not be had. It travels as it is.
struct PeerAddress {
  static constexpr std::size_t kBytesMax = 108;

  ProcessName name;
  std::uint32_t length = 0;
  std::array<std::byte, kBytesMax> bytes{};
};
static_assert(std::is_trivially_copyable_v<PeerAddress> && sizeof(PeerAddress) == 128);

/// The address as a word of hexadecimal digits and dots, as it stands in the name of a port.
std::string to_text(const PeerAddress& address);
/// Returns false for what to_text() never made.
bool from_text(const std::string& text, PeerAddress* address);

}  // namespace tasuki
