// Hints: what each takes and shows, whose count, when they come too late, files of hints with their faults,
// and files that ranks open only when they need them.
#include "io/hints/hint_table.hpp"

#include <set>

#include "io/hints/system_hints.hpp"
#include "io/support.hpp"
#include "object/api.hpp"
#include "storage/deferred.hpp"

namespace tasuki::test {
namespace {

Ref<Info> info_of(const HintList& hints) {
  Ref<Info> info(new Info);
  for (const auto& [key, value] : hints) set_info(info.get(), key, value);
  return info;
}

/// What MPI_File_get_info says of a key; "-": nothing.
std::string shown(File& file, const char* key) {
  Info* made = nullptr;
  api::file_get_info(file.process, &file, &made);
  const Ref<Info> info(made);
  const std::string* value = find_info(made, key);
  return value != nullptr ? *value : "-";
}

/// Opens a fresh file on `ranks` ranks with the hints that `given(rank)` tells.
void with_hints(int ranks, const std::function<HintList(int)>& given,
                const std::function<void(Process&, File&)>& body) {
  const FileName name;
  run_ranks(ranks, [&](Process& process) {
    File* file = nullptr;
    const Ref<Info> info = info_of(given(process.rank));
    expect_success(process, api::file_open(process, process.objects->world, name.get(),
                                           kModeRdwr | kModeCreate, info.get(), &file));
    ASSERT_NE(file, nullptr);
    body(process, *file);
    expect_success(process, api::file_close(process, &file));
  });
}

TEST(Hints, EveryKeyIsThereOnceAndRefusesNonsense) {
  std::set<std::string> keys;
  for (const HintRule& rule : hint_rules()) {
    EXPECT_TRUE(keys.insert(rule.key).second) << rule.key;
    EXPECT_EQ(find_hint_rule(rule.key), &rule);
    EXPECT_EQ(why_without_effect(rule.key), nullptr);
    if (std::string_view(rule.key) == "cb_config_list")
      continue;  // any word names a node: aggregators_test.cpp
    for (const char* value : {"", " ", "?", "-2", "1x", "99999999999999999999999", "enable ", "a:b"}) {
      IoHints hints;
      EXPECT_FALSE(rule.take(&hints, value)) << rule.key << " = " << value;
    }
  }
  EXPECT_EQ(find_hint_rule("cb_node"), nullptr);
  EXPECT_NE(why_without_effect("romio_cb_pfr"), nullptr);
  EXPECT_EQ(why_without_effect("no_such_hint"), nullptr);
}

TEST(Hints, WhateverAValueIsItIsTakenOrLeft) {
  constexpr std::string_view kLetters = "0123456789:,*- #enablediscrtu_k\n\xff";
  std::mt19937 random(3);
  const std::vector<int> nodes = {0, 1, 0, 2};
  for (int i = 0; i < 200000; ++i) {
    std::string value;
    for (auto left = random() % 12; left > 0; --left) value.push_back(kLetters[random() % kLetters.size()]);
    IoHints hints;
    for (const HintRule& rule : hint_rules()) rule.take(&hints, value);
    ASSERT_GT(hints.collective_buffer_bytes, 0);
    ASSERT_GT(hints.sieve_read_bytes, 0);
    ASSERT_GE(hints.aggregators.number, 0);
    if (hints.aggregators.number == 0) hints.aggregators.number = 1;
    std::string unmet;
    ASSERT_GE(choose_aggregators({nodes, 0}, hints.aggregators, &unmet).size(), 1u);
  }
}

TEST(Hints, WhatWasTakenIsShown) {
  const HintList given = {{"cb_buffer_size", "65536"},
                          {"cb_block_size", "4096"},
                          {"cb_nodes", "2"},
                          {"cb_config_list", "*:3"},
                          {"romio_cb_read", "DISABLE"},
                          {"romio_cb_write", "enable"},
                          {"romio_ds_read", "disable"},
                          {"romio_ds_write", "enable"},
                          {"ind_rd_buffer_size", "1000"},
                          {"ind_wr_buffer_size", "2000"},
                          {"tasuki_io_order", "nd_shift"},
                          {"tasuki_io_aggregators", "block:2"},
                          {"tasuki_io_exchange", "messages"},
                          {"tasuki_io_uring", "disable"},
                          {"file_perm", "600"}};
  with_hints(
      3, [&](int) { return given; },
      [&](Process&, File& file) {
        for (const auto& [key, value] : given) {
          const std::string expected = key == "romio_cb_read" ? "disable"
                                       : key == "file_perm"   ? "0600"
                                                              : value;
          EXPECT_EQ(shown(file, key.c_str()), expected) << key;
        }
        EXPECT_EQ(shown(file, "collective_buffering"), "true");
        EXPECT_EQ(shown(file, "romio_aggregator_list"), "0 1");
        EXPECT_EQ(shown(file, "romio_filesystem_type"), "UFS:");
        EXPECT_EQ(shown(file, "striping_factor"), "-");
        EXPECT_EQ(file.hints.order, ExchangeOrder::kNodeShift);
        EXPECT_EQ(file.hints.sieve_write_bytes, 2000);
      });
}

TEST(Hints, RankZerosCountButForIndependentAccess) {
  with_hints(
      3,
      [](int rank) -> HintList {
        if (rank == 2) return {};
        const std::string number = std::to_string(1000 + rank);
        return {{"cb_buffer_size", number}, {"ind_rd_buffer_size", number}};
      },
      [](Process& process, File& file) {
        EXPECT_EQ(file.hints.collective_buffer_bytes, 1000);
        EXPECT_EQ(file.hints.sieve_read_bytes,
                  process.rank == 2 ? IoHints().sieve_read_bytes : 1000 + process.rank);
        // Rank 0 says nothing now: what another one says changes nothing.
        const Ref<Info> later = info_of(
            process.rank == 0 ? HintList{} : HintList{{"cb_buffer_size", "5"}, {"romio_ds_read", "disable"}});
        expect_success(process, api::file_set_info(process, &file, later.get()));
        EXPECT_EQ(file.hints.collective_buffer_bytes, 1000);
        EXPECT_EQ(shown(file, "romio_ds_read"), process.rank == 0 ? "automatic" : "disable");
      });
}

TEST(Hints, SetInfoAndSetViewChangeWhatIsNotForOpeningAlone) {
  with_hints(
      2,
      [](int) -> HintList {
        return {{"file_perm", "600"}, {"cb_buffer_size", "1000"}};
      },
      [](Process& process, File& file) {
        Ref<Info> info = info_of({{"cb_buffer_size", "2000"}, {"file_perm", "644"}, {"cb_nodes", "many"}});
        expect_success(process, api::file_set_info(process, &file, info.get()));
        EXPECT_EQ(shown(file, "cb_buffer_size"), "2000");
        EXPECT_EQ(shown(file, "file_perm"), "0600");
        EXPECT_EQ(shown(file, "cb_nodes"), "-");
        info = info_of({{"cb_nodes", "1"}, {"tasuki_io_order", "pairwise"}});
        Datatype* byte = named(process, kMpiByte);
        expect_success(process, api::file_set_view(process, &file, 0, byte, byte, "native", info.get()));
        EXPECT_EQ(shown(file, "cb_nodes"), "1");
        EXPECT_EQ(shown(file, "cb_buffer_size"), "2000");
        EXPECT_EQ(shown(file, "tasuki_io_order"), "pairwise");
        info = info_of({{"cb_nodes", "50"}});  // more than there are
        expect_success(process, api::file_set_info(process, &file, info.get()));
        EXPECT_EQ(shown(file, "cb_nodes"), "2");
      });
}

TEST(Hints, TheSpecificOneWins) {
  with_hints(
      2,
      [](int) -> HintList {
        return {{"romio_cb_write", "automatic"}, {"collective_buffering", "false"}};
      },
      [](Process&, File& file) {
        EXPECT_EQ(file.hints.collective_read, HintSwitch::kDisable);
        EXPECT_EQ(file.hints.collective_write, HintSwitch::kAutomatic);
        EXPECT_EQ(shown(file, "collective_buffering"), "true");
      });
}

TEST(Hints, FilesOfHints) {
  std::vector<std::string> warnings;
  const HintList hints = parse_system_hints(
      "# of the site\n"
      "cb_nodes 4\r\n"
      "\t cb_buffer_size\t1000   # and why\n"
      "\n"
      "cb_nodes 8\n"
      "of_another_library yes\n"
      "cb_config_list n01,n11:2",
      "site", &warnings);
  EXPECT_EQ(warnings, std::vector<std::string>{});
  EXPECT_EQ(hints, (HintList{{"cb_nodes", "8"},
                             {"cb_buffer_size", "1000"},
                             {"of_another_library", "yes"},
                             {"cb_config_list", "n01,n11:2"}}));
}

TEST(Hints, FaultsOfAFileOfHintsAreToldByLine) {
  std::vector<std::string> warnings;
  const HintList hints =
      parse_system_hints("cb_nodes\nromio_cb_read enable\ncb_nodes 1 2\ncb_nodes none\n", "f", &warnings);
  EXPECT_EQ(hints, (HintList{{"romio_cb_read", "enable"}}));
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_EQ(warnings[0], "f:1: it has 1 word, expected a hint and its value; the line is ignored");
  EXPECT_EQ(warnings[1], "f:3: it has 3 words, expected a hint and its value; the line is ignored");
  EXPECT_EQ(warnings[2],
            "f:4: cb_nodes = \"none\", expected a number from 1 to 2147483647; the line is ignored");
  // Whatever bytes it has.
  std::string noise;
  std::mt19937 random(7);
  for (int i = 0; i < 100000; ++i) noise.push_back(static_cast<char>(random()));
  parse_system_hints(noise, "noise", &warnings);
  EXPECT_GT(warnings.size(), 3u);
}

/// Counts the ranks that open.
class CountingStorage final : public Storage {
 public:
  explicit CountingStorage(std::atomic<int>* opened) : inner_(make_posix_storage()), opened_(opened) {}
  int open(const std::string& path, const OpenHow& how, std::unique_ptr<FileDriver>* driver) override {
    ++*opened_;
    return inner_->open(path, how, driver);
  }
  int remove(const std::string& path) override { return inner_->remove(path); }

 private:
  std::unique_ptr<Storage> inner_;
  std::atomic<int>* opened_;
};

TEST(Hints, WithoutIndependentAccessOnlyAggregatorsOpen) {
  const FileName name;
  std::array<std::atomic<int>, 4> opened{};
  run_ranks(4, [&](Process& process) {
    auto& mine = opened[static_cast<std::size_t>(process.rank)];
    process.files->storage = std::make_unique<CountingStorage>(&mine);
    const Ref<Info> info = info_of({{"romio_no_indep_rw", "true"}, {"cb_nodes", "2"}});
    File* file = nullptr;
    expect_success(process, api::file_open(process, process.objects->world, name.get(),
                                           kModeRdwr | kModeCreate, info.get(), &file));
    EXPECT_EQ(mine, process.rank < 2 ? 1 : 0);
    EXPECT_EQ(shown(*file, "romio_cb_write"), "enable");
    EXPECT_EQ(shown(*file, "romio_no_indep_rw"), "true");
    // Independent access all the same: it opens the file, once, and works.
    Status status;
    const int value = process.rank;
    for (int i = 0; i < 2; ++i)
      expect_success(process, api::file_write_at(process, file, 4 * process.rank, &value, 4,
                                                 named(process, kMpiByte), &status));
    EXPECT_EQ(mine, 1);
    expect_success(process, api::file_close(process, &file));
  });
  EXPECT_EQ(content(name.get()).size(), 16u);
}

TEST(Hints, AFileThatCannotBeOpenedLaterIsAnErrorThen) {
  const FileName name;
  const auto storage = make_posix_storage();
  const auto driver = make_deferred_driver(*storage, name.text() + "-missing", {.read = true}, {3, 4096, 1});
  EXPECT_EQ(driver->striping().targets, 3);
  EXPECT_FALSE(driver->is_under_way());
  Offset size = 0;
  EXPECT_EQ(driver->size(&size), ENOENT);
  std::byte byte{};
  const FilePiece piece{0, &byte, 1};
  driver->begin(false, {&piece, 1});
  EXPECT_EQ(driver->finish().error, ENOENT);
  EXPECT_EQ(driver->read_at({&piece, 1}).error, ENOENT);
  EXPECT_EQ(driver->close(), 0);
  EXPECT_EQ(driver->size(&size), EBADF);
}

/// Files that are said to be on four targets from the third one on, in stripes of 1000 bytes.
class StripedStorage final : public Storage {
 public:
  int open(const std::string& path, const OpenHow& how, std::unique_ptr<FileDriver>* driver) override {
    *driver = make_deferred_driver(*inner_, path, how, {4, 1000, 2});
    Offset bytes = 0;
    return (*driver)->size(&bytes);
  }
  int remove(const std::string& path) override { return inner_->remove(path); }

 private:
  std::unique_ptr<Storage> inner_ = make_posix_storage();
};

TEST(Hints, OfAStripedFileTheStripesAreTold) {
  const FileName name;
  run_ranks(6, [&](Process& process) {
    process.files->storage = std::make_unique<StripedStorage>();
    const Ref<Info> info = info_of({{"striping_factor", "9"}, {"romio_lustre_coll_threshold", "50"}});
    File* file = nullptr;
    expect_success(process, api::file_open(process, process.objects->world, name.get(),
                                           kModeRdwr | kModeCreate, info.get(), &file));
    EXPECT_EQ(shown(*file, "striping_factor"), "4");
    EXPECT_EQ(shown(*file, "striping_unit"), "1000");
    EXPECT_EQ(shown(*file, "start_iodevice"), "2");
    EXPECT_EQ(shown(*file, "romio_lustre_start_iodevice"), "2");
    EXPECT_EQ(shown(*file, "romio_lustre_co_ratio"), "1");
    EXPECT_EQ(shown(*file, "romio_lustre_coll_threshold"), "50");
    EXPECT_EQ(shown(*file, "romio_filesystem_type"), "LUSTRE:");
    // An aggregator for each target.
    const Ref<Info> later = info_of({{"romio_cb_write", "enable"}});
    expect_success(process, api::file_set_info(process, file, later.get()));
    const Bytes mine(1500, static_cast<unsigned char>('a' + process.rank));
    Status status;
    expect_success(process, api::file_write_at_all(process, file, 1500 * process.rank, mine.data(), 1500,
                                                   named(process, kMpiByte), &status));
    EXPECT_EQ(shown(*file, "romio_aggregator_list"), "0 1 2 3");
    EXPECT_EQ(shown(*file, "cb_nodes"), "4");
    expect_success(process, api::file_close(process, &file));
  });
  Bytes expected;
  for (unsigned char rank = 0; rank < 6; ++rank)
    expected.insert(expected.end(), 1500, static_cast<unsigned char>('a' + rank));
  EXPECT_EQ(content(name.get()), expected);
}

TEST(Hints, AppendingBeginsAtTheEndForAllRanks) {
  const FileName name;
  run_ranks(3, [&](Process& process) {
    for (const char* deferred : {"false", "true"}) {
      const Ref<Info> info = info_of({{"romio_no_indep_rw", deferred}});
      File* file = nullptr;
      expect_success(process, api::file_open(process, process.objects->world, name.get(),
                                             kModeRdwr | kModeCreate | kModeAppend, info.get(), &file));
      expect_success(process, api::file_set_size(process, file, 20));
      Offset position = -1;
      expect_success(process, api::file_get_position(process, file, &position));
      EXPECT_EQ(position, std::string_view(deferred) == "true" ? 20 : 0);
      expect_success(process, api::file_close(process, &file));
    }
  });
}

}  // namespace
}  // namespace tasuki::test
