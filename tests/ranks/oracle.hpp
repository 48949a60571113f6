// For tests of collectives: kinds of elements with an operation on them, buffers that know what they must
// hold, and what a reduction of all ranks must give, worked out one rank after the other.
//
// All data are 32-bit words. An element has words at some places of its extent; the others are gaps that
// no call may touch. What rank r contributes as element e follows from a seed, so every rank knows
// everything.
#pragma once

#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace oracle {

using Word = std::uint32_t;

inline std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}
inline std::uint64_t mixed(std::uint64_t seed, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
  return mixed(mixed(mixed(mixed(seed) + a) + b) + c);
}

struct Element {
  Word words[4];
};

/// A datatype and an operation on it.
struct Kind {
  const char* name;
  int words;         // in an element
  int extent_words;  // between elements
  int places[4];     // of its words in the extent
  bool commutative;
  Element (*combine)(Element left, Element right);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
};

inline Element sum(Element left, Element right) {
  for (int i = 0; i < 4; ++i) right.words[i] += left.words[i];
  return right;
}
/// Matrices of 2 by 2: associative, also modulo 2^32, but not commutative.
inline Element product(Element a, Element b) {
  const Word *l = a.words, *r = b.words;
  return {{l[0] * r[0] + l[1] * r[2], l[0] * r[1] + l[1] * r[3], l[2] * r[0] + l[3] * r[2],
           l[2] * r[1] + l[3] * r[3]}};
}

/// The smaller first word, and of equal ones the smaller second word: MPI_MINLOC on MPI_2INT.
inline Element least(Element left, Element right) {
  const auto number = [](Word word) { return static_cast<std::int32_t>(word); };
  if (left.words[0] != right.words[0]) return number(left.words[0]) < number(right.words[0]) ? left : right;
  return number(left.words[1]) < number(right.words[1]) ? left : right;
}

inline Element element_at(const Kind& kind, const Word* buffer, long element) {
  Element value = {};
  for (int i = 0; i < kind.words; ++i) value.words[i] = buffer[element * kind.extent_words + kind.places[i]];
  return value;
}
inline void put_element(const Kind& kind, Word* buffer, long element, const Element& value) {
  for (int i = 0; i < kind.words; ++i) buffer[element * kind.extent_words + kind.places[i]] = value.words[i];
}

/// What the library calls for the kinds with an operation of the user's.
template <int kKind>
void user_op(void* in, void* inout, int* count, MPI_Datatype*);

/// Plain words and a predefined operation; words with gaps; matrices; then kinds that fewer tests use: pairs
/// and a predefined operation; words that lie one before the other, with gaps.
inline constexpr int kUsualKinds = 3;
inline std::vector<Kind>& kinds() {
  static std::vector<Kind> all = {{"words", 1, 1, {0}, true, sum},
                                  {"gaps", 2, 4, {0, 2}, true, sum},
                                  {"matrices", 4, 4, {0, 1, 2, 3}, false, product},
                                  {"pairs", 2, 2, {0, 1}, true, least},
                                  {"backwards", 2, -4, {-1, 1}, true, sum}};
  return all;
}

template <int kKind>
void user_op(void* in, void* inout, int* count, MPI_Datatype*) {
  const Kind& kind = kinds()[kKind];
  auto* left = static_cast<const Word*>(in);
  auto* right = static_cast<Word*>(inout);
  for (int e = 0; e < *count; ++e)
    put_element(kind, right, e, kind.combine(element_at(kind, left, e), element_at(kind, right, e)));
}

inline void make_kinds() {
  Kind &words = kinds()[0], &gaps = kinds()[1], &matrices = kinds()[2];
  words.type = MPI_UINT32_T;
  words.op = MPI_SUM;
  MPI_Datatype holes;
  MPI_Type_vector(2, 1, 2, MPI_UINT32_T, &holes);
  MPI_Type_create_resized(holes, 0, 4 * sizeof(Word), &gaps.type);
  MPI_Type_free(&holes);
  MPI_Type_commit(&gaps.type);
  MPI_Op_create(user_op<1>, 1, &gaps.op);
  MPI_Type_contiguous(4, MPI_UINT32_T, &matrices.type);
  MPI_Type_commit(&matrices.type);
  MPI_Op_create(user_op<2>, 0, &matrices.op);
  Kind &pairs = kinds()[3], &backwards = kinds()[4];
  pairs.type = MPI_2INT;
  pairs.op = MPI_MINLOC;
  const MPI_Aint places[] = {-static_cast<MPI_Aint>(sizeof(Word)), sizeof(Word)};
  MPI_Type_create_hindexed_block(2, 1, places, MPI_UINT32_T, &holes);
  MPI_Type_create_resized(holes, 2 * static_cast<MPI_Aint>(sizeof(Word)),
                          -4 * static_cast<MPI_Aint>(sizeof(Word)), &backwards.type);
  MPI_Type_free(&holes);
  MPI_Type_commit(&backwards.type);
  MPI_Op_create(user_op<4>, 1, &backwards.op);
}

inline void free_kinds() {
  for (Kind& kind : kinds()) {
    if (kind.type == MPI_UINT32_T || kind.type == MPI_2INT) continue;
    MPI_Type_free(&kind.type);
    MPI_Op_free(&kind.op);
  }
}

/// What `rank` contributes as its element `element`.
inline Element input(std::uint64_t seed, int rank, long element) {
  const std::uint64_t word =
      mixed(mixed(seed + static_cast<std::uint64_t>(rank)) + static_cast<std::uint64_t>(element));
  Element value;
  for (int i = 0; i < 4; ++i) value.words[i] = static_cast<Word>(word * (2 * static_cast<Word>(i) + 1) >> 16);
  return value;
}

/// The ranks from 0 to `last`, in their order.
inline Element reduced(const Kind& kind, std::uint64_t seed, int last, long element) {
  Element value = input(seed, 0, element);
  for (int rank = 1; rank <= last; ++rank) value = kind.combine(value, input(seed, rank, element));
  return value;
}

/// Where a buffer lies: what other processes can reach may differ. kStatic: the program's data, as long as
/// there is room.
enum class Memory { kHeap, kPrivate, kAllocated, kStatic, kFile };
inline constexpr int kMemories = 5;

/// Memory of one kind.
class Room {
 public:
  Room(Memory memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {
    if (memory_ == Memory::kStatic && !take_static()) memory_ = Memory::kHeap;
    switch (memory_) {
      case Memory::kHeap:
        at_ = std::malloc(bytes_);
        break;
      case Memory::kPrivate:
        at_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        break;
      case Memory::kAllocated:
        MPI_Alloc_mem(static_cast<MPI_Aint>(bytes_), MPI_INFO_NULL, &at_);
        break;
      case Memory::kFile: {
        std::FILE* file = std::tmpfile();
        if (file == nullptr || ftruncate(fileno(file), static_cast<off_t>(bytes_)) != 0) std::abort();
        at_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
        std::fclose(file);
        break;
      }
      case Memory::kStatic:
        break;
    }
  }
  ~Room() {
    if (memory_ == Memory::kHeap) std::free(at_);
    if (memory_ == Memory::kAllocated) MPI_Free_mem(at_);
    if (memory_ == Memory::kPrivate || memory_ == Memory::kFile) munmap(at_, bytes_);
    if (slot_ >= 0) used_[slot_].clear();
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  Word* words() const { return static_cast<Word*>(at_); }

 private:
  static constexpr std::size_t kSlotBytes = 1 << 16;
  static constexpr int kSlots = 8;
  bool take_static() {
    for (int slot = 0; slot < kSlots && bytes_ <= kSlotBytes; ++slot) {
      if (used_[slot].test_and_set()) continue;
      at_ = slots_[slot_ = slot];
      return true;
    }
    return false;
  }
  alignas(64) inline static std::byte slots_[kSlots][kSlotBytes];
  inline static std::atomic_flag used_[kSlots] = {};

  Memory memory_;
  std::size_t bytes_;
  void* at_ = nullptr;
  int slot_ = -1;
};

/// Room for elements of a kind with a margin on either side, and what it must hold at the end.
class Buffer {
 public:
  Buffer(const Kind& kind, long elements, bool is_private)
      : Buffer(kind, elements, is_private ? Memory::kPrivate : Memory::kHeap) {}
  Buffer(const Kind& kind, long elements, Memory memory)
      : kind_(kind),
        // Elements of a negative extent lie before the first one.
        base_words_(kMarginWords + (kind.extent_words < 0 ? -elements * kind.extent_words : 0)),
        words_(static_cast<std::size_t>(elements * std::abs(kind.extent_words) + 2 * kMarginWords)),
        room_(memory, bytes()),
        memory_(room_.words()) {
    for (std::size_t i = 0; i < words_; ++i) memory_[i] = static_cast<Word>(0xabcd0000 + i);
    begin_.assign(memory_, memory_ + words_);
    end_ = begin_;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Word* data() { return memory_ + base_words_; }
  /// What it holds before the call, and, unless expect() says otherwise, behind it.
  void set(long element, const Element& value) {
    put_element(kind_, begin_.data() + base_words_, element, value);
    put_element(kind_, end_.data() + base_words_, element, value);
    put_element(kind_, data(), element, value);
  }
  void expect(long element, const Element& value) {
    put_element(kind_, end_.data() + base_words_, element, value);
  }
  /// Whatever it holds there is right.
  void accept(long element) { expect(element, element_at(kind_, data(), element)); }
  /// As before the call, for the next start of a persistent one.
  void restore() { std::memcpy(memory_, begin_.data(), bytes()); }
  /// The first word that is wrong, counted from the first element; kRight: none is.
  static constexpr long kRight = -1000000;
  long wrong_word() const {
    for (std::size_t i = 0; i < words_; ++i)
      if (memory_[i] != end_[i]) return static_cast<long>(i) - base_words_;
    return kRight;
  }
  Word word(long index) const { return memory_[index + base_words_]; }
  Word expected_word(long index) const { return end_[static_cast<std::size_t>(index + base_words_)]; }

 private:
  static constexpr long kMarginWords = 16;
  std::size_t bytes() const { return words_ * sizeof(Word); }

  const Kind& kind_;
  long base_words_;
  std::size_t words_;
  Room room_;
  Word* memory_;
  std::vector<Word> begin_, end_;
};

}  // namespace oracle
