// Maps of views: look-ups, windows and coverage against lists of all bytes, over random types; and that what
// is regular is decided without going through its runs.
#include "io/view/file_map.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "datatype/layout.hpp"
#include "io/support.hpp"

namespace tasuki::test {
namespace {

/// `count` copies, `stride` bytes apart, and then a new extent.
Mapped mapped_copies(Process& process, const Mapped& old, Count count, Count stride, Count extent) {
  Datatype* copies = nullptr;
  Datatype* resized = nullptr;
  api::type_create_hvector(process, count, 1, stride, old.type.get(), &copies, true);
  api::type_create_resized(process, copies, 0, extent, &resized, true);
  release(copies);
  Mapped made{Ref<Datatype>(resized), {}, extent};
  for (Count copy = 0; copy < count; ++copy) {
    for (const Count place : old.places) made.places.push_back(copy * stride + place);
  }
  return made;
}

/// Ascending, without overlap: listed blocks, copies at a stride, and lists of different children, nested.
Mapped random_tile(Process& process, Random& random) {
  Mapped made = mapped_byte(process, pick(random, 1, 6));
  for (Count level = pick(random, 0, 3); level > 0 && made.size() < 3000; --level) {
    if (random() % 2 == 0) {
      const Count count = pick(random, 1, random() % 3 == 0 ? 40 : 4);
      const Count stride = made.extent + pick(random, 0, 2) * pick(random, 0, 9);
      made = mapped_copies(process, made, count, stride, count * stride + pick(random, 0, 5));
    } else {
      std::vector<std::int64_t> lengths, displacements;
      Count end = pick(random, 0, 5);
      for (Count blocks = pick(random, 1, 5); blocks > 0; --blocks) {
        lengths.push_back(pick(random, 1, random() % 4 == 0 ? 20 : 3));
        displacements.push_back(end);
        end += lengths.back() * made.extent + pick(random, 0, 9);
      }
      made = mapped_blocks(process, made, lengths, displacements, end);
    }
  }
  return made;
}

FileMap map_of(const Mapped& tile, Offset displacement) {
  return {displacement, tile.extent, tile.type->layout};
}

/// The offsets of the first `positions` bytes of data.
std::vector<Offset> offsets_of(const Mapped& tile, Offset displacement, Count positions) {
  std::vector<Offset> offsets;
  for (Count k = 0; k < positions; ++k) offsets.push_back(displacement + tile.place(k));
  return offsets;
}

TEST(FileMap, LooksUpAsAListWould) {
  run_ranks(1, [](Process& process) {
    Random random(1);
    for (int round = 0; round < 300; ++round) {
      const Mapped tile = random_tile(process, random);
      const Offset displacement = random() % 4 == 0 ? Offset{1} << 40 : pick(random, 0, 20);
      const FileMap map = map_of(tile, displacement);
      const std::vector<Offset> offsets = offsets_of(tile, displacement, 2 * tile.size() + 3);
      ASSERT_TRUE(map.is_ordered(static_cast<Count>(offsets.size())));
      for (int probe = 0; probe < 40; ++probe) {
        const Count position = pick(random, 0, static_cast<Count>(offsets.size()) - 1);
        ASSERT_EQ(map.offset_of(position), offsets[static_cast<std::size_t>(position)]);
        const FileRun run = map.run_at(position);
        for (Count i = 0; i < run.bytes && position + i < static_cast<Count>(offsets.size()); ++i)
          ASSERT_EQ(run.offset + i, offsets[static_cast<std::size_t>(position + i)]);
        const Offset offset = pick(random, displacement - 3, offsets.back());
        const auto at = std::lower_bound(offsets.begin(), offsets.end(), offset);
        ASSERT_EQ(map.position_at(offset), at - offsets.begin())
            << "round " << round << ", offset " << offset;
      }
      const PositionRange all{pick(random, 0, 5), static_cast<Count>(offsets.size())};
      EXPECT_EQ(map.range_in(all, displacement - 9, offsets.back() + 1).begin, all.begin);
      EXPECT_EQ(map.range_in(all, displacement - 9, offsets.back() + 1).end, all.end);
      EXPECT_EQ(map.range_in(all, displacement - 9, displacement - 5).bytes(), 0);
    }
  });
}

TEST(FileMap, MovesWindows) {
  run_ranks(1, [](Process& process) {
    Random random(2);
    for (int round = 0; round < 300; ++round) {
      const Mapped tile = random_tile(process, random);
      const Offset displacement = random() % 4 == 0 ? Offset{1} << 62 : pick(random, 0, 20);
      const FileMap map = map_of(tile, displacement);
      const Count positions = 3 * tile.size();
      const std::vector<Offset> offsets = offsets_of(tile, displacement, positions);
      const Offset begin = pick(random, displacement, offsets.back());
      const Offset end = pick(random, begin, offsets.back() + 5);
      const PositionRange range = map.range_in({0, positions}, begin, end);
      Bytes packed(static_cast<std::size_t>(range.bytes()));
      for (unsigned char& byte : packed) byte = static_cast<unsigned char>(random());
      Bytes window(static_cast<std::size_t>(end - begin), 0xee);
      Bytes wanted = window;
      for (Count k = range.begin; k < range.end; ++k) {
        const auto from = static_cast<std::size_t>(k - range.begin);
        wanted[static_cast<std::size_t>(offsets[static_cast<std::size_t>(k)] - begin)] = packed[from];
      }
      map.to_window(range, reinterpret_cast<const std::byte*>(packed.data()),
                    reinterpret_cast<std::byte*>(window.data()), begin);
      ASSERT_EQ(window, wanted) << "round " << round;
      Bytes back(packed.size());
      map.from_window(range, reinterpret_cast<std::byte*>(back.data()),
                      reinterpret_cast<const std::byte*>(window.data()), begin);
      ASSERT_EQ(back, packed) << "round " << round;
    }
  });
}

TEST(FileMap, KnowsWhatIsOrdered) {
  run_ranks(1, [](Process& process) {
    const auto blocks = [&](const std::vector<std::int64_t>& displacements, Count extent) {
      const std::vector<std::int64_t> lengths(displacements.size(), 1);
      return map_of(mapped_blocks(process, mapped_byte(process, 4), lengths, displacements, extent), 100);
    };
    EXPECT_TRUE(blocks({0, 10}, 14).is_ordered(INT64_MAX));
    EXPECT_TRUE(blocks({2, 10}, 12).is_ordered(INT64_MAX));  // tiles touch
    EXPECT_FALSE(blocks({2, 10}, 11).is_ordered(9));         // tiles overlap
    EXPECT_TRUE(blocks({2, 10}, 11).is_ordered(8));          // one alone does not
    EXPECT_FALSE(blocks({0, 10}, 5).is_ordered(9));          // tiles mesh
    EXPECT_FALSE(blocks({10, 0}, 20).is_ordered(8));         // descends
    EXPECT_FALSE(blocks({0, 3}, 20).is_ordered(8));          // overlaps in itself
    EXPECT_TRUE(blocks({0, 3}, 20).is_ordered(0));
    EXPECT_FALSE(blocks({0, 10}, 0).is_ordered(9));
    EXPECT_EQ(blocks({0, 4}, 8).run_bytes(), INT64_MAX);
    EXPECT_EQ(blocks({0, 4}, 9).run_bytes(), 8);
    EXPECT_EQ(blocks({0, 10}, 20).run_bytes(), 4);
    const FileMap empty(7, 0, layout_run(0, 0));
    EXPECT_TRUE(empty.is_ordered(0));
    EXPECT_EQ(empty.position_at(100), 0);
  });
}

TEST(Coverage, AgreesWithAListOfBytes) {
  run_ranks(1, [](Process& process) {
    Random random(3);
    int covered = 0;
    for (int round = 0; round < 1500; ++round) {
      const Offset begin = pick(random, 0, 60);
      const Offset end = begin + pick(random, 1, random() % 2 == 0 ? 60 : 900);
      Bytes seen(static_cast<std::size_t>(end - begin), 0);
      std::vector<FileMap> maps;
      std::vector<PositionRange> ranges;
      const Count unit = pick(random, 1, 5);
      for (Count part = pick(random, 1, 5), i = 0; i < part; ++i) {
        Mapped tile = random_tile(process, random);
        Offset displacement = pick(random, 0, 30);
        if (round % 3 != 0) {  // regions that take turns, with a fault now and then
          tile = mapped_copies(process, mapped_byte(process, unit), 1, 0, unit * part);
          if (random() % 2 == 0) tile = mapped_copies(process, tile, 9, tile.extent, 9 * tile.extent);
          displacement = i * unit + (random() % 20 == 0 ? 1 : 0);
        }
        maps.push_back(map_of(tile, displacement));
        const Count last = maps.back().position_at(end);
        const Count from = random() % 4 == 0 ? pick(random, 0, last) : 0;
        const Count to = random() % 4 == 0 ? pick(random, from, last) : last;
        ranges.push_back(maps.back().range_in({from, to}, begin, end));
        for (Count k = ranges.back().begin; k < ranges.back().end; ++k)
          seen[static_cast<std::size_t>(displacement + tile.place(k) - begin)] = 1;
      }
      std::vector<MappedRange> parts;
      for (std::size_t i = 0; i < maps.size(); ++i) parts.push_back({&maps[i], ranges[i]});
      const bool wanted = std::find(seen.begin(), seen.end(), 0) == seen.end();
      ASSERT_EQ(covers(parts, begin, end), wanted) << "round " << round;
      covered += wanted ? 1 : 0;
    }
    EXPECT_GT(covered, 300);
    EXPECT_LT(covered, 1300);
  });
}

/// Parts of maps, cut to a window; the answers must not be a matter of the budget, which covers a small part
/// of the runs only.
bool covers_window(const std::vector<FileMap>& maps, Offset begin, Offset end) {
  std::vector<MappedRange> parts;
  for (const FileMap& map : maps) parts.push_back({&map, map.range_in({0, INT64_MAX / 4}, begin, end)});
  return covers(parts, begin, end);
}

TEST(Coverage, DecidesRegularPatternsFromAPeriod) {
  const Offset begin = 12345;
  const Offset end = begin + (Offset{256} << 20);
  const auto regions = [](int ranks, Count bytes, Count space, bool in_one_type) {
    std::vector<FileMap> maps;
    const Count step = ranks * (bytes + space);
    for (int rank = 0; rank < ranks; ++rank) {
      const Offset displacement = rank * (bytes + space);
      const LayoutRef region = layout_run(0, bytes);
      const Count count = (Offset{1} << 30) / step;
      maps.push_back(in_one_type ? FileMap(displacement, count * step, layout_strided(0, count, step, region))
                                 : FileMap(displacement, step, region));
    }
    return maps;
  };
  for (const bool in_one_type : {false, true}) {
    EXPECT_TRUE(covers_window(regions(4, 2, 0, in_one_type), begin, end));
    EXPECT_TRUE(covers_window(regions(64, 3, 0, in_one_type), begin, end));
    EXPECT_FALSE(covers_window(regions(4, 2, 1, in_one_type), begin, end));
    std::vector<FileMap> one_missing = regions(4, 2, 0, in_one_type);
    one_missing.pop_back();
    EXPECT_FALSE(covers_window(one_missing, begin, end));
  }
}

TEST(Coverage, DecidesBlocksOfArrays) {
  // A brick of rows, columns and planes for each of 2 x 2 x 2 ranks.
  constexpr Count kSide = 512;
  constexpr Count kHalf = kSide / 2;
  constexpr Count kItem = 2;
  std::vector<FileMap> maps;
  const LayoutRef row = layout_run(0, kHalf * kItem);
  const LayoutRef plane = layout_strided(0, kHalf, kSide * kItem, row);
  const LayoutRef brick = layout_strided(0, kHalf, kSide * kSide * kItem, plane);
  for (Count z : {0, 1}) {
    for (Count y : {0, 1}) {
      for (Count x : {0, 1}) {
        const Count corner = (z * kHalf * kSide * kSide + y * kHalf * kSide + x * kHalf) * kItem;
        maps.push_back(FileMap(0, kSide * kSide * kSide * kItem, layout_strided(corner, 1, 0, brick)));
      }
    }
  }
  const Offset all = kSide * kSide * kSide * kItem;
  EXPECT_TRUE(covers_window(maps, 0, all));
  EXPECT_TRUE(covers_window(maps, 100001, all - 77777));
  EXPECT_TRUE(covers_window(maps, all / 2 - 100001, all * 2 + 99));
  maps.erase(maps.begin() + 3);
  EXPECT_TRUE(covers_window(maps, all / 2, all));
  EXPECT_FALSE(covers_window(maps, 100001, all - 77777));
}

}  // namespace
}  // namespace tasuki::test
