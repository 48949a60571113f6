// Nonblocking and split accesses to files: they return before they are over, go on in whatever call progress
// is made, side by side and in order; and what they are given stays alive until then.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>

#include "io/faulty_storage.hpp"
#include "io/file/pending.hpp"
#include "io/support.hpp"
#include "object/api.hpp"
#include "support/sanitized.hpp"

namespace tasuki::test {
namespace {

constexpr int kTag = 3;

unsigned char value_of(std::int64_t seed, Count byte) {
  return static_cast<unsigned char>(seed * 57 + byte * 31 + byte / 253);
}

Bytes values(std::int64_t seed, Count bytes) {
  Bytes made(static_cast<std::size_t>(bytes));
  for (Count i = 0; i < bytes; ++i) made[static_cast<std::size_t>(i)] = value_of(seed, i);
  return made;
}

Status wait_for(Process& process, Request* request) {
  Status status;
  expect_success(process, api::wait(process, &request, &status));
  EXPECT_EQ(request, nullptr);
  return status;
}

bool is_over(Process& process, Request** request) {
  bool flag = false;
  Status status;
  expect_success(process, api::test(process, request, &flag, &status));
  return flag;
}

void signal_rank(Process& process, int rank) {
  expect_success(
      process, api::send(process, nullptr, 0, named(process, kMpiByte), rank, kTag, process.objects->world));
}

void await_rank(Process& process, int rank) {
  Status status;
  expect_success(process, api::recv(process, nullptr, 0, named(process, kMpiByte), rank, kTag,
                                    process.objects->world, &status));
}

// ----- a course and its tasks ------------------------------------------------------------------------------

/// Notes letters, and waits for `*stage` to reach numbers.
Task part(Course& course, int* stage, int wanted, std::string* notes, char letter) {
  notes->push_back(letter);
  co_await until(course, [stage, wanted] { return *stage >= wanted; });
  notes->push_back(static_cast<char>(letter - 'a' + 'A'));
  co_return letter;
}

Task whole(Course& course, int* stage, std::string* notes) {
  Code sum = 0;
  for (int i = 1; i <= 3; ++i) sum += co_await part(course, stage, i, notes, static_cast<char>('a' + i - 1));
  co_await next_look(course);
  co_return sum;
}

TEST(Course, GoesOnWhereItWaited) {
  run_ranks(1, [](Process& process) {
    Course course(process, Course::Waits::kLater);
    std::string notes;
    int stage = 0;
    bool moved = false;
    Task task = whole(course, &stage, &notes);
    EXPECT_EQ(notes, "");
    EXPECT_FALSE(task.begin());
    EXPECT_EQ(notes, "a");
    EXPECT_FALSE(course.go_on(&moved));
    EXPECT_FALSE(moved);
    stage = 2;
    EXPECT_FALSE(course.go_on(&moved));
    EXPECT_TRUE(moved);
    EXPECT_EQ(notes, "aAbBc");
    stage = 3;
    EXPECT_FALSE(course.go_on(&moved));  // has had its look
    EXPECT_EQ(notes, "aAbBcC");
    EXPECT_TRUE(course.go_on(&moved));
    EXPECT_EQ(task.result(), 'a' + 'b' + 'c');
  });
}

TEST(Course, OfACallWaitsInside) {
  run_ranks(1, [](Process& process) {
    Course course(process, Course::Waits::kInTheCall);
    std::string notes;
    int stage = 3;
    EXPECT_EQ(course.run(whole(course, &stage, &notes)), 'a' + 'b' + 'c');
    EXPECT_EQ(notes, "aAbBcC");
  });
}

/// One that is given up lets go of all that its tasks have.
TEST(Course, MayEndInTheMiddle) {
  run_ranks(1, [](Process& process) {
    Course course(process, Course::Waits::kLater);
    const auto held = std::make_shared<int>(0);
    const auto keep = [](Course& on, std::shared_ptr<int> mine) -> Task {
      co_await until(on, [&mine] { return *mine != 0; });
      co_return kSuccess;
    };
    const auto call = [&keep](Course& on, std::shared_ptr<int> mine) -> Task {
      co_return co_await keep(on, mine);
    };
    {
      Task task = call(course, held);
      EXPECT_FALSE(task.begin());
      EXPECT_GT(held.use_count(), 1);
    }
    EXPECT_EQ(held.use_count(), 1);
  });
}

TEST(Course, RunsManyTasksWithoutDepth) {
  static constexpr int kTasks = kSanitized ? 30'000 : 300'000;
  run_ranks(1, [](Process& process) {
    for (const auto how : {Course::Waits::kInTheCall, Course::Waits::kLater}) {
      Course course(process, how);
      const auto one = []() -> Task { co_return 1; };
      const auto many = [&one](Course& on) -> Task {
        Code sum = 0;
        for (int i = 0; i < kTasks; ++i) {
          sum += co_await one();
          if (i % 1000 == 0) co_await next_look(on);
        }
        co_return sum;
      };
      Task task = many(course);
      bool moved = false;
      for (bool over = task.begin(); !over;) over = course.go_on(&moved);
      EXPECT_EQ(task.result(), kTasks);
    }
  });
}

// ----- accesses of one rank --------------------------------------------------------------------------------

/// More than there are lanes, of all kinds of views and memory; against independent access.
void check_one_rank(std::uint64_t seed, bool atomic) {
  Random random(seed);
  with_file(1, [&](Process& process, File& file) {
    Datatype* byte = named(process, kMpiByte);
    const Mapped view = random_filetype(process, random, mapped_byte(process, 1 + seed % 3));
    expect_success(process, api::file_set_view(process, &file, pick(random, 0, 50), byte, view.type.get(),
                                               "native", nullptr));
    file.atomic = atomic;
    constexpr int kAccesses = 12;
    const Mapped memory = random_memory_type(process, random, mapped_byte(process, 1));
    const Count elements = pick(random, 1, 3000);
    const Count bytes = elements * memory.size();
    std::vector<Bytes> data;
    std::vector<Request*> requests(kAccesses);
    for (int i = 0; i < kAccesses; ++i) {
      data.push_back(values(i, elements * memory.extent + 8));
      expect_success(process, api::file_iwrite(process, &file, data.back().data(), elements,
                                               memory.type.get(), &requests[static_cast<std::size_t>(i)]));
    }
    Offset position = 0;
    expect_success(process, api::file_get_position(process, &file, &position));
    EXPECT_EQ(position, kAccesses * bytes);
    for (Request* request : requests) EXPECT_EQ(wait_for(process, request).bytes, bytes);
    for (int i = 0; i < kAccesses; ++i) {
      Bytes packed(static_cast<std::size_t>(bytes));
      Status status;
      expect_success(process,
                     api::file_read_at(process, &file, i * bytes, packed.data(), bytes, byte, &status));
      for (Count k = 0; k < bytes; ++k)
        ASSERT_EQ(packed[static_cast<std::size_t>(k)], value_of(i, memory.place(k))) << "access " << i;
    }
    // Read back, the last one beyond the end of the file.
    std::vector<Bytes> got(kAccesses, Bytes(data[0].size(), '.'));
    const Offset beyond = bytes / 2;
    for (int i = 0; i < kAccesses; ++i) {
      expect_success(process, api::file_iread_at(process, &file, i * bytes + beyond,
                                                 got[static_cast<std::size_t>(i)].data(), elements,
                                                 memory.type.get(), &requests[static_cast<std::size_t>(i)]));
    }
    for (int i = 0; i < kAccesses; ++i) {
      const Count there = i + 1 < kAccesses ? bytes : bytes - beyond;
      EXPECT_EQ(wait_for(process, requests[static_cast<std::size_t>(i)]).bytes, there);
      Bytes expected(data[0].size(), '.');
      for (Count k = 0; k < there; ++k) {
        const Count from = k + beyond;
        expected[static_cast<std::size_t>(memory.place(k))] =
            value_of(i + from / bytes, memory.place(from % bytes));
      }
      EXPECT_TRUE(got[static_cast<std::size_t>(i)] == expected) << "access " << i;
    }
  });
}

TEST(Pending, AccessesOfOneRankMoveWhatBlockingOnesWould) {
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 9 : 24); ++seed) {
    check_one_rank(seed, seed % 3 == 0);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

/// Another representation, and one that is converted: as the blocking forms do it.
TEST(Pending, AccessesConvert) {
  with_file(1, [](Process& process, File& file) {
    Datatype* number = named(process, kMpiInt);
    expect_success(process, api::file_set_view(process, &file, 0, number, number, "external32", nullptr));
    std::vector<int> data(5000);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int>(i * 77);
    Request* request = nullptr;
    expect_success(process, api::file_iwrite_at(process, &file, 3, data.data(), 5000, number, &request));
    EXPECT_EQ(wait_for(process, request).bytes, 20000);
    std::vector<int> got(5000);
    expect_success(process, api::file_iread_at(process, &file, 3, got.data(), 5000, number, &request));
    EXPECT_EQ(wait_for(process, request).bytes, 20000);
    EXPECT_EQ(got, data);
  });
}

/// The request and the datatype may be freed before the end; closing, a new view and MPI_File_sync wait.
TEST(Pending, WhatChangesTheFileWaitsForAccesses) {
  for (int change = 0; change < 4; ++change) {
    const FileName name;
    const Bytes data = values(1, 3'000'000);
    run_ranks(1, [&](Process& process) {
      File* file = open_file(process, process.objects->world, name.get(), kModeRdwr);
      Mapped type = mapped_blocks(process, mapped_byte(process, 1), {2, 1}, {0, 2}, 3);
      commit(type);
      Request* request = nullptr;
      for (int i = 0; i < 3; ++i) {
        expect_success(process, api::file_iwrite_at(process, file, i * 1'000'000, data.data() + i * 1'000'000,
                                                    i == 2 ? 333'333 : 333'334, type.type.get(), &request));
        release(request);
      }
      type = Mapped{};
      Datatype* byte = named(process, kMpiByte);
      if (change == 1)
        expect_success(process, api::file_set_view(process, file, 9, byte, byte, "native", nullptr));
      if (change == 2) expect_success(process, api::file_sync(process, file));
      if (change == 3) expect_success(process, api::file_set_atomicity(process, file, true));
      if (change > 0) EXPECT_EQ(file->independent_accesses, 0);
      expect_success(process, api::file_close(process, &file));
    });
    Bytes expected = data;
    expected.resize(2'999'999);
    EXPECT_TRUE(content(name.get()) == expected) << "change " << change;
  }
}

TEST(Pending, AnErrorComesWithTheCompletion) {
  const FileName name;
  run_ranks(1, [&](Process& process) {
    Faults faults;
    process.files->storage = std::make_unique<FaultyStorage>(faults);
    File* file = open_file(process, process.objects->world, name.get(), kModeRdwr);
    const Bytes data = values(1, 10'000);
    faults.bad_at = 6'000;
    faults.writes_error = ENOSPC;
    Request* request = nullptr;
    expect_success(process, api::file_iwrite_at(process, file, 0, data.data(), 10'000,
                                                named(process, kMpiByte), &request));
    Status status;
    const Code code = api::wait(process, &request, &status);
    EXPECT_EQ(failure(process, code), kErrNoSpace);
    EXPECT_EQ(error_class_bits(status.error), kErrNoSpace);
    EXPECT_EQ(status.bytes, 6'000);
    EXPECT_EQ(process.error_owner, file);
    faults.writes_error = 0;
    expect_success(process, api::file_iwrite_at(process, file, 0, data.data(), 10'000,
                                                named(process, kMpiByte), &request));
    EXPECT_EQ(wait_for(process, request).bytes, 10'000);
    expect_success(process, api::file_close(process, &file));
  });
}

/// A driver does one transfer at a time: accesses under way leave it alone while a blocking call has begun
/// one.
TEST(Pending, AccessesLeaveTheDriverToABlockingCall) {
  const FileName name;
  constexpr Count kBytes = kSanitized ? 1'500'000 : 3'000'000;
  const auto place = [](int access, int rank) { return (2 * access + rank) * kBytes; };
  run_ranks(2, [&](Process& process) {
    Faults faults;
    process.files->storage = std::make_unique<FaultyStorage>(faults);
    File* file = open_file(process, process.objects->world, name.get(), kModeRdwr);
    Datatype* byte = named(process, kMpiByte);
    file->hints.sieve_write = file->hints.collective_write = HintSwitch::kEnable;
    const Mapped view = mapped_blocks(process, mapped_byte(process, 1), {3}, {0}, 5);
    commit(view);
    expect_success(process, api::file_set_view(process, file, 0, byte, view.type.get(), "native", nullptr));
    const Bytes early = values(1, kBytes);
    const Bytes late = values(2, kBytes);
    std::vector<Request*> requests(3);  // sieved: the driver itself is asked
    for (std::size_t i = 0; i < requests.size(); ++i) {
      expect_success(process, api::file_iwrite_at(process, file, place(static_cast<int>(i), process.rank),
                                                  early.data(), kBytes, byte, &requests[i]));
    }
    Status status;
    expect_success(process, api::file_write_at_all(process, file, place(3, process.rank), late.data(), kBytes,
                                                   byte, &status));
    EXPECT_EQ(status.bytes, kBytes);
    EXPECT_GT(process.counters.files.two_phase_accesses, 0u);
    for (Request* request : requests) EXPECT_EQ(wait_for(process, request).bytes, kBytes);
    EXPECT_EQ(faults.mixed, 0);
    expect_success(process, api::barrier(process, process.objects->world));
    Bytes got(static_cast<std::size_t>(kBytes));
    for (int i = 0; i < 4; ++i) {
      expect_success(process, api::file_read_at(process, file, place(i, 1 - process.rank), got.data(), kBytes,
                                                byte, &status));
      EXPECT_TRUE(got == (i < 3 ? early : late)) << "access " << i;
    }
    expect_success(process, api::file_close(process, &file));
  });
}

/// What is given up in the middle, as where a process ends without an end of its file, ends its transfer
/// before the memory goes that this uses.
TEST(Pending, OneThatIsGivenUpEndsItsTransfer) {
  const FileName name;
  Bytes stage(1'000'000);
  run_ranks(1, [&](Process& process) {
    Faults faults;
    faults.lanes_never_end = true;
    process.files->storage = std::make_unique<FaultyStorage>(faults);
    File* file = open_file(process, process.objects->world, name.get(), kModeRdwr);
    const Mapped short_runs = mapped_blocks(process, mapped_byte(process, 1), {1}, {0}, 2);
    commit(short_runs);
    const Bytes data = values(1, 2'000'000);
    for (std::size_t i = 0; i < stage.size(); ++i) stage[i] = data[2 * i];
    Request* request = nullptr;
    expect_success(process, api::file_iwrite_at(process, file, 0, data.data(), 1'000'000,
                                                short_runs.type.get(), &request));
    process.files->pending = std::make_unique<PendingAccesses>(process);
    EXPECT_FALSE(request->done);
    release(request);
    file->independent_accesses = file->lanes_in_use = 0;
    expect_success(process, api::file_close(process, &file));
  });
  EXPECT_TRUE(content(name.get()) == stage);
}

// ----- several ranks ---------------------------------------------------------------------------------------

/// A collective access has been begun by rank 0, which goes on, long before the others come to it.
TEST(Pending, CollectiveAccessesWaitForNobodyInTheirCall) {
  for (const std::vector<int>& nodes : {std::vector<int>{}, {0, 1, 0}}) {
    for (int form = 0; form < 4; ++form) {
      WorldOptions options;
      options.nodes = nodes;
      with_file(
          3,
          [form](Process& process, File& file) {
            Datatype* byte = named(process, kMpiByte);
            file.hints.collective_write = file.hints.collective_read = HintSwitch::kEnable;
            const Bytes data = values(process.rank, 5'000);
            if (process.rank > 0) await_rank(process, 0);
            Request* request = nullptr;
            const Offset at = process.rank * 5'000;
            switch (form) {
              case 0:
                expect_success(
                    process, api::file_iwrite_at_all(process, &file, at, data.data(), 5'000, byte, &request));
                break;
              case 1:
                expect_success(process,
                               api::file_write_at_all_begin(process, &file, at, data.data(), 5'000, byte));
                break;
              case 2:
                expect_success(process,
                               api::file_write_ordered_begin(process, &file, data.data(), 5'000, byte));
                break;
              default:
                api::file_seek(process, &file, at, kSeekSet);
                expect_success(process,
                               api::file_iwrite_all(process, &file, data.data(), 5'000, byte, &request));
            }
            if (process.rank == 0) {
              if (request != nullptr) EXPECT_FALSE(is_over(process, &request));
              signal_rank(process, 1);
              signal_rank(process, 2);
            }
            Status status;
            if (form == 1)
              expect_success(process, api::file_write_at_all_end(process, &file, data.data(), &status));
            if (form == 2)
              expect_success(process, api::file_write_ordered_end(process, &file, data.data(), &status));
            if (request != nullptr) status = wait_for(process, request);
            EXPECT_EQ(status.bytes, 5'000);
            Bytes got(5'000);
            const int next = (process.rank + 1) % 3;
            expect_success(process, api::file_sync(process, &file));
            expect_success(process, api::barrier(process, process.objects->world));
            expect_success(process,
                           api::file_read_at(process, &file, next * 5'000, got.data(), 5'000, byte, &status));
            EXPECT_TRUE(got == values(next, 5'000));
          },
          kModeRdwr | kModeCreate, options);
    }
  }
}

/// A file in which the ranks' blocks take turns, always accessed in two phases. All ranks draw the same.
File* open_in_turns(Process& process, const char* name, Count block, Random& same) {
  File* file = open_file(process, process.objects->world, name, kModeRdwr);
  file->hints.collective_write = file->hints.collective_read = HintSwitch::kEnable;
  file->hints.collective_buffer_bytes = pick(same, 1'000, 100'000);
  if (same() % 2 == 0) file->hints.exchange = ExchangeBy::kMessages;
  const Mapped view =
      mapped_blocks(process, mapped_byte(process, 1), {block}, {process.rank * block}, process.size * block);
  commit(view);
  expect_success(process, api::file_set_view(process, file, 0, named(process, kMpiByte), view.type.get(),
                                             "native", nullptr));
  return file;
}

/// Several on two files, in another order at odd ranks, with empty parts, and blocking ones between; waited
/// for in any order.
void check_several(int ranks, const std::vector<int>& nodes, std::uint64_t seed) {
  const FileName names[2];
  WorldOptions options;
  options.nodes = nodes;
  constexpr int kCalls = 5;
  constexpr Count kBlock = 700;
  run_ranks(
      ranks,
      [&](Process& process) {
        Random same(seed);
        Datatype* byte = named(process, kMpiByte);
        File* files[2];
        for (int i = 0; i < 2; ++i) files[i] = open_in_turns(process, names[i].get(), kBlock, same);
        // Call c of file f writes blocks 10 c .. of each rank, but for a rank that brings nothing.
        const auto bytes_of = [&](int call, int rank) { return (call + rank) % 4 == 0 ? 0 : kBlock * 10; };
        std::vector<Bytes> data;
        data.reserve(2 * kCalls);
        std::vector<Request*> requests;
        const auto access = [&](bool write) {
          requests.clear();
          for (int turn = 0; turn < 2; ++turn) {
            const int number = (process.rank + turn) % 2;
            for (int call = 0; call < kCalls; ++call) {
              Bytes& mine = data.emplace_back(values(100 * number + 10 * call + process.rank, kBlock * 10));
              if (!write) std::fill(mine.begin(), mine.end(), '.');
              Request* request = nullptr;
              const Count bytes = bytes_of(call, process.rank);
              const Offset at = call * kBlock * 10;
              expect_success(process, write ? api::file_iwrite_at_all(process, files[number], at, mine.data(),
                                                                      bytes, byte, &request)
                                            : api::file_iread_at_all(process, files[number], at, mine.data(),
                                                                     bytes, byte, &request));
              requests.push_back(request);
            }
          }
        };
        access(true);
        for (std::size_t i = requests.size(); i-- > 0;) {
          const int call = static_cast<int>(i) % kCalls;
          EXPECT_EQ(wait_for(process, requests[i]).bytes, bytes_of(call, process.rank));
        }
        data.clear();
        access(false);
        // A blocking one after them, which does not overtake.
        Bytes last = values(7, kBlock);
        Status status;
        for (File* file : files)
          expect_success(process, api::file_write_at_all(process, file, kCalls * kBlock * 10, last.data(),
                                                         kBlock, byte, &status));
        for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_TRUE(is_over(process, &requests[i]));
        for (std::size_t i = 0; i < data.size(); ++i) {
          const int number = (process.rank + static_cast<int>(i) / kCalls) % 2;
          const int call = static_cast<int>(i) % kCalls;
          const Count bytes = bytes_of(call, process.rank);
          Bytes expected = values(100 * number + 10 * call + process.rank, kBlock * 10);
          std::fill(expected.begin() + bytes, expected.end(), '.');
          EXPECT_TRUE(data[i] == expected) << "file " << number << ", call " << call;
        }
        for (File* file : files) expect_success(process, api::file_close(process, &file));
      },
      options);
}

TEST(Pending, CollectiveAccessesOfSeveralFilesGoOnSideBySide) {
  std::uint64_t seed = 1;
  for (const int ranks : {1, 2, 3, 4, 8}) {
    if (!kSanitized || ranks <= 4) check_several(ranks, {}, seed);
    ++seed;
  }
  for (const auto& nodes : {std::vector<int>{0, 1}, {0, 1, 0, 1}, {0, 0, 1, 2}})
    check_several(static_cast<int>(nodes.size()), nodes, seed++);
}

/// A rank whose call is refused takes part with nothing; the others' data arrive.
TEST(Pending, ARefusedCallTakesPartWithNothing) {
  with_file(3, [](Process& process, File& file) {
    Datatype* byte = named(process, kMpiByte);
    file.hints.collective_write = HintSwitch::kEnable;
    const Bytes data = values(process.rank, 1'000);
    Request* request = nullptr;
    const Offset at = process.rank == 1 ? -4 : process.rank * 1'000;
    const Code code = api::file_iwrite_at_all(process, &file, at, data.data(), 1'000, byte, &request);
    if (process.rank == 1) {
      EXPECT_EQ(failure(process, code), kErrArg);
      EXPECT_EQ(request, nullptr);
    } else {
      EXPECT_EQ(wait_for(process, request).bytes, 1'000);
    }
    expect_success(process, api::file_sync(process, &file));
    Bytes got(1'000);
    Status status;
    for (const int rank : {0, 2}) {
      expect_success(process,
                     api::file_read_at(process, &file, rank * 1'000, got.data(), 1'000, byte, &status));
      EXPECT_TRUE(got == values(rank, 1'000));
    }
  });
}

/// Independent accesses are over though a collective one before them waits for a rank.
TEST(Pending, IndependentAccessesOvertakeCollectiveOnes) {
  with_file(2, [](Process& process, File& file) {
    Datatype* byte = named(process, kMpiByte);
    file.hints.collective_write = HintSwitch::kEnable;
    const Bytes data = values(process.rank, 2'000);
    Request* together = nullptr;
    if (process.rank == 1) await_rank(process, 0);
    expect_success(process, api::file_iwrite_at_all(process, &file, process.rank * 1'000, data.data(), 1'000,
                                                    byte, &together));
    Request* alone = nullptr;
    expect_success(process, api::file_iwrite_at(process, &file, 2'000 + process.rank * 1'000,
                                                data.data() + 1'000, 1'000, byte, &alone));
    EXPECT_EQ(wait_for(process, alone).bytes, 1'000);
    Status status;
    Bytes got(1'000);
    expect_success(process, api::file_read_at(process, &file, 2'000 + process.rank * 1'000, got.data(), 1'000,
                                              byte, &status));
    EXPECT_TRUE(std::equal(got.begin(), got.end(), data.begin() + 1'000));
    if (process.rank == 0) signal_rank(process, 1);
    EXPECT_EQ(wait_for(process, together).bytes, 1'000);
  });
}

/// api::f(process, ...) as the binding calls it where several threads may.
template <class... Parameters, class... Arguments>
void locked(Code (*function)(Process&, Parameters...), Process& process, Arguments... arguments) {
  const std::lock_guard lock(process.lock);
  expect_success(process, function(process, arguments...));
}

/// Each thread of a rank has a file of its own, accessed by all ranks together; and all have one in which
/// they write over each other, whole by the atomic mode. Any thread goes on with the accesses of all.
TEST(Pending, ThreadsAccessFilesBesideEachOther) {
  constexpr int kThreads = 3;
  constexpr Count kBlock = 70'000;
  WorldOptions options;
  options.thread_level = ThreadLevel::kMultiple;
  const FileName shared_name;
  const std::vector<FileName> names(kThreads);
  run_ranks(
      2,
      [&](Process& process) {
        Datatype* byte = named(process, kMpiByte);
        File* shared = nullptr;
        std::vector<File*> files(kThreads);
        locked(api::file_open, process, process.objects->world, shared_name.get(), kModeRdwr,
               static_cast<Info*>(nullptr), &shared);
        Ref<Datatype> view;
        {
          const std::lock_guard lock(process.lock);
          const Mapped made = mapped_blocks(process, mapped_byte(process, 1), {3}, {0}, 5);
          commit(made);
          view = made.type;
        }
        locked(api::file_set_view, process, shared, Offset{0}, byte, view.get(), "native",
               static_cast<Info*>(nullptr));
        locked(api::file_set_atomicity, process, shared, true);
        for (int i = 0; i < kThreads; ++i) {
          File*& file = files[static_cast<std::size_t>(i)];
          locked(api::file_open, process, process.objects->world, names[static_cast<std::size_t>(i)].get(),
                 kModeRdwr, static_cast<Info*>(nullptr), &file);
          file->hints.collective_write = file->hints.collective_read = HintSwitch::kEnable;
          file->hints.collective_buffer_bytes = 20'000;
        }
        const auto body = [&](int number) {
          File* file = files[static_cast<std::size_t>(number)];
          const int mine = 10 * process.rank + number;
          const Bytes over(3'000, static_cast<unsigned char>('a' + mine));
          for (int round = 0; round < 4; ++round) {
            const Bytes data = values(mine + round, kBlock);
            Bytes got(data.size());
            const Offset own = (2 * round + process.rank) * kBlock;
            const Offset other = (2 * round + 1 - process.rank) * kBlock;
            Request *together = nullptr, *alone = nullptr;
            Status status;
            locked(api::file_iwrite_at, process, shared, Offset{0}, static_cast<const void*>(over.data()),
                   Count{3'000}, byte, &alone);
            locked(api::file_iwrite_at_all, process, file, own, static_cast<const void*>(data.data()), kBlock,
                   byte, &together);
            locked(api::wait, process, &together, &status);
            locked(api::file_iread_at_all, process, file, other, static_cast<void*>(got.data()), kBlock, byte,
                   &together);
            locked(api::wait, process, &together, &status);
            EXPECT_TRUE(got == values(10 * (1 - process.rank) + number + round, kBlock)) << "round " << round;
            locked(api::wait, process, &alone, &status);
            EXPECT_EQ(status.bytes, 3'000);
          }
        };
        std::vector<std::thread> threads;
        for (int i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
        for (std::thread& thread : threads) thread.join();
        Bytes got(3'000);
        Status status;
        locked(api::file_read_at, process, shared, Offset{0}, static_cast<void*>(got.data()), Count{3'000},
               byte, &status);
        EXPECT_TRUE(got[0] >= 'a');
        EXPECT_EQ(std::count(got.begin(), got.end(), got[0]), 3'000);
        locked(api::file_close, process, &shared);
        for (File*& file : files) locked(api::file_close, process, &file);
      },
      options);
}

/// The rank that keeps the shared file pointer need not be in MPI while others begin their accesses.
TEST(Pending, AccessesByTheSharedPointerDoNotWaitForItsOwner) {
  WorldOptions options;
  options.nodes = {0, 1, 2};
  std::atomic<int> begun = 0;
  with_file(
      3,
      [&begun](Process& process, File& file) {
        Datatype* byte = named(process, kMpiByte);
        constexpr int kAccesses = 5;
        const Bytes data(100, static_cast<unsigned char>('a' + process.rank));
        std::vector<Request*> requests(kAccesses);
        if (process.rank == 0) {
          const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
          while (begun < 2 && std::chrono::steady_clock::now() < late) std::this_thread::yield();
          EXPECT_EQ(begun, 2);
        }
        for (Request*& request : requests)
          expect_success(process, api::file_iwrite_shared(process, &file, data.data(), 100, byte, &request));
        ++begun;
        for (Request* request : requests) EXPECT_EQ(wait_for(process, request).bytes, 100);
        expect_success(process, api::file_sync(process, &file));
        Bytes got(1'500);
        Status status;
        expect_success(process, api::barrier(process, process.objects->world));
        expect_success(process, api::file_read_at(process, &file, 0, got.data(), 1'500, byte, &status));
        for (const char rank : {'a', 'b', 'c'}) EXPECT_EQ(std::count(got.begin(), got.end(), rank), 500);
        Offset position = 0;
        expect_success(process, api::file_get_position_shared(process, &file, &position));
        EXPECT_EQ(position, 1'500);
      },
      kModeRdwr | kModeCreate, options);
}

/// In atomic mode what ranks write over each other is one rank's, though it is in many pieces and locks are
/// asked for by messages.
TEST(Pending, AtomicAccessesAreWhole) {
  for (const std::vector<int>& nodes : {std::vector<int>{}, {0, 1, 0, 1}}) {
    WorldOptions options;
    options.nodes = nodes;
    with_file(
        4,
        [](Process& process, File& file) {
          Datatype* byte = named(process, kMpiByte);
          const Mapped view = mapped_blocks(process, mapped_byte(process, 1), {3}, {0}, 5);
          commit(view);
          expect_success(process,
                         api::file_set_view(process, &file, 0, byte, view.type.get(), "native", nullptr));
          expect_success(process, api::file_set_atomicity(process, &file, true));
          const Bytes data(3'000, static_cast<unsigned char>('a' + process.rank));
          for (int round = 0; round < 5; ++round) {
            Request* requests[3];
            Bytes got(3'000);
            expect_success(process,
                           api::file_iwrite_at(process, &file, 0, data.data(), 3'000, byte, &requests[0]));
            expect_success(process,
                           api::file_iread_at(process, &file, 0, got.data(), 3'000, byte, &requests[1]));
            expect_success(process,
                           api::file_iwrite_at(process, &file, 0, data.data(), 3'000, byte, &requests[2]));
            for (Request* request : requests) EXPECT_EQ(wait_for(process, request).error, kSuccess);
            if (std::count(got.begin(), got.end(), 0) == 0)
              EXPECT_EQ(std::count(got.begin(), got.end(), got[0]), 3'000);
          }
        },
        kModeRdwr | kModeCreate, options);
  }
}

}  // namespace
}  // namespace tasuki::test
