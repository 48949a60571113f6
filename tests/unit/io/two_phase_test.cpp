// Collective access in two phases against a file in memory: random views that share a file among ranks, with
// holes in which old bytes stay, read back through views that overlap; large ones of many slices; what one
// rank does wrong; and the end of the file.
#include <algorithm>

#include "io/support.hpp"
#include "support/sanitized.hpp"

namespace tasuki::test {
namespace {

/// How a file is to be accessed: always in two phases.
void force(File& file, Random& same, bool messages) {
  IoHints& hints = file.hints;
  hints.collective_read = HintSwitch::kEnable;
  hints.collective_write = HintSwitch::kEnable;
  hints.exchange = messages ? ExchangeBy::kMessages : ExchangeBy::kAutomatic;
  constexpr Count kBufferBytes[] = {1, 7, 64, 5000, 1 << 20};
  hints.collective_buffer_bytes = kBufferBytes[same() % std::size(kBufferBytes)];
  hints.aggregators = AggregatorRequest{};
  hints.aggregators.number = static_cast<int>(pick(same, 0, file.comm->size()));
  hints.order = static_cast<ExchangeOrder>(same() % kExchangeOrders);
}

/// Blocks of a tile, each some rank's or none's; the tile of this rank. All ranks draw the same.
Mapped share_of_tile(Process& process, Random& same, int ranks, Count block_max) {
  std::vector<std::int64_t> lengths, displacements;
  Count end = 0;
  for (Count blocks = pick(same, ranks, 4 * ranks); blocks > 0; --blocks) {
    const Count length = pick(same, 1, block_max);
    const bool holes = same() % 3 == 0;
    if (static_cast<int>(same() % static_cast<std::uint64_t>(ranks)) == process.rank) {
      lengths.push_back(length);
      displacements.push_back(end);
    }
    end += length + (holes ? pick(same, 1, block_max) : 0);
  }
  if (lengths.empty()) {
    lengths.push_back(1);
    displacements.push_back(end + process.rank);
  }
  Mapped made = mapped_blocks(process, mapped_byte(process, 1), lengths, displacements, end + ranks);
  commit(made);
  return made;
}

struct World {
  Process& process;
  File& file;
  Bytes& oracle;
  Random same;
  Random own;
  int calls = 0;  // two in four are nonblocking
};

void set_view(World& world, const Mapped& view, Offset displacement) {
  expect_success(world.process,
                 api::file_set_view(world.process, &world.file, displacement, named(world.process, kMpiByte),
                                    view.type.get(), "native", nullptr));
}

Bytes random_bytes(Random& random, Count bytes) {
  Bytes made(static_cast<std::size_t>(bytes));
  for (unsigned char& each : made) each = static_cast<unsigned char>(random());
  return made;
}

/// Ranks one after the other.
template <class Body>
void in_turn(World& world, Body body) {
  for (int rank = 0; rank < world.file.comm->size(); ++rank) {
    if (rank == world.process.rank) body();
    api::barrier(world.process, world.process.objects->world);
  }
}

/// `elements` of a memory type that has a hole, or of bytes.
Mapped memory_type(World& world, bool dense) {
  Mapped made = dense ? mapped_byte(world.process, 3)
                      : mapped_blocks(world.process, mapped_byte(world.process, 1), {2, 1}, {3, 0}, 7);
  commit(made);
  return made;
}

void write_round(World& world, Count block_max, Count elements_max) {
  const Mapped view = share_of_tile(world.process, world.same, world.file.comm->size(), block_max);
  const Offset displacement = pick(world.same, 0, 9000);
  const bool dense = world.same() % 2 == 0;
  set_view(world, view, displacement);
  const Mapped memory = memory_type(world, dense);
  const Count elements = world.own() % 4 == 0 ? 0 : pick(world.own, 1, elements_max);
  const Offset begin = pick(world.own, 0, 30);
  Bytes data = random_bytes(world.own, elements * memory.extent + 8);
  Status status;
  expect_success(world.process, access_all(world.process, &world.file, true, world.calls++ / 2 % 2 == 0,
                                           begin, data.data(), elements, memory.type.get(), &status));
  EXPECT_EQ(status.bytes, elements * memory.size());
  in_turn(world, [&] {
    for (Count k = 0; k < elements * memory.size(); ++k) {
      const auto offset = static_cast<std::size_t>(displacement + view.place(begin + k));
      if (offset >= world.oracle.size()) world.oracle.resize(offset + 1, 0);
      world.oracle[offset] = data[static_cast<std::size_t>(memory.place(k))];
    }
  });
}

void read_round(World& world, Count elements_max) {
  const Mapped view = random_filetype(world.process, world.own, mapped_byte(world.process, 1));
  const Offset displacement = pick(world.own, 0, 9000);
  set_view(world, view, displacement);
  const Mapped memory = memory_type(world, world.same() % 2 == 0);
  const Count elements = world.own() % 4 == 0 ? 0 : pick(world.own, 1, elements_max);
  Bytes data = random_bytes(world.own, elements * memory.extent + 8);
  Bytes expected = data;
  Count there = 0;
  for (; there < elements * memory.size(); ++there) {
    const auto offset = static_cast<std::size_t>(displacement + view.place(there));
    if (offset >= world.oracle.size()) break;
    expected[static_cast<std::size_t>(memory.place(there))] = world.oracle[offset];
  }
  Status status;
  expect_success(world.process, access_all(world.process, &world.file, false, world.calls++ / 2 % 2 == 0, 0,
                                           data.data(), elements, memory.type.get(), &status));
  EXPECT_EQ(status.bytes, there);
  EXPECT_TRUE(data == expected);
}

struct Case {
  int ranks;
  int rounds;
  Count block_max;
  Count elements_max;
  bool messages = false;
  bool atomic = false;
  bool in_model = false;  // the model chooses the way
};

void expect_oracle(const Case& wanted, const WorldOptions& options = {}) {
  Bytes oracle;
  const FileName name;
  run_ranks(
      wanted.ranks,
      [&](Process& process) {
        File* file = open_file(process, process.objects->world, name.get(), kModeRdwr | kModeCreate);
        const auto seed = static_cast<unsigned>(wanted.ranks * 1000 + wanted.block_max);
        World world{process, *file, oracle, Random(seed),
                    Random(seed * 31 + static_cast<unsigned>(process.rank))};
        expect_success(process, api::file_set_atomicity(process, file, wanted.atomic));
        for (int round = 0; round < wanted.rounds; ++round) {
          force(*file, world.same, wanted.messages);
          if (wanted.in_model) file->hints = IoHints{};
          write_round(world, wanted.block_max, wanted.elements_max);
          read_round(world, wanted.elements_max);
          api::barrier(process, process.objects->world);
        }
        const auto accesses = process.counters.files.two_phase_accesses;
        if (!wanted.in_model) EXPECT_GT(accesses, 0U);
        expect_success(process, api::file_close(process, &file));
      },
      options);
  EXPECT_TRUE(content(name.get()) == oracle);
}

TEST(TwoPhase, TwoRanks) {
  expect_oracle({.ranks = 2, .rounds = 60, .block_max = 5, .elements_max = 400});
}
TEST(TwoPhase, FiveRanks) {
  expect_oracle({.ranks = 5, .rounds = 30, .block_max = 9, .elements_max = 300});
}
TEST(TwoPhase, ByMessages) {
  expect_oracle({.ranks = 4, .rounds = 25, .block_max = 6, .elements_max = 200, .messages = true});
}
TEST(TwoPhase, AtomicMode) {
  expect_oracle({.ranks = 3, .rounds = 25, .block_max = 6, .elements_max = 200, .atomic = true});
}
TEST(TwoPhase, SomeMemoryIsPrivate) {
  WorldOptions options;
  options.odd_heaps_private = true;
  expect_oracle({.ranks = 4, .rounds = 25, .block_max = 8, .elements_max = 200}, options);
}
TEST(TwoPhase, NothingIsShared) {
  WorldOptions options;
  options.symmetric_heap = false;
  options.file_locks = false;
  expect_oracle({.ranks = 3, .rounds = 25, .block_max = 8, .elements_max = 200}, options);
}
TEST(TwoPhase, OnTwoNodes) {
  WorldOptions options;
  options.nodes = {0, 1, 1, 0};
  expect_oracle({.ranks = 4, .rounds = 20, .block_max = 7, .elements_max = 200}, options);
}
// Nobody else could reach its data, and there is no symmetric memory to stage them in.
TEST(TwoPhase, ARankAloneOnItsNodeHasPrivateMemory) {
  WorldOptions options;
  options.nodes = {0, 1, 0};
  options.odd_ranks_private = true;
  expect_oracle({.ranks = 3, .rounds = 20, .block_max = 7, .elements_max = 200}, options);
}
TEST(TwoPhase, ManySlicesOfShortRuns) {
  expect_oracle({.ranks = 3,
                 .rounds = kSanitized ? 1 : 3,
                 .block_max = 40,
                 .elements_max = kSanitized ? 40'000 : 100'000});
}
TEST(TwoPhase, LongRuns) {
  expect_oracle({.ranks = 3, .rounds = kSanitized ? 1 : 3, .block_max = 20'000, .elements_max = 200'000});
}
TEST(TwoPhase, AsTheModelChooses) {
  expect_oracle({.ranks = 4,
                 .rounds = kSanitized ? 2 : 6,
                 .block_max = 30,
                 .elements_max = kSanitized ? 40'000 : 100'000,
                 .in_model = true});
}

/// In atomic mode what two ranks write to the same bytes is one's or the other's as a whole.
TEST(TwoPhase, OverlappingWritesDoNotMix) {
  with_file(4, [](Process& process, File& file) {
    Random same(7);
    force(file, same, false);
    file.hints.aggregators.number = 4;
    file.hints.collective_buffer_bytes = 64;
    expect_success(process, api::file_set_atomicity(process, &file, true));
    const Mapped view = mapped_blocks(process, mapped_byte(process, 1), {3}, {0}, 5);
    commit(view);
    expect_success(process, api::file_set_view(process, &file, 0, named(process, kMpiByte), view.type.get(),
                                               "native", nullptr));
    const Bytes mine(900, static_cast<unsigned char>('a' + process.rank));
    Bytes got(900);
    Status status;
    expect_success(process, api::file_write_at_all(process, &file, 0, mine.data(), 900,
                                                   named(process, kMpiByte), &status));
    expect_success(process, api::file_read_at_all(process, &file, 0, got.data(), 900,
                                                  named(process, kMpiByte), &status));
    EXPECT_EQ(std::count(got.begin(), got.end(), got[0]), 900);
  });
}

TEST(TwoPhase, AWrongArgumentAtOneRankIsItsOwn) {
  with_file(3, [](Process& process, File& file) {
    Random same(11);
    force(file, same, false);
    const Bytes mine(10, static_cast<unsigned char>('a' + process.rank));
    const Offset offset = process.rank == 1 ? -1 : process.rank * 10;
    Status status;
    const Code code =
        api::file_write_at_all(process, &file, offset, mine.data(), 10, named(process, kMpiByte), &status);
    if (process.rank == 1) {
      EXPECT_EQ(failure(process, code), kErrArg);
    } else {
      expect_success(process, code);
    }
    api::barrier(process, process.objects->world);
    const Bytes bytes = content(file.name.c_str());
    ASSERT_EQ(bytes.size(), 30U);
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 'a'), 10);
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), '\0'), 10);
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 'c'), 10);
  });
}

/// A file that can only be written: holes cannot be read before, so what lies there must stay all the same.
TEST(TwoPhase, HolesStayInAFileThatCannotBeRead) {
  const FileName name;
  {
    FILE* file = std::fopen(name.get(), "wb");
    const Bytes old(1000, 'x');
    std::fwrite(old.data(), 1, old.size(), file);
    std::fclose(file);
  }
  run_ranks(2, [&](Process& process) {
    File* file = open_file(process, process.objects->world, name.get(), kModeWronly);
    Random same(3);
    force(*file, same, false);
    const Mapped view = mapped_blocks(process, mapped_byte(process, 1), {2}, {process.rank * 3}, 9);
    commit(view);
    expect_success(process, api::file_set_view(process, file, 0, named(process, kMpiByte), view.type.get(),
                                               "native", nullptr));
    const Bytes mine(100, static_cast<unsigned char>('a' + process.rank));
    Status status;
    expect_success(process, api::file_write_at_all(process, file, 0, mine.data(), 100,
                                                   named(process, kMpiByte), &status));
    expect_success(process, api::file_close(process, &file));
  });
  const Bytes bytes = content(name.get());
  ASSERT_EQ(bytes.size(), 1000U);
  for (std::size_t i = 0; i < 450; ++i) {
    const std::size_t k = i % 9;
    ASSERT_EQ(bytes[i], k < 2 ? 'a' : k >= 3 && k < 5 ? 'b' : 'x') << "at " << i;
  }
  EXPECT_EQ(std::count(bytes.begin() + 450, bytes.end(), 'x'), 550);
}

}  // namespace
}  // namespace tasuki::test
