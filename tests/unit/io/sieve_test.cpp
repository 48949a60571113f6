// Data sieving: when it pays; that what is moved by windows is what is moved run by run, beside others that
// do the same to the holes, at the end of the file, and where the storage fails; and that memory is bounded.
#include "io/access/data_sieving.hpp"

#include <algorithm>

#include "support.hpp"

namespace tasuki::test {
namespace {

TEST(Sieving, PaysForShortRunsThatLieClose) {
  const WindowShape close{.in_memory = true, .runs = 4096, .bytes = 32 << 10, .extent = 64 << 10};
  const WindowShape far{.in_memory = true, .runs = 4, .bytes = 32, .extent = 256 << 10};
  const WindowShape one{.runs = 1, .bytes = 8, .extent = 100};
  const WindowShape dense{.runs = 64, .bytes = 4096, .extent = 4096};
  for (const bool write : {false, true}) {
    for (WindowShape shape : {close, far, one, dense}) {
      shape.write = write;
      EXPECT_EQ(sieving_pays(shape), shape.runs == close.runs) << shape.runs << " runs, write " << write;
    }
  }
}

TEST(Sieving, ComesEarlierWhereWritesCostMore) {
  WindowShape shape{.write = true, .in_memory = true, .runs = 64, .bytes = 64 * 1500, .extent = 64 * 3000};
  EXPECT_FALSE(sieving_pays(shape));
  shape.contended = true;
  EXPECT_TRUE(sieving_pays(shape));
  shape.contended = shape.in_memory = false;
  EXPECT_TRUE(sieving_pays(shape));
}

TEST(Sieving, LeavesTheDriverToReadOverSmallGaps) {
  const WindowShape shape{.in_memory = true, .runs = 64, .bytes = 64 * 3744, .extent = 64 * 4000};
  EXPECT_FALSE(sieving_pays(shape));
}

void sieve_all(File& file, Count window_bytes) {
  file.hints.sieve_read = file.hints.sieve_write = HintSwitch::kEnable;
  file.hints.sieve_read_bytes = file.hints.sieve_write_bytes = window_bytes;
}

void set_view(Process& process, File& file, Offset displacement, const Mapped& view) {
  expect_success(process, api::file_set_view(process, &file, displacement, named(process, kMpiByte),
                                             view.type.get(), "native", nullptr));
}

unsigned char value_at(int rank, int round, Count k) {
  return static_cast<unsigned char>(1 + (rank * 57 + round * 31 + static_cast<int>(k) * 7) % 255);
}

/// Each rank writes its `run` bytes of each `ranks * run`, at the same time as the others, again and again.
void write_interleaved(Process& process, File& file, int ranks, Count run, Count runs, int rounds) {
  const Mapped byte = mapped_byte(process, 1);
  const Mapped view = mapped_blocks(process, byte, {run}, {0}, ranks * run);
  commit(view);
  set_view(process, file, process.rank * run, view);
  Bytes data(static_cast<std::size_t>(run * runs)), got(data.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < data.size(); ++k) data[k] = value_at(process.rank, round, Count(k));
    Status status;
    expect_success(process, api::file_write_at(process, &file, 0, data.data(), Count(data.size()),
                                               named(process, kMpiByte), &status));
    EXPECT_EQ(status.bytes, Count(data.size()));
    expect_success(process, api::file_read_at(process, &file, 0, got.data(), Count(got.size()),
                                              named(process, kMpiByte), &status));
    EXPECT_EQ(status.bytes, Count(got.size()));
    EXPECT_EQ(got, data) << "rank " << process.rank << ", round " << round;
  }
  EXPECT_GT(process.counters.files.sieved_windows, 0U);
}

void expect_interleaved(const Bytes& found, int ranks, Count run, Count runs, int rounds) {
  ASSERT_EQ(Count(found.size()), ranks * run * runs);
  for (Count place = 0; place < Count(found.size()); ++place) {
    const auto rank = static_cast<int>(place / run % ranks);
    const Count k = place / (run * ranks) * run + place % run;
    ASSERT_EQ(found[static_cast<std::size_t>(place)], value_at(rank, rounds - 1, k)) << "byte " << place;
  }
}

TEST(Sieving, LeavesToOthersWhatIsTheirs) {
  constexpr int kRanks = 4, kRounds = 12;
  constexpr Count kRun = 5, kRuns = 300;
  for (const bool atomic : {false, true}) {
    const FileName name;
    run_ranks(kRanks, [&](Process& process) {
      File* file = open_file(process, process.objects->world, name.get(), kModeRdwr);
      sieve_all(*file, 700);
      expect_success(process, api::file_set_atomicity(process, file, atomic));
      write_interleaved(process, *file, kRanks, kRun, kRuns, kRounds);
      expect_success(process, api::file_close(process, &file));
    });
    expect_interleaved(content(name.get()), kRanks, kRun, kRuns, kRounds);
  }
}

TEST(Sieving, AlsoWhereEachHasOpenedTheFileForItself) {
  constexpr int kRanks = 3, kRounds = 10;
  constexpr Count kRun = 9, kRuns = 200;
  const FileName name;
  run_ranks(kRanks, [&](Process& process) {
    File* file = open_file(process, process.objects->self, name.get(), kModeRdwr);
    sieve_all(*file, 512);
    write_interleaved(process, *file, kRanks, kRun, kRuns, kRounds);
    expect_success(process, api::file_close(process, &file));
  });
  expect_interleaved(content(name.get()), kRanks, kRun, kRuns, kRounds);
}

/// Random views, memory types, places and windows, written and read at and beyond the end of the file.
void play_rounds(Process& process, File& file, const char* name, unsigned seed, int rounds) {
  Random random(seed);
  Bytes oracle;
  const Mapped byte = mapped_byte(process, 1);
  for (int round = 0; round < rounds; ++round) {
    const Mapped view = random_filetype(process, random, byte);
    const Mapped memory = random_memory_type(process, random, byte);
    const Offset displacement = pick(random, 0, 40);
    set_view(process, file, displacement, view);
    sieve_all(file, pick(random, 1, 400));
    const Count count = pick(random, 1, 300) / memory.size() + 1;
    const Offset offset = pick(random, 0, 60);
    Bytes buffer(static_cast<std::size_t>(count * memory.extent));
    for (unsigned char& each : buffer) each = static_cast<unsigned char>(random());
    const Bytes before = buffer;
    Status status;
    const Count bytes = count * memory.size();
    auto place_of = [&](Count k) { return static_cast<std::size_t>(displacement + view.place(offset + k)); };
    if (random() % 2 == 0) {
      expect_success(process, api::file_write_at(process, &file, offset, buffer.data(), count,
                                                 memory.type.get(), &status));
      ASSERT_EQ(status.bytes, bytes);
      for (Count k = 0; k < bytes; ++k) {
        if (place_of(k) >= oracle.size()) oracle.resize(place_of(k) + 1);
        oracle[place_of(k)] = buffer[static_cast<std::size_t>(memory.place(k))];
      }
      ASSERT_EQ(content(name), oracle) << "round " << round;
    } else {
      expect_success(process, api::file_read_at(process, &file, offset, buffer.data(), count,
                                                memory.type.get(), &status));
      Bytes expected = before;
      Count there = 0;
      while (there < bytes && place_of(there) < oracle.size()) {
        expected[static_cast<std::size_t>(memory.place(there))] = oracle[place_of(there)];
        ++there;
      }
      ASSERT_EQ(status.bytes, there) << "round " << round;
      ASSERT_EQ(buffer, expected) << "round " << round;
    }
  }
}

TEST(Sieving, AgainstTheOracle) {
  const FileName name;
  run_ranks(1, [&](Process& process) {
    File* file = open_file(process, process.objects->self, name.get(), kModeRdwr);
    play_rounds(process, *file, name.get(), 7, 400);
    EXPECT_GT(process.counters.files.sieved_windows, 100U);
    EXPECT_LE(file->sieved.bytes(), 400);
    expect_success(process, api::file_close(process, &file));
  });
}

TEST(Sieving, IsLeftOutWhereTheFileCannotBeReadOrTheHintsSaySo) {
  const FileName name;
  run_ranks(1, [&](Process& process) {
    for (const bool write_only : {true, false}) {
      File* file =
          open_file(process, process.objects->self, name.get(), write_only ? kModeWronly : kModeRdwr);
      sieve_all(*file, 512);
      if (!write_only) file->hints.sieve_write = HintSwitch::kDisable;
      const Mapped view = mapped_blocks(process, mapped_byte(process, 1), {2}, {0}, 5);
      commit(view);
      set_view(process, *file, 0, view);
      const Bytes data(100, 'x');
      Status status;
      expect_success(
          process, api::file_write_at(process, file, 0, data.data(), 100, named(process, kMpiByte), &status));
      EXPECT_EQ(status.bytes, 100);
      expect_success(process, api::file_close(process, &file));
    }
    EXPECT_EQ(process.counters.files.sieved_windows, 0U);
  });
  EXPECT_EQ(content(name.get()).size(), 247U);
}

}  // namespace
}  // namespace tasuki::test
