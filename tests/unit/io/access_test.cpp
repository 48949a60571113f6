// Accesses to files at their edges: long ones, staged and direct; places beyond 4 GiB; atomic writes that
// overlap; the shared file pointer. Random ones of every family, against a list of bytes, are
// tests/property/files.py's.
#include <algorithm>
#include <cstring>

#include "io/support.hpp"
#include "p2p/call/api.hpp"

namespace tasuki::test {
namespace {

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
