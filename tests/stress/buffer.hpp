// Buffers in every kind of memory a program sends from and receives into, between two guards, and datatypes
// that lay a message's bytes out in them.
#pragma once

#include <mpi.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "plan.hpp"

namespace stress {

constexpr std::size_t kGuardBytes = 64;
constexpr unsigned char kGuard = 0xc3, kGap = 0x5e, kFreed = 0xdd;

/// heap: malloc, which can be global or private; allocated: MPI_Alloc_mem; mapped: mmap, private to all;
/// zeroed and initialised: static data (.bss and .data); stack.
enum class Place { kHeap, kAllocated, kMapped, kZeroed, kInitialised, kStack, kPlaces };
constexpr int kPlaces = static_cast<int>(Place::kPlaces);

/// A piece of memory that is given out from its front, and again when all of it has come back.
class Pool {
 public:
  Pool() = default;
  Pool(unsigned char* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}

  unsigned char* take(std::size_t bytes) {
    if (live_ == 0) used_ = 0;
    if (bytes > bytes_ - used_) return nullptr;
    ++live_;
    used_ += bytes;
    return memory_ + used_ - bytes;
  }
  void give_back() { --live_; }

 private:
  unsigned char* memory_ = nullptr;
  std::size_t bytes_ = 0, used_ = 0;
  int live_ = 0;
};

/// The pools of one thread, by place; the other places have none.
struct Pools {
  Pool of[kPlaces];
};

struct Buffer {
  Place place = Place::kHeap;
  unsigned char* whole = nullptr;  // with the guards
  unsigned char* data = nullptr;
  std::size_t bytes = 0, whole_bytes = 0;
};

inline Buffer take_buffer(Random& random, Pools& pools, Place place, std::size_t bytes) {
  Buffer buffer;
  const std::size_t shift = one_in(random, 2) ? 0 : random() % 64;  // alignment of any kind
  buffer.bytes = bytes;
  buffer.whole_bytes = bytes + 2 * kGuardBytes + shift;
  buffer.place = place;
  if (place == Place::kAllocated) {
    MPI_Alloc_mem(static_cast<MPI_Aint>(buffer.whole_bytes), MPI_INFO_NULL, &buffer.whole);
  } else if (place == Place::kMapped) {
    buffer.whole_bytes = (buffer.whole_bytes + 4095) / 4096 * 4096;
    void* memory =
        mmap(nullptr, buffer.whole_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    buffer.whole = static_cast<unsigned char*>(memory);
  } else if (place != Place::kHeap) {
    buffer.whole = pools.of[static_cast<int>(place)].take(buffer.whole_bytes);
  }
  if (buffer.whole == nullptr) {
    buffer.place = Place::kHeap;
    buffer.whole = static_cast<unsigned char*>(std::malloc(buffer.whole_bytes));
    if (buffer.whole == nullptr) std::abort();
  }
  buffer.data = buffer.whole + kGuardBytes + shift;
  std::memset(buffer.whole, kGuard, static_cast<std::size_t>(buffer.data - buffer.whole));
  std::memset(buffer.data, kGap, bytes);
  std::memset(buffer.data + bytes, kGuard, kGuardBytes);
  return buffer;
}

inline bool all_are(const unsigned char* from, std::size_t bytes, unsigned char value) {
  return bytes == 0 || (*from == value && std::memcmp(from, from + 1, bytes - 1) == 0);
}

inline bool guards_are_whole(const Buffer& buffer) {
  return all_are(buffer.whole, static_cast<std::size_t>(buffer.data - buffer.whole), kGuard) &&
         all_are(buffer.data + buffer.bytes, kGuardBytes, kGuard);
}

/// A reader gets rubbish from now on, and a writer destroys the data of another message.
inline void give_back(Pools& pools, Buffer& buffer) {
  if (buffer.whole == nullptr) return;
  std::memset(buffer.data, kFreed, buffer.bytes);
  if (buffer.place == Place::kAllocated) {
    MPI_Free_mem(buffer.whole);
  } else if (buffer.place == Place::kMapped) {
    munmap(buffer.whole, buffer.whole_bytes);
  } else if (buffer.place == Place::kHeap) {
    std::free(buffer.whole);
  } else {
    pools.of[static_cast<int>(buffer.place)].give_back();
  }
  buffer.whole = nullptr;
}

// ---- datatypes ------------------------------------------------------------------------------------------

struct Piece {
  std::size_t at, bytes;
};

/// `count` elements of `type` are the pieces, in this order, inside `extent` bytes. All of bytes, so that any
/// two layouts of the same size match.
struct Layout {
  MPI_Datatype type = MPI_BYTE;
  int count = 0;
  bool own = false;  // to be freed
  std::size_t bytes = 0, extent = 0;
  std::vector<Piece> pieces;
};

inline Layout contiguous(std::size_t bytes) {
  Layout layout;
  layout.count = static_cast<int>(bytes);
  layout.bytes = layout.extent = bytes;
  if (bytes > 0) layout.pieces = {{0, bytes}};
  return layout;
}

/// One element: pieces of any lengths, at growing or at mixed places.
inline Layout scattered(Random& random, std::size_t bytes) {
  Layout layout;
  const int pieces = 1 + below(random, 40);
  std::size_t at = random() % 16, left = bytes;
  for (int piece = 0; piece < pieces && left > 0; ++piece) {
    const std::size_t take =
        piece + 1 == pieces ? left : std::min(left, 1 + random() % (2 * bytes / pieces + 1));
    layout.pieces.push_back({at, take});
    at += take + random() % 100;
    left -= take;
  }
  layout.extent = at;
  if (one_in(random, 3)) std::shuffle(layout.pieces.begin(), layout.pieces.end(), random);
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  std::vector<MPI_Datatype> types(layout.pieces.size(), MPI_BYTE);
  for (const Piece& piece : layout.pieces) {
    lengths.push_back(static_cast<int>(piece.bytes));
    places.push_back(static_cast<MPI_Aint>(piece.at));
  }
  const int number = static_cast<int>(lengths.size());
  if (one_in(random, 2)) {
    MPI_Type_create_hindexed(number, lengths.data(), places.data(), MPI_BYTE, &layout.type);
  } else {
    MPI_Type_create_struct(number, lengths.data(), places.data(), types.data(), &layout.type);
  }
  layout.count = 1;
  return layout;
}

/// Equal blocks at equal distances: one vector, or elements of a resized type; the rest at the end if any.
inline Layout strided(Random& random, std::size_t bytes) {
  Layout layout;
  constexpr std::size_t kBlocks[] = {1, 8, 24, 64, 512, 4096, 10000};
  std::size_t block = kBlocks[below(random, 7)];
  if (block > bytes) block = bytes;
  while (bytes / block > 5000) block *= 4;
  const std::size_t stride = block + (one_in(random, 4) ? 0 : one_in(random, 2) ? block : random() % 200);
  const std::size_t blocks = bytes / block, rest = bytes % block;
  for (std::size_t i = 0; i < blocks; ++i) layout.pieces.push_back({i * stride, block});
  if (rest > 0) layout.pieces.push_back({blocks * stride, rest});
  layout.extent = blocks * stride + rest;
  MPI_Datatype base = MPI_BYTE;
  if (rest == 0 && one_in(random, 2)) {
    MPI_Type_contiguous(static_cast<int>(block), MPI_BYTE, &base);
    MPI_Type_create_resized(base, 0, static_cast<MPI_Aint>(stride), &layout.type);
    layout.count = static_cast<int>(blocks);
    MPI_Type_free(&base);
    return layout;
  }
  MPI_Type_vector(static_cast<int>(blocks), static_cast<int>(block), static_cast<int>(stride), MPI_BYTE,
                  &base);
  const int lengths[] = {1, static_cast<int>(rest)};
  const MPI_Aint places[] = {0, static_cast<MPI_Aint>(blocks * stride)};
  const MPI_Datatype types[] = {base, MPI_BYTE};
  MPI_Type_create_struct(2, lengths, places, types, &layout.type);
  layout.count = 1;
  MPI_Type_free(&base);
  return layout;
}

inline Layout draw_layout(Random& random, std::size_t bytes, bool plain) {
  if (plain || bytes == 0 || one_in(random, 2)) return contiguous(bytes);
  Layout layout = one_in(random, 2) ? scattered(random, bytes) : strided(random, bytes);
  MPI_Type_commit(&layout.type);
  layout.own = true;
  layout.bytes = bytes;
  return layout;
}

inline void give_back(Layout& layout) {
  if (layout.own) MPI_Type_free(&layout.type);
  layout.own = false;
}

inline void put(const Layout& layout, const std::vector<unsigned char>& from, unsigned char* base) {
  std::size_t done = 0;
  for (const Piece& piece : layout.pieces) {
    std::memcpy(base + piece.at, from.data() + done, piece.bytes);
    done += piece.bytes;
  }
}

/// Takes the first `bytes` bytes out and leaves gaps in their places.
inline std::vector<unsigned char> take_out(const Layout& layout, std::size_t bytes, unsigned char* base) {
  std::vector<unsigned char> taken(bytes);
  std::size_t done = 0;
  for (const Piece& piece : layout.pieces) {
    const std::size_t take = std::min(piece.bytes, bytes - done);
    std::memcpy(taken.data() + done, base + piece.at, take);
    std::memset(base + piece.at, kGap, take);
    done += take;
  }
  return taken;
}

}  // namespace stress
