// Memory of messages, what is in it, and looking whether that came. Plain functions; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mbl {

enum class Memory { kMalloc, kAllocMem };

/// "malloc", "alloc_mem".
const char* name_of(Memory memory);

/// Bytes of one's own, aligned to a cache line, all of them written once.
class Buffer {
 public:
  explicit Buffer(std::int64_t bytes, Memory memory = Memory::kMalloc);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  unsigned char* data() const { return data_; }
  std::int64_t size() const { return bytes_; }

 private:
  std::int64_t bytes_;
  Memory memory_;
  void* base_ = nullptr;  // as it was allocated
  unsigned char* data_ = nullptr;
};

/// The byte at `index` of the data that are known by `seed`.
unsigned char known_byte(std::uint64_t seed, std::int64_t index);

/// Writes the data of `seed`.
void fill(void* buffer, std::int64_t bytes, std::uint64_t seed);

/// Looks for them. Returns the first difference in words: "byte 5 of 64 is 0x00, expected 0x2a"; or nothing.
std::string compare(const void* buffer, std::int64_t bytes, std::uint64_t seed);

/// Writes a word in each cache line, 1.0: where doubles are added again and again it does not grow. Reads a
/// byte of each line, and returns their sum.
void write_lines(void* buffer, std::int64_t bytes);
std::uint64_t read_lines(const void* buffer, std::int64_t bytes);

/// The data that a rank gives to a call and gets from it. Where they are in use, as a program's are, the rank
/// writes each cache line of the first before the call, and reads each of the others after it; while this is
/// off, write() and read() do nothing. Several threads may call these two at once.
class Use {
 public:
  void gives(void* buffer, std::int64_t bytes) { given_.push_back({buffer, bytes}); }
  void gets(const void* buffer, std::int64_t bytes) { got_.push_back({buffer, bytes}); }
  /// Forgets all buffers.
  void clear();
  void turn(bool on) { on_ = on; }
  bool is_on() const { return on_; }

  void write() const;
  void read() const;
  /// The same of one buffer, in the order in which they were named.
  void write(int buffer) const;
  void read(int buffer) const;

 private:
  template <class Memory>
  struct Part {
    Memory* buffer;
    std::int64_t bytes;
  };
  bool on_ = false;
  std::vector<Part<void>> given_;
  std::vector<Part<const void>> got_;
};

/// Takes the buffers out of this processor's caches, the shared one included: goes through memory of twice
/// their size, divided among `ranks` that share the last level.
void flush_caches(int ranks);

/// Goes through memory of twice this processor's own caches, as a program does that computes between calls:
/// what was there is then in the caches that processors share, or in memory.
void displace_caches();

}  // namespace mbl
