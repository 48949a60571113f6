// What accesses to files ask of the storage's lanes: a call that returns before it is over only begins its
// transfer, whichever of the forms it is; and a rank that waits for an access, but no other, takes part in
// its transfer.
#include "io/faulty_storage.hpp"
#include "io/support.hpp"
#include "object/api.hpp"

namespace tasuki::test {
namespace {

Bytes values(int rank, Count bytes) {
  Bytes made(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < made.size(); ++i)
    made[i] = static_cast<unsigned char>(rank * 57 + i * 31 + i / 253);
  return made;
}

Status wait_for(Process& process, Request* request) {
  Status status;
  expect_success(process, api::wait(process, &request, &status));
  return status;
}

/// Calls forms of access whose transfers end when the test says so: the call asks the storage for nothing but
/// to begin, and progress, of which there is some, does not either.
class EachForm {
 public:
  EachForm(Process& process, File* file, Faults& faults)
      : process_(process), file_(file), faults_(faults), data_(values(process.rank, kBytes)) {}

  template <class Form>
  void at(Form form) {
    request_of([&](Request** made) { return form(process_, file_, place(), memory(), kBytes, byte_, made); });
  }
  template <class Form>
  void by_pointer(Form form) {
    rewind();
    request_of([&](Request** made) { return form(process_, file_, memory(), kBytes, byte_, made); });
  }
  template <class Begin, class End>
  void split_at(Begin begin, End end) {
    split([&] { return begin(process_, file_, place(), memory(), kBytes, byte_); }, end);
  }
  template <class Begin, class End>
  void split_by_pointer(Begin begin, End end) {
    rewind();
    split([&] { return begin(process_, file_, memory(), kBytes, byte_); }, end);
  }
  bool has_kept_data() const { return data_ == values(process_.rank, kBytes); }

 private:
  static constexpr Count kBytes = 1'000;

  Offset place() const { return process_.rank * kBytes; }
  void* memory() { return data_.data(); }
  void rewind() {
    expect_success(process_, api::file_seek(process_, file_, place(), kSeekSet));
    expect_success(process_, api::file_seek_shared(process_, file_, 0, kSeekSet));
    expect_success(process_, api::barrier(process_, process_.objects->world));
  }
  template <class Begin, class IsDone, class End>
  void check(Begin begin, IsDone is_done, End end) {
    const int before = faults_.transfers;
    expect_success(process_, begin());
    for (int i = 0; i < 3; ++i) process_.progress->poll();
    EXPECT_FALSE(is_done());
    EXPECT_EQ(faults_.transfers, before);
    // A collective access may be over when the other rank's transfer is: not before this rank has looked.
    expect_success(process_, api::barrier(process_, process_.objects->world));
    faults_.lanes_never_end = false;
    EXPECT_EQ(end(), kBytes);
    faults_.lanes_never_end = true;
  }
  template <class Begin>
  void request_of(Begin begin) {
    Request* request = nullptr;
    check([&] { return begin(&request); }, [&] { return request->done; },
          [&] { return wait_for(process_, request).bytes; });
  }
  template <class Begin, class End>
  void split(Begin begin, End end) {
    const auto end_it = [&] {
      Status status;
      expect_success(process_, end(process_, file_, memory(), &status));
      return status.bytes;
    };
    check(
        begin, [&] { return file_->split.request->done; }, end_it);
  }

  Process& process_;
  File* const file_;
  Faults& faults_;
  Datatype* const byte_ = named(process_, kMpiByte);
  Bytes data_;
};

TEST(LaneUse, EveryFormReturnsBeforeItsTransfer) {
  for (const HintSwitch two_phase : {HintSwitch::kEnable, HintSwitch::kDisable}) {
    const FileName name;
    run_ranks(2, [&](Process& process) {
      Faults faults;
      faults.lanes_never_end = true;
      process.files->storage = std::make_unique<FaultyStorage>(faults);
      File* file = open_file(process, process.objects->world, name.get(), kModeRdwr);
      file->hints.collective_write = file->hints.collective_read = two_phase;
      EachForm form(process, file, faults);
      form.at(api::file_iwrite_at);
      form.at(api::file_iwrite_at_all);
      form.by_pointer(api::file_iwrite_shared);
      form.by_pointer(api::file_iwrite);
      form.by_pointer(api::file_iwrite_all);
      form.split_at(api::file_write_at_all_begin, api::file_write_at_all_end);
      form.split_by_pointer(api::file_write_all_begin, api::file_write_all_end);
      form.split_by_pointer(api::file_write_ordered_begin, api::file_write_ordered_end);
      form.at(api::file_iread_at);
      form.at(api::file_iread_at_all);
      form.by_pointer(api::file_iread);
      form.by_pointer(api::file_iread_all);
      form.split_at(api::file_read_at_all_begin, api::file_read_at_all_end);
      form.split_by_pointer(api::file_read_all_begin, api::file_read_all_end);
      form.split_by_pointer(api::file_read_ordered_begin, api::file_read_ordered_end);
      EXPECT_TRUE(form.has_kept_data());
      form.by_pointer(api::file_iread_shared);  // either rank's
      expect_success(process, api::file_close(process, &file));
    });
  }
}

/// A rank that waits for an access does of it what nobody has begun; one that tests, or waits for a message,
/// does not.
TEST(LaneUse, ARankThatWaitsTakesPart) {
  constexpr int kHelps = 3;
  constexpr Count kBytes = 3'000'000;
  const FileName name;
  run_ranks(2, [&](Process& process) {
    Faults faults;
    faults.lanes_need_help = kHelps;
    process.files->storage = std::make_unique<FaultyStorage>(faults);
    File* file = open_file(process, process.objects->world, name.get(), kModeRdwr);
    Datatype* byte = named(process, kMpiByte);
    const Bytes data = values(process.rank, kBytes);
    const Offset at = process.rank * kBytes;
    Request* request = nullptr;
    expect_success(process, api::file_iwrite_at_all(process, file, at, data.data(), kBytes, byte, &request));
    for (int i = 0; i < 10; ++i) {
      bool flag = true;
      Status status;
      expect_success(process, api::test(process, &request, &flag, &status));
      EXPECT_FALSE(flag);
    }
    Status status;
    const int other = 1 - process.rank;
    int out = process.rank, in = -1;
    Comm* const world = process.objects->world;
    Datatype* const number = named(process, kMpiInt);
    expect_success(
        process, api::sendrecv(process, &out, 1, number, other, 0, &in, 1, number, other, 0, world, &status));
    EXPECT_EQ(in, other);
    EXPECT_EQ(faults.helps, 0);
    EXPECT_EQ(wait_for(process, request).bytes, kBytes);
    EXPECT_EQ(faults.helps, kHelps);
    expect_success(process, api::file_write_at_all_begin(process, file, at, data.data(), kBytes, byte));
    EXPECT_EQ(faults.helps, kHelps);
    expect_success(process, api::file_write_at_all_end(process, file, data.data(), &status));
    EXPECT_EQ(faults.helps, 2 * kHelps);
    expect_success(process, api::file_iwrite_at(process, file, at, data.data(), kBytes, byte, &request));
    release(request);
    expect_success(process, api::file_sync(process, file));  // which waits for it
    EXPECT_EQ(faults.helps, 3 * kHelps);
    expect_success(process, api::file_close(process, &file));
  });
}

}  // namespace
}  // namespace tasuki::test
