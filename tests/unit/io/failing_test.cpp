// Storage that fails under collective access: one aggregator's error is every rank's, of the right class, by
// every way through the aggregators; no rank hangs; bytes that were not written now are what they were
// before; and the file is usable once the storage is.
#include <cerrno>

#include "io/faulty_storage.hpp"
#include "io/support.hpp"
#include "object/api.hpp"

namespace tasuki::test {
namespace {

constexpr int kRanks = 4;
constexpr Count kRunBytes = 700;  // of one rank, in turns
constexpr Count kRuns = 300;

/// A way of a collective access.
struct Way {
  const char* name;
  std::vector<std::pair<const char*, const char*>> hints;
  std::vector<int> nodes = {};
  bool later = false;  // by nonblocking calls
};

/// All of them with every rank as an aggregator and several cycles.
std::vector<Way> ways() {
  const std::vector<std::pair<const char*, const char*>> by_memory = {{"romio_cb_write", "enable"},
                                                                      {"romio_cb_read", "enable"},
                                                                      {"cb_nodes", "4"},
                                                                      {"cb_buffer_size", "65536"}};
  std::vector<std::pair<const char*, const char*>> by_messages = by_memory;
  by_messages.push_back({"tasuki_io_exchange", "messages"});
  return {{"memory", by_memory},
          {"messages", by_messages},
          {"two nodes", by_memory, {0, 0, 1, 1}},
          {"nodes in turns", by_messages, {0, 1, 0, 1}},
          {"memory, later", by_memory, {}, true},
          {"two nodes, later", by_messages, {0, 1, 0, 1}, true}};
}

File* open_with(Process& process, const char* name, const Way& way) {
  Info info;
  for (const auto& [key, value] : way.hints) set_info(&info, key, value);
  File* file = nullptr;
  expect_success(
      process, api::file_open(process, process.objects->world, name, kModeRdwr | kModeCreate, &info, &file));
  return file;
}

/// The ranks take turns, `hole` bytes between two of them, from `displacement` on.
void set_turns(Process& process, File* file, Offset displacement, Count hole) {
  const Count stride = kRunBytes + hole;
  const Mapped view =
      mapped_blocks(process, mapped_byte(process, 1), {kRunBytes}, {process.rank * stride}, kRanks * stride);
  commit(view);
  expect_success(process, api::file_set_view(process, file, displacement, named(process, kMpiByte),
                                             view.type.get(), "native", nullptr));
}

unsigned char letter(int rank) {
  return static_cast<unsigned char>('a' + rank);
}

/// What the file has from `displacement` on once all ranks have written all their runs.
void expect_turns(const Bytes& bytes, Offset displacement, Count hole, unsigned char in_holes) {
  const Count stride = kRunBytes + hole;
  for (Count at = 0; at < kRuns * kRanks * stride - hole; ++at) {
    const unsigned char want =
        at % stride < kRunBytes ? letter(static_cast<int>(at / stride % kRanks)) : in_holes;
    ASSERT_EQ(bytes[static_cast<std::size_t>(displacement + at)], want) << "byte " << at;
  }
}

/// Runs `body` on storage that fails as each rank's `faults` say.
void run_on(const Way& way, const std::function<void(Process&, Faults& faults)>& body) {
  WorldOptions options;
  options.nodes = way.nodes;
  run_ranks(
      kRanks,
      [&](Process& process) {
        Faults faults;
        process.files->storage = std::make_unique<FaultyStorage>(faults);
        body(process, faults);
      },
      options);
}

Code write_turns(Process& process, const Way& way, File* file, Status* status) {
  Bytes data(static_cast<std::size_t>(kRuns * kRunBytes), letter(process.rank));
  return access_all(process, file, true, way.later, 0, data.data(), kRuns * kRunBytes,
                    named(process, kMpiByte), status);
}

Code read_turns(Process& process, const Way& way, File* file, Bytes* data, Status* status) {
  data->assign(static_cast<std::size_t>(kRuns * kRunBytes), '.');
  return access_all(process, file, false, way.later, 0, data->data(), kRuns * kRunBytes,
                    named(process, kMpiByte), status);
}

void expect_read_back(Process& process, const Way& way, File* file) {
  Bytes data;
  Status status;
  expect_success(process, read_turns(process, way, file, &data, &status));
  EXPECT_EQ(data, Bytes(data.size(), letter(process.rank)));
}

struct Kind {
  int error;
  int error_class;
};
constexpr Kind kKinds[] = {{ENOSPC, kErrNoSpace}, {EIO, kErrIo}, {EDQUOT, kErrQuota}};

TEST(Failing, OneAggregatorsWriteFailsAtEveryRank) {
  for (const Way& way : ways()) {
    for (const Count hole : {Count{0}, Count{90}}) {
      SCOPED_TRACE(std::string(way.name) + ", holes of " + std::to_string(hole));
      const FileName name;
      const Offset before = 4096;
      const Offset after = before + kRuns * kRanks * (kRunBytes + hole) + 5000;
      run_on(way, [&](Process& process, Faults& faults) {
        File* file = open_with(process, name.get(), way);
        Status status;
        if (process.rank == 0) {
          const Bytes old(static_cast<std::size_t>(after), 'o');
          expect_success(process, api::file_write_at(process, file, 0, old.data(), after,
                                                     named(process, kMpiByte), &status));
        }
        expect_success(process, api::file_sync(process, file));
        set_turns(process, file, before, hole);
        int turn = 0;
        for (const Kind kind : kKinds) {
          // The last window of all, some bytes of a middle one, the first bytes: at the ranks that have them.
          faults.bad_at = turn == 0 ? after - 6000 : turn == 1 ? before + after / 2 : before;
          faults.writes_error = kind.error;
          const std::uint64_t in_two_phases = process.counters.files.two_phase_accesses;
          const Code code = write_turns(process, way, file, &status);
          EXPECT_EQ(failure(process, code), kind.error_class) << "turn " << turn;
          EXPECT_EQ(process.counters.files.two_phase_accesses, in_two_phases + 1);
          ++turn;
        }
        expect_success(process, api::barrier(process, process.objects->world));
        if (process.rank == 0) {
          const Bytes now = content(name.get());
          ASSERT_EQ(now.size(), static_cast<std::size_t>(after));
          const Count stride = kRunBytes + hole;
          for (Offset at = 0; at < after; ++at) {
            const bool written = at >= before && at < after - 5000 && (at - before) % stride < kRunBytes;
            const unsigned char byte = now[static_cast<std::size_t>(at)];
            ASSERT_TRUE(byte == 'o' || (written && byte >= 'a' && byte < 'a' + kRanks)) << at;
          }
        }
        expect_success(process, api::barrier(process, process.objects->world));
        faults.writes_error = 0;
        expect_success(process, write_turns(process, way, file, &status));
        EXPECT_EQ(status.bytes, kRuns * kRunBytes);
        expect_success(process, api::file_close(process, &file));
      });
      const Bytes now = content(name.get());
      expect_turns(now, before, hole, 'o');
      EXPECT_EQ(std::count(now.begin(), now.begin() + before, 'o'), before);
    }
  }
}

TEST(Failing, OneRanksStorageFailsAtEveryRank) {
  for (const Way& way : ways()) {
    for (int bad = 0; bad < kRanks; ++bad) {
      SCOPED_TRACE(std::string(way.name) + ", rank " + std::to_string(bad));
      const FileName name;
      run_on(way, [&](Process& process, Faults& faults) {
        File* file = open_with(process, name.get(), way);
        set_turns(process, file, 0, 0);
        Status status;
        expect_success(process, write_turns(process, way, file, &status));
        if (process.rank == bad) {
          faults.good_bytes = 70000;  // some cycles go well
          faults.writes_error = ENOSPC;
          faults.reads_error = EIO;
        }
        EXPECT_EQ(failure(process, write_turns(process, way, file, &status)), kErrNoSpace);
        faults.good_bytes = 70000;
        Bytes data;
        EXPECT_EQ(failure(process, read_turns(process, way, file, &data, &status)), kErrIo);
        faults.reads_error = 0;
        expect_read_back(process, way, file);
        expect_success(process, api::file_close(process, &file));
      });
      expect_turns(content(name.get()), 0, 0, 0);
    }
  }
}

TEST(Failing, TheErrorOfASplitCollectiveComesAtItsEnd) {
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.name);
    const FileName name;
    run_on(way, [&](Process& process, Faults& faults) {
      File* file = open_with(process, name.get(), way);
      set_turns(process, file, 0, 0);
      if (process.rank == 2) faults.good_bytes = 0, faults.writes_error = EIO;
      const Bytes data(static_cast<std::size_t>(kRuns * kRunBytes), letter(process.rank));
      expect_success(process, api::file_write_all_begin(process, file, data.data(), kRuns * kRunBytes,
                                                        named(process, kMpiByte)));
      Status status;
      EXPECT_EQ(failure(process, api::file_write_all_end(process, file, data.data(), &status)), kErrIo);
      faults.writes_error = 0;
      expect_success(process, api::file_close(process, &file));
    });
  }
}

/// Where each rank writes its own, an error is the failing rank's; the others' bytes arrive.
TEST(Failing, WithoutAggregatorsAnErrorIsItsRanks) {
  const FileName name;
  const Way way{"each its own", {{"romio_cb_write", "disable"}, {"romio_ds_write", "disable"}}};
  run_on(way, [&](Process& process, Faults& faults) {
    File* file = open_with(process, name.get(), way);
    set_turns(process, file, 0, 0);
    if (process.rank == 1) faults.good_bytes = 2 * kRunBytes, faults.writes_error = ENOSPC;
    Status status;
    const Code code = write_turns(process, way, file, &status);
    EXPECT_EQ(failure(process, code), process.rank == 1 ? kErrNoSpace : kSuccess);
    EXPECT_EQ(status.bytes, process.rank == 1 ? 2 * kRunBytes : kRuns * kRunBytes);
    expect_success(process, api::barrier(process, process.objects->world));
    if (process.rank == 0) {
      const Bytes now = content(name.get());
      for (int rank = 0; rank < kRanks; ++rank)
        EXPECT_EQ(std::count(now.begin(), now.end(), letter(rank)),
                  rank == 1 ? 2 * kRunBytes : kRuns * kRunBytes);
    }
    faults.writes_error = 0;
    expect_success(process, api::file_close(process, &file));
  });
}

TEST(Failing, ASlowStorageIsOnlySlow) {
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.name);
    const FileName name;
    run_on(way, [&](Process& process, Faults& faults) {
      if (process.rank % 2 == 1) faults.pause = std::chrono::microseconds(2000);
      File* file = open_with(process, name.get(), way);
      set_turns(process, file, 0, 90);
      Status status;
      expect_success(process, write_turns(process, way, file, &status));
      expect_read_back(process, way, file);
      EXPECT_GT(faults.transfers, 0);  // every rank was an aggregator
      expect_success(process, api::file_close(process, &file));
    });
    expect_turns(content(name.get()), 0, 90, 0);
  }
}

/// The file is dealt by its stripes, as rank 0 has them: what a file system tells others changes nothing.
TEST(Failing, StripesAreAsRankZeroFoundThem) {
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.name);
    const FileName name;
    run_on(way, [&](Process& process, Faults& faults) {
      if (process.rank != 1) faults.striping = {3 + process.rank, (64 << 10) << process.rank, 0};
      File* file = open_with(process, name.get(), way);
      EXPECT_EQ(file->striping.targets, 3);
      EXPECT_EQ(file->striping.unit_bytes, 64 << 10);
      set_turns(process, file, 0, 90);
      Status status;
      expect_success(process, write_turns(process, way, file, &status));
      expect_read_back(process, way, file);
      expect_success(process, api::file_close(process, &file));
    });
    expect_turns(content(name.get()), 0, 90, 0);
  }
}

}  // namespace
}  // namespace tasuki::test
