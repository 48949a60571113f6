// What ranks send each other of their views: each rank knows all views, until new ones are set; nothing is
// sent where nothing needs to be; what is too large to tell is so for all.
#include "io/file/view_table.hpp"

#include "io/support.hpp"

namespace tasuki::test {
namespace {

void set_view(Process& process, File& file, Offset displacement, Datatype* filetype) {
  expect_success(process, api::file_set_view(process, &file, displacement, named(process, kMpiByte), filetype,
                                             "native", nullptr));
}

const ViewTable& told(Process& process, File& file) {
  const ViewTable* table = nullptr;
  expect_success(process, run_task(file, Course::Waits::kInTheCall,
                                   [&](Course& course) { return tell_views(course, file, &table); }));
  return *table;
}

/// The collectives that the file's ranks have done among themselves.
std::uint32_t agreements(const File& file) {
  return file.comm->collectives_started();
}

TEST(ViewTable, TellsEveryRankOfAllViews) {
  with_file(4, [](Process& process, File& file) {
    for (int round = 0; round < 40; ++round) {
      std::vector<Mapped> tiles;  // of all ranks, made alike at each
      std::vector<Offset> displacements;
      Random random(static_cast<std::uint64_t>(round));
      for (int rank = 0; rank < 4; ++rank) {
        tiles.push_back(random_filetype(process, random, mapped_byte(process, pick(random, 1, 4))));
        if (round % 3 == 0 && rank > 0) tiles.back() = tiles.front();  // only the displacements differ
        displacements.push_back(pick(random, 0, 99));
      }
      const auto own = static_cast<std::size_t>(process.rank);
      set_view(process, file, displacements[own], tiles[own].type.get());
      const ViewTable& table = told(process, file);
      EXPECT_TRUE(table.are_all_told());
      for (int rank = 0; rank < 4; ++rank) {
        const Mapped& tile = tiles[static_cast<std::size_t>(rank)];
        const FileMap* map = table.map_of(rank);
        ASSERT_NE(map, nullptr);
        for (Count k = 0; k < 2 * tile.size(); ++k)
          ASSERT_EQ(map->offset_of(k), displacements[static_cast<std::size_t>(rank)] + tile.place(k));
      }
      if (round % 3 == 0) {
        EXPECT_EQ(table.map_of(0)->layout(), table.map_of(3)->layout());  // equal ones are one
      }
      const std::uint32_t before = agreements(file);
      EXPECT_EQ(&told(process, file), &table);
      EXPECT_EQ(agreements(file), before);
    }
  });
}

TEST(ViewTable, SendsNothingForFirstViews) {
  with_file(3, [](Process& process, File& file) {
    const std::uint32_t before = agreements(file);
    const ViewTable& table = told(process, file);
    EXPECT_EQ(agreements(file), before);
    EXPECT_TRUE(table.are_all_told());
    EXPECT_EQ(table.map_of(2)->offset_of(1234567890123), 1234567890123);
  });
}

TEST(ViewTable, LeavesOutWhatIsLarge) {
  with_file(3, [](Process& process, File& file) {
    // At rank 1 blocks without any rule, more than are told; at rank 2 a few less.
    Random random(1);
    std::vector<std::int64_t> lengths, displacements;
    const Count blocks = process.rank == 1 ? 70'000 : process.rank == 2 ? 60'000 : 2;
    for (Count i = 0, end = 0; i < blocks; ++i) {
      lengths.push_back(pick(random, 1, 3));
      displacements.push_back(end);
      end += lengths.back() + pick(random, 1, 5);
    }
    Datatype* listed = nullptr;
    api::type_create_hindexed(process, blocks, CountArray(lengths.data()), CountArray(displacements.data()),
                              named(process, kMpiByte), &listed, true);
    listed->committed = true;
    set_view(process, file, 7, listed);
    release(listed);
    const ViewTable& table = told(process, file);
    EXPECT_FALSE(table.are_all_told());
    EXPECT_EQ(table.map_of(1), nullptr);
    ASSERT_NE(table.map_of(0), nullptr);
    ASSERT_NE(table.map_of(2), nullptr);
    const Count size = table.map_of(2)->layout()->size;
    if (process.rank == 2) {
      EXPECT_EQ(table.map_of(2)->offset_of(size - 1), 7 + displacements.back() + lengths.back() - 1);
    }
    // Views that were not sent go when others are set.
    set_view(process, file, process.rank, named(process, kMpiByte));
    EXPECT_TRUE(told(process, file).are_all_told());
    EXPECT_EQ(told(process, file).map_of(1)->offset_of(5), 6);
  });
}

}  // namespace
}  // namespace tasuki::test
