// Every family of data accesses, with random views, datatypes and counts, byte for byte against a file in
// memory: contents, what a read brings (also at the end of the file), counts in statuses, file pointers.
#include <algorithm>
#include <array>
#include <cstring>

#include "io/support.hpp"
#include "p2p/call/api.hpp"

namespace tasuki::test {
namespace {

enum Family {
  kAt,
  kIat,
  kAtAll,
  kIatAll,
  kAtSplit,
  kOwn,
  kIown,
  kAll,
  kIall,
  kSplit,
  kShared,
  kIshared,
  kOrdered,
  kOrderedSplit,
  kFamilies
};

bool is_collective(int family) {
  return family == kAtAll || family == kIatAll || family == kAtSplit || family == kAll || family == kIall ||
         family == kSplit || family == kOrdered || family == kOrderedSplit;
}
bool is_explicit(int family) {
  return family <= kAtSplit;
}
bool is_shared(int family) {
  return family >= kShared;
}

struct Memory {
  Mapped type;
  Count count;
  Bytes bytes;
};

Code wait_for(Process& process, Code code, Request** request, Status* status) {
  return code != kSuccess ? code : api::wait(process, request, status);
}

Code read_by(Process& p, int family, File* f, Offset at, void* b, Count n, Datatype* t, Status* s) {
  Request* r = nullptr;
  switch (family) {
    case kAt:
      return api::file_read_at(p, f, at, b, n, t, s);
    case kIat:
      return wait_for(p, api::file_iread_at(p, f, at, b, n, t, &r), &r, s);
    case kAtAll:
      return api::file_read_at_all(p, f, at, b, n, t, s);
    case kIatAll:
      return wait_for(p, api::file_iread_at_all(p, f, at, b, n, t, &r), &r, s);
    case kAtSplit:
      expect_success(p, api::file_read_at_all_begin(p, f, at, b, n, t));
      return api::file_read_at_all_end(p, f, b, s);
    case kOwn:
      return api::file_read(p, f, b, n, t, s);
    case kIown:
      return wait_for(p, api::file_iread(p, f, b, n, t, &r), &r, s);
    case kAll:
      return api::file_read_all(p, f, b, n, t, s);
    case kIall:
      return wait_for(p, api::file_iread_all(p, f, b, n, t, &r), &r, s);
    case kSplit:
      expect_success(p, api::file_read_all_begin(p, f, b, n, t));
      return api::file_read_all_end(p, f, b, s);
    case kShared:
      return api::file_read_shared(p, f, b, n, t, s);
    case kIshared:
      return wait_for(p, api::file_iread_shared(p, f, b, n, t, &r), &r, s);
    case kOrdered:
      return api::file_read_ordered(p, f, b, n, t, s);
    default:
      expect_success(p, api::file_read_ordered_begin(p, f, b, n, t));
      return api::file_read_ordered_end(p, f, b, s);
  }
}

Code write_by(Process& p, int family, File* f, Offset at, const void* b, Count n, Datatype* t, Status* s) {
  Request* r = nullptr;
  switch (family) {
    case kAt:
      return api::file_write_at(p, f, at, b, n, t, s);
    case kIat:
      return wait_for(p, api::file_iwrite_at(p, f, at, b, n, t, &r), &r, s);
    case kAtAll:
      return api::file_write_at_all(p, f, at, b, n, t, s);
    case kIatAll:
      return wait_for(p, api::file_iwrite_at_all(p, f, at, b, n, t, &r), &r, s);
    case kAtSplit:
      expect_success(p, api::file_write_at_all_begin(p, f, at, b, n, t));
      return api::file_write_at_all_end(p, f, b, s);
    case kOwn:
      return api::file_write(p, f, b, n, t, s);
    case kIown:
      return wait_for(p, api::file_iwrite(p, f, b, n, t, &r), &r, s);
    case kAll:
      return api::file_write_all(p, f, b, n, t, s);
    case kIall:
      return wait_for(p, api::file_iwrite_all(p, f, b, n, t, &r), &r, s);
    case kSplit:
      expect_success(p, api::file_write_all_begin(p, f, b, n, t));
      return api::file_write_all_end(p, f, b, s);
    case kShared:
      return api::file_write_shared(p, f, b, n, t, s);
    case kIshared:
      return wait_for(p, api::file_iwrite_shared(p, f, b, n, t, &r), &r, s);
    case kOrdered:
      return api::file_write_ordered(p, f, b, n, t, s);
    default:
      expect_success(p, api::file_write_ordered_begin(p, f, b, n, t));
      return api::file_write_ordered_end(p, f, b, s);
  }
}

/// One round: a view, a family, then each rank's turn (all at once where the calls are ordered).
class Rounds {
 public:
  Rounds(Process& process, File& file, Bytes& oracle, unsigned seed)
      : process_(process),
        file_(file),
        world_(process.objects->world),
        oracle_(oracle),
        same_(seed),
        own_(seed * 31 + static_cast<unsigned>(process.rank)) {}

  void run() {
    const int family = static_cast<int>(same_() % kFamilies);
    const bool write = same_() % 2 == 0;
    const unsigned view_seed = static_cast<unsigned>(same_());
    const Offset begin = pick(same_, 0, 6);
    set_view(is_shared(family) ? view_seed : view_seed + static_cast<unsigned>(process_.rank));
    if (is_shared(family)) expect_success(process_, api::file_seek_shared(process_, &file_, begin, kSeekSet));
    if (family == kOrdered || family == kOrderedSplit) {
      ordered_turn(family, write, begin);
    } else {
      Offset shared = begin;  // etypes
      for (int rank = 0; rank < world_->size(); ++rank) shared = turn(family, write, rank, shared);
    }
    api::barrier(process_, world_);
  }

 private:
  void set_view(unsigned seed) {
    unit_ = mapped_byte(process_, pick(same_, 1, 4));
    commit(unit_);
    const char* datarep = same_() % 2 == 0 ? "native" : "internal";
    Random random(seed);
    view_ = random_filetype(process_, random, unit_);
    displacement_ = pick(random, 0, 20);
    expect_success(process_, api::file_set_view(process_, &file_, displacement_, unit_.type.get(),
                                                view_.type.get(), datarep, nullptr));
  }

  Memory make_memory(Count count_max) {
    Memory memory{
        random_memory_type(process_, own_, mapped_byte(process_, unit_.size() * pick(own_, 1, 3))), 0, {}};
    memory.count = pick(own_, 0, count_max);
    memory.bytes.resize(static_cast<std::size_t>(memory.type.extent * (memory.count + 1)));
    for (unsigned char& byte : memory.bytes) byte = static_cast<unsigned char>(own_());
    return memory;
  }

  std::size_t offset_of(Offset begin, Count k) const {
    return static_cast<std::size_t>(displacement_ + view_.place(begin * unit_.size() + k));
  }

  void write_oracle(const Memory& memory, Offset begin) {
    for (Count k = 0; k < memory.type.size() * memory.count; ++k) {
      const std::size_t offset = offset_of(begin, k);
      if (offset >= oracle_.size()) oracle_.resize(offset + 1, 0);
      oracle_[offset] = memory.bytes[static_cast<std::size_t>(memory.type.place(k))];
    }
  }
  /// Returns how many bytes were there.
  Count read_oracle(Memory* memory, Offset begin) const {
    Count k = 0;
    for (; k < memory->type.size() * memory->count; ++k) {
      const std::size_t offset = offset_of(begin, k);
      if (offset >= oracle_.size()) break;
      memory->bytes[static_cast<std::size_t>(memory->type.place(k))] = oracle_[offset];
    }
    return k;
  }

  /// This rank's access against the oracle, which stands still or is this rank's alone meanwhile.
  void check(int family, bool write, Memory& memory, Offset begin) {
    Memory expected = memory;
    Status status;
    const Count all = memory.type.size() * memory.count;
    if (write) {
      expect_success(process_, write_by(process_, family, &file_, begin, memory.bytes.data(), memory.count,
                                        memory.type.type.get(), &status));
      EXPECT_EQ(status.bytes, all);
    } else {
      const Count there = read_oracle(&expected, begin);
      expect_success(process_, read_by(process_, family, &file_, begin, memory.bytes.data(), memory.count,
                                       memory.type.type.get(), &status));
      EXPECT_EQ(status.bytes, there);
      EXPECT_EQ(memory.bytes, expected.bytes);
    }
  }

  /// Returns where the shared file pointer is afterwards.
  Offset turn(int family, bool write, int rank, Offset shared) {
    const bool active = rank == process_.rank;
    Offset begin = shared;
    if (!is_shared(family)) begin = pick(own_, 0, 12);
    Memory memory = make_memory(active ? 6 : 0);
    if (active && !is_explicit(family) && !is_shared(family))
      expect_success(process_, api::file_seek(process_, &file_, begin, kSeekSet));
    if (active) {
      check(family, write, memory, begin);
      if (write) write_oracle(memory, begin);
      expect_pointer(family, begin + memory.type.size() * memory.count / unit_.size());
    } else if (is_collective(family)) {
      Status status;
      if (write) {
        write_by(process_, family, &file_, 0, memory.bytes.data(), 0, memory.type.type.get(), &status);
      } else {
        read_by(process_, family, &file_, 0, memory.bytes.data(), 0, memory.type.type.get(), &status);
      }
      EXPECT_EQ(status.bytes, 0);
    }
    api::barrier(process_, world_);
    if (!is_shared(family)) return 0;
    Offset after = 0;
    expect_success(process_, api::file_get_position_shared(process_, &file_, &after));
    return after;
  }

  void expect_pointer(int family, Offset expected) {
    Offset position = -1;
    if (is_explicit(family)) return;
    expect_success(process_, is_shared(family) ? api::file_get_position_shared(process_, &file_, &position)
                                               : api::file_get_position(process_, &file_, &position));
    EXPECT_EQ(position, expected);
  }

  void ordered_turn(int family, bool write, Offset begin) {
    Memory memory = make_memory(4);
    const Count mine = memory.type.size() * memory.count / unit_.size();  // etypes
    std::vector<Count> all(static_cast<std::size_t>(world_->size()));
    api::allgather(process_, &mine, 1, named(process_, kMpiInt64T), all.data(), 1,
                   named(process_, kMpiInt64T), world_);
    Offset end = begin;
    Offset my_begin = 0;
    for (int rank = 0; rank < world_->size(); ++rank) {
      if (rank == process_.rank) my_begin = end;
      end += all[static_cast<std::size_t>(rank)];
    }
    check(family, write, memory, my_begin);
    for (int rank = 0; write && rank < world_->size(); ++rank) {
      if (rank == process_.rank) write_oracle(memory, my_begin);
      api::barrier(process_, world_);
    }
    api::barrier(process_, world_);
    expect_pointer(family, end);
  }

  Process& process_;
  File& file_;
  Comm* world_;
  Bytes& oracle_;  // of all ranks; written by one at a time
  Random same_;    // the same at all ranks
  Random own_;
  Mapped unit_, view_;
  Offset displacement_ = 0;
};

void expect_all_families(int ranks, unsigned seed, int rounds, bool atomic) {
  Bytes oracle;
  const FileName name;
  run_ranks(ranks, [&](Process& process) {
    File* file = open_file(process, process.objects->world, name.get(), kModeRdwr | kModeCreate);
    expect_success(process, api::file_set_atomicity(process, file, atomic));
    Rounds all(process, *file, oracle, seed);
    for (int round = 0; round < rounds; ++round) all.run();
    expect_success(process, api::file_close(process, &file));
  });
  EXPECT_EQ(content(name.get()), oracle);
}

TEST(Access, OneRankAgainstTheOracle) {
  expect_all_families(1, 1, 300, false);
}
TEST(Access, TwoRanksAgainstTheOracle) {
  expect_all_families(2, 2, 120, false);
}
TEST(Access, ThreeRanksAgainstTheOracle) {
  expect_all_families(3, 3, 80, false);
}
TEST(Access, FourRanksInAtomicMode) {
  expect_all_families(4, 4, 40, true);
}

TEST(Access, LongAccessesGoByTheStageAndByVectors) {
  with_file(1, [](Process& process, File& file) {
    const Mapped byte = mapped_byte(process, 1);
    for (const Count block : {Count{3}, Count{700}}) {  // staged, direct
      const Mapped memory = mapped_blocks(process, byte, {block, block}, {block + 5, 0}, 2 * block + 9);
      const Mapped view = mapped_blocks(process, byte, {1, 11}, {2, 7}, 20);
      for (const Mapped* type : {&memory, &view}) commit(*type);
      const Count count = 1'500'000 / memory.size();
      Bytes buffer(static_cast<std::size_t>(count * memory.extent));
      Random random(5);
      for (unsigned char& each : buffer) each = static_cast<unsigned char>(random());
      expect_success(process, api::file_set_view(process, &file, 3, named(process, kMpiByte), view.type.get(),
                                                 "native", nullptr));
      Status status;
      expect_success(process,
                     api::file_write_at(process, &file, 1, buffer.data(), count, memory.type.get(), &status));
      EXPECT_EQ(status.bytes, count * memory.size());
      Bytes got(buffer.size(), 0), expected(buffer.size(), 0);
      for (Count k = 0; k < count * memory.size(); ++k) {
        const auto place = static_cast<std::size_t>(memory.place(k));
        expected[place] = buffer[place];
      }
      expect_success(process,
                     api::file_read_at(process, &file, 1, got.data(), count, memory.type.get(), &status));
      EXPECT_EQ(status.bytes, count * memory.size());
      EXPECT_TRUE(got == expected);
      const Bytes file_bytes = content(file.name.c_str());
      for (Count k = 0; k < count * memory.size(); k += 997) {
        ASSERT_EQ(file_bytes[static_cast<std::size_t>(3 + view.place(1 + k))],
                  buffer[static_cast<std::size_t>(memory.place(k))]);
      }
    }
  });
}

TEST(Access, ReachesBeyondFourGigabytes) {
  with_file(2, [](Process& process, File& file) {
    const Offset far = (Offset{5} << 30) + 123 + process.rank * 8;
    const std::int64_t value = 0x0123456789abcdef + process.rank;
    Status status;
    expect_success(process,
                   api::file_write_at(process, &file, far, &value, 8, named(process, kMpiByte), &status));
    api::barrier(process, process.objects->world);
    Offset size = 0;
    expect_success(process, api::file_get_size(process, &file, &size));
    EXPECT_EQ(size, (Offset{5} << 30) + 123 + 16);
    std::int64_t got = 0;
    expect_success(process,
                   api::file_read_at(process, &file, far, &got, 8, named(process, kMpiByte), &status));
    EXPECT_EQ(got, value);
    // A view whose tiles are gigabytes apart.
    const Mapped tile =
        mapped_blocks(process, mapped_byte(process, 8), {1}, {process.rank * 8}, Count{3} << 30);
    commit(tile);
    expect_success(process, api::file_set_view(process, &file, 0, named(process, kMpiInt64T), tile.type.get(),
                                               "native", nullptr));
    const std::int64_t three[3] = {value, value + 10, value + 20};
    expect_success(process,
                   api::file_write_all(process, &file, three, 3, named(process, kMpiInt64T), &status));
    Offset place = 0;
    expect_success(process, api::file_get_byte_offset(process, &file, 2, &place));
    EXPECT_EQ(place, (Offset{6} << 30) + process.rank * 8);
    std::int64_t back[3] = {};
    expect_success(process,
                   api::file_read_at(process, &file, 0, back, 3, named(process, kMpiInt64T), &status));
    EXPECT_EQ(std::memcmp(back, three, sizeof back), 0);
  });
}

TEST(Access, AtomicWritesOfOverlappingPiecesDoNotMix) {
  constexpr int kRanks = 4;
  with_file(kRanks, [](Process& process, File& file) {
    const Mapped view = mapped_blocks(process, mapped_byte(process, 1), {1}, {0}, 3);
    commit(view);
    expect_success(process, api::file_set_view(process, &file, 0, named(process, kMpiByte), view.type.get(),
                                               "native", nullptr));
    expect_success(process, api::file_set_atomicity(process, &file, true));
    const Bytes mine(400, static_cast<unsigned char>('a' + process.rank));
    for (int round = 0; round < 10; ++round) {
      Status status;
      expect_success(process, api::file_write_at(process, &file, 0, mine.data(), 400,
                                                 named(process, kMpiByte), &status));
      Bytes got(400);
      expect_success(
          process, api::file_read_at(process, &file, 0, got.data(), 400, named(process, kMpiByte), &status));
      EXPECT_EQ(std::count(got.begin(), got.end(), got[0]), 400);
    }
  });
}

TEST(Access, SharedPointerGivesEachRankItsOwnPlace) {
  with_file(4, [](Process& process, File& file) {
    Status status;
    for (int i = 0; i < 25; ++i) {
      const int value = 100 * process.rank + i;
      expect_success(process,
                     api::file_write_shared(process, &file, &value, 4, named(process, kMpiByte), &status));
    }
    expect_success(process, api::file_sync(process, &file));
    expect_success(process, api::barrier(process, process.objects->world));
    std::vector<int> all(100);
    expect_success(process,
                   api::file_read_at(process, &file, 0, all.data(), 400, named(process, kMpiByte), &status));
    std::sort(all.begin(), all.end());
    for (int rank = 0; rank < 4; ++rank) {
      for (int i = 0; i < 25; ++i) EXPECT_EQ(all[static_cast<std::size_t>(25 * rank + i)], 100 * rank + i);
    }
  });
}

}  // namespace
}  // namespace tasuki::test
