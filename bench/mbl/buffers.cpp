// Memory of messages (see buffers.hpp).
#include "buffers.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "suite.hpp"

namespace mbl {

namespace {

constexpr std::int64_t kLineBytes = 64;
constexpr std::int64_t kFlushBytesMax = std::int64_t{256} << 20;

/// Of one level, or 0 where the system does not tell.
std::int64_t cache_bytes(int name) {
  return std::max<std::int64_t>(0, ::sysconf(name));
}

}  // namespace

const char* name_of(Memory memory) {
  return memory == Memory::kMalloc ? "malloc" : "alloc_mem";
}

Buffer::Buffer(std::int64_t bytes, Memory memory) : bytes_(bytes), memory_(memory) {
  const std::int64_t room = bytes + kLineBytes;
  if (memory == Memory::kMalloc) {
    base_ = std::malloc(static_cast<std::size_t>(room));
  } else {
    require(MPI_Alloc_mem(static_cast<MPI_Aint>(room), MPI_INFO_NULL, &base_), "MPI_Alloc_mem");
  }
  if (base_ == nullptr) {
    std::fprintf(stderr, "mbl: no memory for a buffer of %lld bytes\n", static_cast<long long>(bytes));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const auto address = reinterpret_cast<std::uintptr_t>(base_);
  data_ = reinterpret_cast<unsigned char*>((address + kLineBytes - 1) / kLineBytes * kLineBytes);
  std::memset(data_, 0, static_cast<std::size_t>(bytes));
}

Buffer::~Buffer() {
  if (memory_ == Memory::kMalloc) {
    std::free(base_);
  } else {
    MPI_Free_mem(base_);
  }
}

unsigned char known_byte(std::uint64_t seed, std::int64_t index) {
  // Neighbours, the same place of another seed, and whole words that changed places all differ.
  const std::uint64_t mixed =
      (static_cast<std::uint64_t>(index) + 1) * 0x9e3779b97f4a7c15 + seed * 0xd1342543de82ef95;
  return static_cast<unsigned char>(mixed >> 56);
}

void fill(void* buffer, std::int64_t bytes, std::uint64_t seed) {
  auto* data = static_cast<unsigned char*>(buffer);
  for (std::int64_t i = 0; i < bytes; ++i) data[i] = known_byte(seed, i);
}

std::string compare(const void* buffer, std::int64_t bytes, std::uint64_t seed) {
  const auto* data = static_cast<const unsigned char*>(buffer);
  for (std::int64_t i = 0; i < bytes; ++i) {
    if (data[i] == known_byte(seed, i)) continue;
    char text[96];
    std::snprintf(text, sizeof text, "byte %lld of %lld is 0x%02x, expected 0x%02x",
                  static_cast<long long>(i), static_cast<long long>(bytes), data[i], known_byte(seed, i));
    return text;
  }
  return {};
}

void write_lines(void* buffer, std::int64_t bytes) {
  constexpr double kWord = 1.0;
  auto* data = static_cast<unsigned char*>(buffer);
  for (std::int64_t i = 0; i < bytes; i += kLineBytes) {
    if (bytes - i >= std::int64_t{sizeof kWord}) {
      std::memcpy(data + i, &kWord, sizeof kWord);
    } else {
      data[i] = 1;
    }
  }
}

std::uint64_t read_lines(const void* buffer, std::int64_t bytes) {
  const auto* data = static_cast<const volatile unsigned char*>(buffer);
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < bytes; i += kLineBytes) sum += data[i];
  return sum;
}

void Use::clear() {
  given_.clear();
  got_.clear();
}

void Use::write() const {
  if (!on_) return;
  for (const auto& part : given_) write_lines(part.buffer, part.bytes);
}

void Use::read() const {
  if (!on_) return;
  for (const auto& part : got_) read_lines(part.buffer, part.bytes);
}

void Use::write(int buffer) const {
  const auto& part = given_[static_cast<std::size_t>(buffer)];
  if (on_) write_lines(part.buffer, part.bytes);
}

void Use::read(int buffer) const {
  const auto& part = got_[static_cast<std::size_t>(buffer)];
  if (on_) read_lines(part.buffer, part.bytes);
}

namespace {

/// Writes so many bytes of memory that nothing else uses.
void write_other_memory(std::int64_t bytes) {
  if (bytes == 0) bytes = kFlushBytesMax / 4;
  static std::vector<unsigned char> other;
  other.resize(static_cast<std::size_t>(std::min(bytes, kFlushBytesMax)));
  write_lines(other.data(), static_cast<std::int64_t>(other.size()));
}

}  // namespace

void flush_caches(int ranks) {
  const std::int64_t own = cache_bytes(_SC_LEVEL2_CACHE_SIZE), shared = cache_bytes(_SC_LEVEL3_CACHE_SIZE);
  write_other_memory(2 * std::max(own, shared / std::max(1, ranks)));
}

void displace_caches() {
  write_other_memory(2 * cache_bytes(_SC_LEVEL2_CACHE_SIZE));
}

}  // namespace mbl
