// Two-phase access by messages, between ranks that are threads: random maps, memory, nodes, orders, windows
// and aggregators, against a file in memory; and what happens where the file fails.
#include "io/two_phase/exchange.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <numeric>

#include "coll/byte_collectives.hpp"
#include "io/support.hpp"
#include "support/sanitized.hpp"

namespace tasuki::test {
namespace {

unsigned char value_of(int rank, Count byte) {
  return static_cast<unsigned char>(1 + (rank * 89 + byte * 7 + byte / 251) % 199);
}
constexpr unsigned char kUntouched = 0xEE;

/// What all ranks know of a case. Each makes it for itself, of the same numbers.
struct Case {
  std::vector<Mapped> types;  // of the maps
  std::vector<Offset> displacements;
  std::vector<FileMap> maps;
  std::vector<Mapped> memory;  // of each rank
  std::vector<Count> counts;
  AccessPlan plan;
  ExchangeOrder order = ExchangeOrder::kRank;
  Bytes before;  // what the file holds at first

  Offset offset(int rank, Count byte) const {
    const auto at = static_cast<std::size_t>(rank);
    return displacements[at] + types[at].place(plan.parts[at].range.begin + byte);
  }
  Count bytes(int rank) const { return plan.parts[static_cast<std::size_t>(rank)].range.bytes(); }
};

FileRange hull_of(const Case& one, int ranks) {
  FileRange all{INT64_MAX, 0};
  for (int rank = 0; rank < ranks; ++rank) {
    if (one.bytes(rank) == 0) continue;
    all.begin = std::min(all.begin, one.offset(rank, 0));
    all.end = std::max(all.end, one.offset(rank, one.bytes(rank) - 1) + 1);
  }
  all.begin = std::min(all.begin, all.end);
  return all;
}

void choose_domains(Case* one, int ranks, Random& random) {
  AccessPlan& plan = one->plan;
  plan.aggregators.resize(static_cast<std::size_t>(ranks));
  std::iota(plan.aggregators.begin(), plan.aggregators.end(), 0);
  std::shuffle(plan.aggregators.begin(), plan.aggregators.end(), random);
  plan.aggregators.resize(static_cast<std::size_t>(pick(random, 1, ranks)));
  const auto aggregators = static_cast<int>(plan.aggregators.size());
  const FileRange all = hull_of(*one, ranks);
  const Count window = std::max<Count>(1, all.bytes() / pick(random, 1, 12));
  plan.domains = random() % 2 == 0
                     ? FileDomains::blocks(all, aggregators, pick(random, 1, 20), window)
                     : FileDomains::stripes(all, aggregators, window, pick(random, 1, 2 * window));
}

/// `scale`: how long runs are.
Case make_case(Process& process, int ranks, bool write, Count scale, Random& random) {
  Case one;
  one.plan.write = write;
  for (int rank = 0; rank < ranks; ++rank) {
    one.types.push_back(random_filetype(process, random, mapped_byte(process, pick(random, 1, scale))));
    one.displacements.push_back(pick(random, 0, 3 * scale));
    one.maps.emplace_back(one.displacements.back(), one.types.back().extent, one.types.back().type->layout);
    const Mapped unit = mapped_byte(process, pick(random, 1, 2 * scale));
    one.memory.push_back(random() % 2 == 0 ? unit : random_memory_type(process, random, unit));
    one.counts.push_back(random() % 5 == 0 ? 0 : pick(random, 1, 20));
    const Count begin = pick(random, 0, 40);
    one.plan.parts.push_back({nullptr, {begin, begin + one.counts.back() * one.memory.back().size()}, 0});
  }
  for (int rank = 0; rank < ranks; ++rank)
    one.plan.parts[static_cast<std::size_t>(rank)].map = &one.maps[static_cast<std::size_t>(rank)];
  choose_domains(&one, ranks, random);
  one.order = static_cast<ExchangeOrder>(pick(random, 0, kExchangeOrders - 1));
  const FileRange all = hull_of(one, ranks);
  one.before.resize(static_cast<std::size_t>(pick(random, 0, all.end + 10)));
  for (std::size_t i = 0; i < one.before.size(); ++i)
    one.before[i] = static_cast<unsigned char>(200 + i % 31);
  return one;
}

/// One rank's memory, and its access to it.
struct Own {
  Own(const Case& one, File& file)
      : type(one.memory[static_cast<std::size_t>(file.comm->rank)]),
        bytes(one.bytes(file.comm->rank)),
        memory(
            static_cast<std::size_t>(type.extent * one.counts[static_cast<std::size_t>(file.comm->rank)]) + 1,
            kUntouched),
        access{file, one.plan.write, memory.data(), one.counts[static_cast<std::size_t>(file.comm->rank)],
               type.type.get()} {
    access.file_bytes = bytes;
  }
  unsigned char& at(Count byte) { return memory[static_cast<std::size_t>(type.place(byte))]; }

  const Mapped& type;
  Count bytes;
  Bytes memory;
  Access access;
};

/// Some ranks' memory is offered: of those whose packed bytes are dense there.
void offer(Case* one, Own& own, Comm& comm, std::uint64_t which) {
  const bool offered = own.access.datatype->contiguous && (which >> comm.rank) % 2 == 0;
  const SymmetricAddress mine = offered ? reinterpret_cast<SymmetricAddress>(own.memory.data()) : 0;
  std::vector<SymmetricAddress> all(static_cast<std::size_t>(comm.size()));
  expect_success(comm.process, allgather_bytes(comm, &mine, all.data(), sizeof mine));
  for (std::size_t rank = 0; rank < all.size(); ++rank) one->plan.parts[rank].data = all[rank];
  const std::vector<int>& aggregators = one->plan.aggregators;
  const auto found = std::find(aggregators.begin(), aggregators.end(), comm.rank);
  one->plan.own_number = found == aggregators.end() ? -1 : static_cast<int>(found - aggregators.begin());
}

/// Some ranks' views are not sent to all: no other rank has their maps.
void keep_back(Case* one, int rank, std::uint64_t which) {
  for (std::size_t other = 0; other < one->plan.parts.size(); ++other) {
    RankPart& part = one->plan.parts[other];
    if ((which >> other) % 2 == 0) continue;
    part.is_told = false;
    const Count bytes = part.range.bytes();
    const auto number = static_cast<int>(other);
    if (bytes > 0) part.hull = {one->offset(number, 0), one->offset(number, bytes - 1) + 1};
    if (number != rank) part.map = nullptr;
  }
}

void store(const char* name, const Bytes& bytes) {
  FILE* file = std::fopen(name, "wb");
  ASSERT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
  std::fclose(file);
}

/// Where several ranks write a byte any of them may win, in atomic mode the last one.
void expect_written(const Case& one, int ranks, bool atomic, const Bytes& got) {
  std::map<Offset, std::vector<unsigned char>> written;
  for (int rank = 0; rank < ranks; ++rank) {
    for (Count byte = 0; byte < one.bytes(rank); ++byte)
      written[one.offset(rank, byte)].push_back(value_of(rank, byte));
  }
  const std::size_t end = written.empty() ? 0 : static_cast<std::size_t>(written.rbegin()->first) + 1;
  ASSERT_EQ(got.size(), std::max(one.before.size(), end));
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto found = written.find(static_cast<Offset>(i));
    if (found == written.end()) {
      ASSERT_EQ(got[i], i < one.before.size() ? one.before[i] : 0) << "in a hole at " << i;
    } else if (atomic) {
      ASSERT_EQ(got[i], found->second.back()) << "at " << i;
    } else {
      ASSERT_NE(std::count(found->second.begin(), found->second.end(), got[i]), 0) << "at " << i;
    }
  }
}

void expect_read(const Case& one, int rank, Own& own) {
  Bytes expected(own.memory.size(), kUntouched);
  for (Count byte = 0; byte < own.bytes; ++byte) {
    const auto offset = static_cast<std::size_t>(one.offset(rank, byte));
    if (offset < one.before.size())
      expected[static_cast<std::size_t>(own.type.place(byte))] = one.before[offset];
  }
  ASSERT_EQ(own.memory, expected) << "at rank " << rank;
}

struct Setting {
  int ranks;
  std::vector<int> nodes;
  bool write;
  Count scale;
};

Setting random_setting(Random& random) {
  Setting made{static_cast<int>(pick(random, 1, 5)), {}, random() % 2 == 0, random() % 6 == 0 ? 3000 : 12};
  const Count nodes = pick(random, 1, 3);
  for (int rank = 0; rank < made.ranks; ++rank)
    made.nodes.push_back(static_cast<int>(pick(random, 1, nodes)));
  return made;
}

/// Every second one in the call, the others look by look.
Code carry_out(std::uint64_t number, const Access& access, const AccessPlan& plan, Outcome* outcome) {
  const auto how = number % 2 == 0 ? Course::Waits::kInTheCall : Course::Waits::kLater;
  const PhasePlace place{};
  return run_task(access.file, how,
                  [&](Course& course) { return exchange(course, access, plan, place, outcome); });
}

void check(std::uint64_t seed) {
  Random random(seed);
  const Setting setting = random_setting(random);
  const FileName name;
  WorldOptions options;
  options.nodes = setting.nodes;
  run_ranks(
      setting.ranks,
      [&](Process& process) {
        Random mine(seed + 1000);
        Case one = make_case(process, setting.ranks, setting.write, setting.scale, mine);
        if (process.rank == 0) store(name.get(), one.before);
        File* file = open_file(process, process.objects->world, name.get(), kModeRdwr);
        ASSERT_NE(file, nullptr);
        file->hints.order = one.order;
        file->atomic = mine() % 2 == 0;
        const bool atomic = file->atomic;
        Own own(one, *file);
        if (setting.write) {
          for (Count byte = 0; byte < own.bytes; ++byte) own.at(byte) = value_of(process.rank, byte);
        }
        offer(&one, own, *file->comm, mine());
        if (mine() % 2 == 0) keep_back(&one, process.rank, mine());
        Outcome outcome;
        expect_success(process, carry_out(seed, own.access, one.plan, &outcome));
        EXPECT_EQ(outcome.error, 0);
        expect_success(process, barrier_by_messages(*file->comm));
        expect_success(process, api::file_close(process, &file));
        if (!setting.write) {
          expect_read(one, process.rank, own);
        } else if (process.rank == 0) {
          expect_written(one, setting.ranks, atomic, content(name.get()));
        }
      },
      options);
}

TEST(Exchange, MovesWhatIndependentAccessWould) {
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 15 : 40); ++seed) {
    check(seed);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

/// Messages so long that aggregators start them few at a time, over more cycles than are under way at once:
/// written and read back, in every order.
TEST(Exchange, LongMessagesTakeTurns) {
  const FileName name;
  constexpr Count kBlock = 50'000;
  constexpr Count kBytes = 12 * kBlock;  // of each rank
  WorldOptions options;
  options.nodes = {0, 0, 1, 1, 2, 2};
  run_ranks(
      6,
      [&](Process& process) {
        File* file = open_file(process, process.objects->world, name.get(), kModeRdwr);
        std::vector<FileMap> maps;
        for (int rank = 0; rank < 6; ++rank)
          maps.emplace_back(rank * kBlock, 6 * kBlock, layout_run(0, kBlock));
        AccessPlan plan;
        for (const FileMap& map : maps) plan.parts.push_back({&map, {0, kBytes}, 0});
        plan.aggregators = {5, 0, 3};
        plan.domains = FileDomains::blocks({0, 6 * kBytes}, 3, 1, 9 * kBlock);
        const auto found = std::find(plan.aggregators.begin(), plan.aggregators.end(), process.rank);
        if (found != plan.aggregators.end())
          plan.own_number = static_cast<int>(found - plan.aggregators.begin());
        Bytes data(kBytes);
        for (int order = 0; order < kExchangeOrders; ++order) {
          file->hints.order = static_cast<ExchangeOrder>(order);
          for (Count byte = 0; byte < kBytes; ++byte)
            data[static_cast<std::size_t>(byte)] = value_of(process.rank + order, byte);
          const Bytes written = data;
          for (const bool write : {true, false}) {
            plan.write = write;
            Outcome outcome;
            const Access access{*file, write, data.data(), kBytes, named(process, kMpiByte)};
            expect_success(process, carry_out(write ? 1 : 0, access, plan, &outcome));
            expect_success(process, barrier_by_messages(*file->comm));
            if (write) std::fill(data.begin(), data.end(), kUntouched);
          }
          EXPECT_TRUE(data == written) << "rank " << process.rank << ", order " << order;
        }
        expect_success(process, api::file_close(process, &file));
      },
      options);
  Bytes expected;
  for (Count byte = 0; byte < kBytes; byte += kBlock) {
    for (int rank = 0; rank < 6; ++rank) {
      for (Count i = 0; i < kBlock; ++i) expected.push_back(value_of(rank + kExchangeOrders - 1, byte + i));
    }
  }
  EXPECT_TRUE(content(name.get()) == expected);
}

/// All ranks read the same bytes: more than an aggregator has room for at once.
TEST(Exchange, RanksThatReadTheSameTakeTurns) {
  const FileName name;
  constexpr Count kBytes = 100'000;
  Bytes content(kBytes);
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = value_of(3, static_cast<Count>(i));
  store(name.get(), content);
  WorldOptions options;
  options.nodes = {0, 1, 2, 0};
  run_ranks(
      4,
      [&](Process& process) {
        File* file = open_file(process, process.objects->world, name.get(), kModeRdonly);
        const FileMap map(0, 1, layout_run(0, 1));
        AccessPlan plan;
        plan.parts.assign(4, {&map, {0, kBytes + 50}, 0});
        plan.aggregators = {1, 0};
        plan.domains = FileDomains::blocks({0, kBytes + 50}, 2, 1, 7'000);
        plan.own_number = process.rank == 1 ? 0 : process.rank == 0 ? 1 : -1;
        Bytes got(kBytes + 50, kUntouched);
        const Access access{*file, false, got.data(), kBytes + 50, named(process, kMpiByte)};
        Outcome outcome;
        expect_success(process, carry_out(0, access, plan, &outcome));
        if (plan.own_number == 1) EXPECT_EQ(outcome.reached, kBytes);
        Bytes expected = content;
        expected.resize(kBytes + 50, kUntouched);
        EXPECT_TRUE(got == expected);
        expect_success(process, api::file_close(process, &file));
      },
      options);
}

/// Fails from the n-th transfer on.
class FailingDriver final : public FileDriver {
 public:
  FailingDriver(std::unique_ptr<FileDriver> inner, int transfers)
      : inner_(std::move(inner)), left_(transfers) {}
  int close() override { return inner_->close(); }
  int size(Offset* bytes) override { return inner_->size(bytes); }
  int resize(Offset bytes) override { return inner_->resize(bytes); }
  int preallocate(Offset bytes) override { return inner_->preallocate(bytes); }
  int sync() override { return inner_->sync(); }
  Striping striping() override { return inner_->striping(); }
  TransferResult read_at(std::span<const FilePiece> pieces) override {
    return left_-- > 0 ? inner_->read_at(pieces) : TransferResult{0, EIO};
  }
  TransferResult write_at(std::span<const FilePiece> pieces) override {
    return left_-- > 0 ? inner_->write_at(pieces) : TransferResult{0, EIO};
  }

 private:
  std::unique_ptr<FileDriver> inner_;
  int left_;
};

/// The failing aggregator goes on with the messages; the others' windows arrive.
TEST(Exchange, AFileThatFailsAtOneAggregatorStopsNoMessages) {
  for (const bool write : {true, false}) {
    const FileName name;
    constexpr Count kBytes = 40'000;
    store(name.get(), Bytes(3 * kBytes, 9));
    WorldOptions options;
    options.nodes = {0, 1, 1};
    run_ranks(
        3,
        [&](Process& process) {
          File* file = open_file(process, process.objects->world, name.get(), kModeRdwr);
          if (process.rank == 1) file->driver = std::make_unique<FailingDriver>(std::move(file->driver), 2);
          std::vector<FileMap> maps;
          for (int rank = 0; rank < 3; ++rank) maps.emplace_back(10 * rank, 30, layout_run(0, 10));
          AccessPlan plan;
          plan.write = write;
          for (const FileMap& map : maps) plan.parts.push_back({&map, {0, kBytes}, 0});
          plan.aggregators = {0, 1};
          plan.domains = FileDomains::blocks({0, 3 * kBytes}, 2, 1, 9'000);
          plan.own_number = process.rank < 2 ? process.rank : -1;
          Bytes mine(kBytes, 5);
          const Access access{*file, write, mine.data(), kBytes, named(process, kMpiByte)};
          Outcome outcome;
          expect_success(process, carry_out(write ? 0 : 1, access, plan, &outcome));
          EXPECT_EQ(outcome.error, process.rank == 1 ? EIO : 0);
          if (process.rank == 1) EXPECT_EQ(outcome.reached, 3 * kBytes / 2 + 2 * 9'000);
          if (!write) EXPECT_EQ(std::count(mine.begin(), mine.end(), 9), kBytes / 2 + 2 * 3'000);
          expect_success(process, api::file_close(process, &file));
        },
        options);
    const Bytes now = content(name.get());
    EXPECT_EQ(std::count(now.begin(), now.end(), 5), write ? 3 * kBytes / 2 + 2 * 9'000 : 0);
  }
}

}  // namespace
}  // namespace tasuki::test
