// What stands before the particles in a restart file, and what must be right for a run to continue from it.
// Pure: no file, no MPI.
//
//   header             RestartHeader
//   settings           text, a line "key = value" each, filled up with zeros to a multiple of 8 bytes
//   owners             int64 by column of space
//   costs              double by column of space
//   counts             int64 by rank: its particles
//   particles          ParticleRecord by rank, in the rank's order
//
// All of it is little-endian. The header's checksum covers the header, which has those of the rest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "particles.hpp"
#include "settings.hpp"
#include "totals.hpp"

namespace spam {

struct RestartHeader {
  char magic[8];             // kRestartMagic
  std::uint32_t version;     // kRestartVersion
  std::uint32_t byte_order;  // kByteOrder, as the machine that wrote it has it
  std::int64_t settings_bytes, columns, ranks, particles;
  std::int64_t step;
  double time;
  Totals first;  // at step 0
  std::uint64_t tables_checksum, particles_checksum;
  std::uint64_t header_checksum;
};
static_assert(sizeof(RestartHeader) == 144, "another layout is another version");

/// All that stands before the particles.
struct RestartHead {
  std::int64_t step = 0;
  double time = 0;
  Totals first;
  std::string settings;  // settings_text()
  std::vector<std::int64_t> owners;
  std::vector<double> costs;
  std::vector<std::int64_t> counts;
  std::uint64_t particles_checksum = 0;

  std::int64_t particles() const;
  /// Where the particles begin.
  std::int64_t bytes() const;
  std::int64_t file_bytes() const;
};

/// The settings that a file keeps, one line for each, to the last bit.
std::string settings_text(const Settings& settings);

/// The value of a key of settings_text(), or "".
std::string setting_in(const std::string& text, const std::string& key);

/// Throws Error, "FILE: …", if `settings` may not continue what `head` says.
void check_settings(const std::string& file, const RestartHead& head, const Settings& settings);

std::string encode_head(const RestartHead& head);

/// Of a file's first bytes: how long the head is. `bytes` is the file's beginning (up to a header), and
/// `file_bytes` its length. Throws Error, "FILE: …", if it is no restart file, damaged, or cut short.
std::int64_t check_header(const std::string& file, std::string_view bytes, std::int64_t file_bytes);

/// `bytes`: the whole head, as check_header() found it right.
RestartHead decode_head(const std::string& file, std::string_view bytes);

/// The sum of a hash of each record and its number, from `first` on: however ranks share the parts, their
/// sums add up to the file's.
std::uint64_t records_checksum(std::span<const ParticleRecord> records, std::int64_t first);

}  // namespace spam
