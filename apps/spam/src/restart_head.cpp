// The head of restart files, to bytes and back, with all that is checked (restart_head.hpp).
#include "restart_head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <sstream>
#include <string_view>
#include <type_traits>

#include "error.hpp"
#include "words.hpp"

namespace spam {
namespace {

static_assert(std::endian::native == std::endian::little, "restart files are little-endian");
static_assert(std::is_trivially_copyable_v<RestartHeader> && std::is_trivially_copyable_v<ParticleRecord>);

constexpr char kRestartMagic[8] = {'S', 'P', 'A', 'M', 'R', 'S', 'T', '\n'};
constexpr std::uint32_t kRestartVersion = 1;
constexpr std::uint32_t kByteOrder = 0x01020304;

/// The bytes as text that nothing was made of yet.
template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// FNV-1a (Fowler, Noll and Vo) with 64 bits.
std::uint64_t hash_of(std::string_view bytes, std::uint64_t hash = 0xcbf29ce484222325) {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

std::uint64_t header_hash(const RestartHeader& header) {
  return hash_of(bytes_of(header).substr(0, offsetof(RestartHeader, header_checksum)));
}

std::int64_t padded(std::int64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

std::int64_t head_bytes(std::int64_t settings_bytes, std::int64_t columns, std::int64_t ranks) {
  return static_cast<std::int64_t>(sizeof(RestartHeader)) + settings_bytes + 16 * columns + 8 * ranks;
}

/// Takes values off the front of bytes that are long enough.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <class T>
  void take(T* values, std::int64_t count) {
    const std::size_t length = static_cast<std::size_t>(count) * sizeof(T);
    std::memcpy(values, left_.data(), length);
    left_.remove_prefix(length);
  }
  template <class T>
  std::vector<T> take_vector(std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    take(values.data(), count);
    return values;
  }

 private:
  std::string_view left_;
};

RestartHeader header_in(std::string_view bytes) {
  RestartHeader header;
  Reader(bytes).take(&header, 1);
  return header;
}

}  // namespace

std::int64_t RestartHead::particles() const {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

std::int64_t RestartHead::bytes() const {
  return head_bytes(padded(static_cast<std::int64_t>(settings.size())),
                    static_cast<std::int64_t>(owners.size()), static_cast<std::int64_t>(counts.size()));
}

std::int64_t RestartHead::file_bytes() const {
  return bytes() + particles() * static_cast<std::int64_t>(sizeof(ParticleRecord));
}

std::string settings_text(const Settings& settings) {
  const Space& space = settings.space;
  const Material& material = settings.material;
  std::string text;
  const auto add = [&text](const char* key, const auto& value) {
    text += fmt::format("{} = {}\n", key, value);  // fmt writes the digits that give the same double again
  };
  add("space.width", space.width);
  add("space.height", space.height);
  add("space.cell_size", space.cell_size);
  text += fmt::format("space.boundary_x = {} {}\n", word_of(space.x.low), word_of(space.x.high));
  text += fmt::format("space.boundary_y = {} {}\n", word_of(space.y.low), word_of(space.y.high));
  add("material.mass", material.mass);
  add("material.beta", material.beta);
  add("material.range", material.range);
  add("material.viscosity", material.viscosity);
  add("integration.time_step", settings.integration.time_step);
  add("parallel.mapping", settings.parallel.mapping);
  return text;
}

std::string setting_in(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key + " = ")) return line.substr(key.size() + 3);
  return "";
}

void check_settings(const std::string& file, const RestartHead& head, const Settings& settings) {
  std::istringstream lines(settings_text(settings));
  for (std::string line; std::getline(lines, line);) {
    const std::string key = line.substr(0, line.find(' ')), value = line.substr(key.size() + 3);
    const std::string before = setting_in(head.settings, key);
    if (key != "parallel.mapping" && value != before)
      throw Error(fmt::format("{}: it belongs to a run with {} = {}, and {} says {}", file, key, before,
                              settings.file, value));
  }
  const std::int64_t given = static_cast<std::int64_t>(settings.initial.given.size());
  const std::int64_t particles = given > 0 ? given : settings.initial.particles;
  if (head.particles() != particles)
    throw Error(fmt::format("{}: it belongs to a run with initial.particles = {}, and {} says {}", file,
                            head.particles(), settings.file, particles));
  if (head.step > settings.integration.steps)
    throw Error(
        fmt::format("{}: it was written after {} steps, and {} says integration.steps = {}: expected "
                    "at least as many",
                    file, head.step, settings.file, settings.integration.steps));
}

std::string encode_head(const RestartHead& head) {
  std::string tables = head.settings;
  tables.resize(static_cast<std::size_t>(padded(static_cast<std::int64_t>(tables.size()))), '\0');
  RestartHeader header{};
  std::copy_n(kRestartMagic, sizeof kRestartMagic, header.magic);
  header.version = kRestartVersion;
  header.byte_order = kByteOrder;
  header.settings_bytes = static_cast<std::int64_t>(tables.size());
  header.columns = static_cast<std::int64_t>(head.owners.size());
  header.ranks = static_cast<std::int64_t>(head.counts.size());
  header.particles = head.particles();
  header.step = head.step;
  header.time = head.time;
  header.first = head.first;
  tables += bytes_of(head.owners);
  tables += bytes_of(head.costs);
  tables += bytes_of(head.counts);
  header.tables_checksum = hash_of(tables);
  header.particles_checksum = head.particles_checksum;
  header.header_checksum = header_hash(header);
  return std::string(bytes_of(header)) + tables;
}

std::int64_t check_header(const std::string& file, std::string_view bytes, std::int64_t file_bytes) {
  const auto damaged = [&file](const std::string& how) { throw Error(file + ": " + how); };
  if (!bytes.starts_with(std::string_view(kRestartMagic, sizeof kRestartMagic)))
    damaged("it is no restart file of spam");
  if (bytes.size() < sizeof(RestartHeader))
    damaged(fmt::format("a restart file cut short: it has {} bytes, and its header alone {}", file_bytes,
                        sizeof(RestartHeader)));
  const RestartHeader header = header_in(bytes);
  if (header.byte_order != kByteOrder) damaged("its byte order is another machine's");
  if (header.version != kRestartVersion)
    damaged(fmt::format("a restart file of version {}: expected {}", header.version, kRestartVersion));
  if (header.header_checksum != header_hash(header))
    damaged("a damaged restart file: its header is not as written");
  const std::int64_t head = head_bytes(header.settings_bytes, header.columns, header.ranks);
  const std::int64_t expected = head + header.particles * static_cast<std::int64_t>(sizeof(ParticleRecord));
  if (file_bytes != expected)
    damaged(fmt::format("a restart file {}: it has {} bytes, and by its header {}",
                        file_bytes < expected ? "cut short" : "with something behind it", file_bytes,
                        expected));
  return head;
}

RestartHead decode_head(const std::string& file, std::string_view bytes) {
  const RestartHeader header = header_in(bytes);
  const std::string_view tables = bytes.substr(sizeof header);
  if (hash_of(tables) != header.tables_checksum)
    throw Error(file + ": a damaged restart file: settings, owners or costs are not as written");
  RestartHead head;
  head.step = header.step;
  head.time = header.time;
  head.first = header.first;
  head.particles_checksum = header.particles_checksum;
  const std::string_view text = tables.substr(0, static_cast<std::size_t>(header.settings_bytes));
  head.settings = text.substr(0, text.find('\0'));
  Reader reader(tables.substr(text.size()));
  head.owners = reader.take_vector<std::int64_t>(header.columns);
  head.costs = reader.take_vector<double>(header.columns);
  head.counts = reader.take_vector<std::int64_t>(header.ranks);
  return head;
}

std::uint64_t records_checksum(std::span<const ParticleRecord> records, std::int64_t first) {
  std::uint64_t sum = 0;
  for (const ParticleRecord& record : records) sum += hash_of(bytes_of(record), hash_of(bytes_of(first++)));
  return sum;
}

}  // namespace spam
