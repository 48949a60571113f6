// Opening and closing, sizes, hints, views, seeks, and what is refused: the right class at every rank, and
// the file usable afterwards.
#include <sys/stat.h>

#include <algorithm>

#include "io/faulty_storage.hpp"
#include "io/support.hpp"
#include "object/api.hpp"
#include "p2p/call/api.hpp"
#include "storage/driver.hpp"

namespace tasuki::test {
namespace {

int open_class(Process& process, const char* name, int amode) {
  File* file = nullptr;
  const Code code = api::file_open(process, process.objects->world, name, amode, nullptr, &file);
  EXPECT_EQ(file == nullptr, code != kSuccess);
  if (file != nullptr) expect_success(process, api::file_close(process, &file));
  return failure(process, code);
}

TEST(Files, OpenRefusesAtEveryRank) {
  const FileName name;
  run_ranks(3, [&](Process& process) {
    EXPECT_EQ(open_class(process, "/nonexistent/folder/file", kModeRdonly), kErrNoSuchFile);
    EXPECT_EQ(open_class(process, "/", kModeRdonly), kErrBadFile);
    EXPECT_EQ(open_class(process, std::string(5000, 'x').c_str(), kModeRdonly), kErrBadFile);
    EXPECT_EQ(open_class(process, "", kModeRdonly), kErrBadFile);
    EXPECT_EQ(open_class(process, (name.text() + "/below").c_str(), kModeRdonly), kErrBadFile);
    EXPECT_EQ(open_class(process, name.get(), kModeCreate | kModeExcl | kModeRdwr), kErrFileExists);
    for (const int amode : {0, kModeRdonly | kModeRdwr, kModeRdonly | kModeCreate, kModeRdonly | kModeExcl,
                            kModeRdwr | kModeSequential, kModeRdwr | 4096, -1}) {
      EXPECT_EQ(open_class(process, name.get(), amode), kErrAmode) << amode;
    }
    EXPECT_EQ(open_class(process, name.get(), process.rank == 1 ? kModeRdonly : kModeRdwr), kErrNotSame);
    // One rank's own trouble is an error at all.
    const char* mine = process.rank == 2 ? "/nonexistent/file" : name.get();
    EXPECT_EQ(open_class(process, mine, kModeRdwr), kErrNoSuchFile);
    EXPECT_EQ(open_class(process, ("ufs:" + name.text()).c_str(), kModeRdwr), kSuccess);
    EXPECT_EQ(failure(process, api::file_delete(process, "/nonexistent/file", nullptr)), kErrNoSuchFile);
  });
}

TEST(Files, ModesOfOpening) {
  const FileName name;
  const std::string made = name.text() + "-made";
  run_ranks(2, [&](Process& process) {
    Comm* world = process.objects->world;
    File* file =
        open_file(process, world, made.c_str(), kModeWronly | kModeCreate | kModeExcl | kModeUniqueOpen);
    Status status;
    const int value = 7;
    expect_success(process, api::file_write_at(process, file, 4 * process.rank, &value, 4,
                                               named(process, kMpiByte), &status));
    int got = 0;
    EXPECT_EQ(
        failure(process, api::file_read_at(process, file, 0, &got, 4, named(process, kMpiByte), &status)),
        kErrAccess);
    expect_success(process, api::file_close(process, &file));
    EXPECT_EQ(file, nullptr);

    file = open_file(process, world, made.c_str(), kModeRdonly);
    EXPECT_EQ(
        failure(process, api::file_write_at(process, file, 0, &got, 4, named(process, kMpiByte), &status)),
        kErrReadOnly);
    EXPECT_EQ(failure(process, api::file_set_size(process, file, 0)), kErrReadOnly);
    expect_success(process, api::file_read_at(process, file, 4, &got, 4, named(process, kMpiByte), &status));
    EXPECT_EQ(got, 7);
    expect_success(process, api::file_close(process, &file));

    file = open_file(process, world, made.c_str(), kModeRdwr | kModeAppend | kModeDeleteOnClose);
    Offset position = 0;
    expect_success(process, api::file_get_position(process, file, &position));
    EXPECT_EQ(position, 8);
    expect_success(process, api::file_get_position_shared(process, file, &position));
    EXPECT_EQ(position, 8);
    expect_success(process, api::file_close(process, &file));
    struct stat there;
    EXPECT_NE(::stat(made.c_str(), &there), 0);
  });
}

TEST(Files, SequentialFilesHaveOnlyTheSharedPointer) {
  with_file(
      2,
      [](Process& process, File& file) {
        Status status;
        Datatype* byte = named(process, kMpiByte);
        const char letter = static_cast<char>('a' + process.rank);
        EXPECT_EQ(failure(process, api::file_write_at(process, &file, 0, &letter, 1, byte, &status)),
                  kErrUnsupportedOperation);
        EXPECT_EQ(failure(process, api::file_write(process, &file, &letter, 1, byte, &status)),
                  kErrUnsupportedOperation);
        EXPECT_EQ(failure(process, api::file_seek(process, &file, 0, kSeekSet)), kErrUnsupportedOperation);
        expect_success(process, api::file_write_ordered(process, &file, &letter, 1, byte, &status));
        EXPECT_EQ(failure(process, api::file_set_view(process, &file, 0, byte, byte, "native", nullptr)),
                  kErrArg);
        expect_success(
            process, api::file_set_view(process, &file, kDisplacementCurrent, byte, byte, "native", nullptr));
        EXPECT_EQ(file.view.displacement, 2);
        expect_success(process, api::file_write_ordered(process, &file, &letter, 1, byte, &status));
        expect_success(process, api::file_sync(process, &file));
        expect_success(process, api::barrier(process, process.objects->world));
        EXPECT_EQ(content(file.name.c_str()), (Bytes{'a', 'b', 'a', 'b'}));
      },
      kModeWronly | kModeCreate | kModeSequential);
}

TEST(Files, SizesAndRoom) {
  with_file(3, [](Process& process, File& file) {
    Offset size = -1;
    const auto expect_size = [&](Offset expected) {
      expect_success(process, api::file_get_size(process, &file, &size));
      EXPECT_EQ(size, expected);
    };
    expect_success(process, api::file_preallocate(process, &file, 100));
    expect_size(100);
    expect_success(process, api::file_preallocate(process, &file, 10));
    expect_size(100);
    expect_success(process, api::file_set_size(process, &file, 30));
    expect_size(30);
    EXPECT_EQ(failure(process, api::file_set_size(process, &file, -1)), kErrArg);
    EXPECT_EQ(failure(process, api::file_set_size(process, &file, 10 + process.rank)), kErrNotSame);
    expect_size(30);
  });
}

TEST(Files, HintsThatAreKnownAreKept) {
  with_file(2, [](Process& process, File& file) {
    Info given;
    set_info(&given, "cb_nodes", "2");
    set_info(&given, "cb_buffer_size", "many");
    set_info(&given, "no_such_hint", "1");
    expect_success(process, api::file_set_info(process, &file, &given));
    Info* used = nullptr;
    expect_success(process, api::file_get_info(process, &file, &used));
    EXPECT_EQ(*find_info(used, "cb_nodes"), "2");
    EXPECT_EQ(*find_info(used, "cb_buffer_size"), "16777216");
    EXPECT_EQ(find_info(used, "no_such_hint"), nullptr);
    EXPECT_EQ(*find_info(used, "filename"), file.name);
    release(used);
  });
}

TEST(Files, ViewsThatAreRefused) {
  with_file(2, [](Process& process, File& file) {
    Datatype* byte = named(process, kMpiByte);
    Datatype* integer = named(process, kMpiInt);
    const auto view_class = [&](Offset disp, Datatype* etype, Datatype* filetype, const char* datarep) {
      return failure(process, api::file_set_view(process, &file, disp, etype, filetype, datarep, nullptr));
    };
    const Mapped one = mapped_byte(process, 1);
    const Mapped below = mapped_blocks(process, one, {4}, {-4}, 8);
    const Mapped descending = mapped_blocks(process, one, {4, 4}, {8, 0}, 12);
    const Mapped overlapping = mapped_blocks(process, one, {4, 4}, {0, 2}, 12);
    const Mapped uncommitted = mapped_blocks(process, one, {4}, {0}, 12);
    const Mapped odd = mapped_byte(process, 6);
    for (const Mapped* type : {&below, &descending, &overlapping, &odd}) commit(*type);
    EXPECT_EQ(view_class(-1, byte, byte, "native"), kErrArg);
    EXPECT_EQ(view_class(kDisplacementCurrent, byte, byte, "native"), kErrArg);
    EXPECT_EQ(view_class(0, byte, byte, "no such form"), kErrUnsupportedDatarep);
    EXPECT_EQ(view_class(0, integer, odd.type.get(), "native"), kErrType);
    EXPECT_EQ(view_class(0, byte, below.type.get(), "native"), kErrType);
    EXPECT_EQ(view_class(0, byte, descending.type.get(), "native"), kErrType);
    EXPECT_EQ(view_class(0, byte, overlapping.type.get(), "native"), kErrType);
    EXPECT_EQ(view_class(0, byte, uncommitted.type.get(), "native"), kErrType);
    EXPECT_EQ(view_class(process.rank == 1 ? -1 : 0, byte, byte, "native"), kErrArg);
    EXPECT_EQ(view_class(0, byte, byte, process.rank == 1 ? "native" : "external32"), kErrNotSame);
    EXPECT_EQ(view_class(0, process.rank == 1 ? byte : integer, integer, "native"), kErrNotSame);
    // The view is still the first one.
    Offset disp = -1;
    Datatype *etype = nullptr, *filetype = nullptr;
    std::string datarep;
    expect_success(process, api::file_get_view(process, &file, &disp, &etype, &filetype, &datarep));
    EXPECT_EQ(disp, 0);
    EXPECT_EQ(etype, byte);
    EXPECT_EQ(filetype, byte);
    EXPECT_EQ(datarep, "native");
    // An access that is no whole number of etypes.
    EXPECT_EQ(view_class(0, integer, integer, "native"), kSuccess);
    Status status;
    char six[6] = {};
    EXPECT_EQ(failure(process, api::file_write_at(process, &file, 0, six, 6, byte, &status)), kErrType);
    EXPECT_EQ(failure(process, api::file_write_at(process, &file, -1, six, 4, byte, &status)), kErrArg);
    EXPECT_EQ(failure(process, api::file_write_at(process, &file, INT64_MAX / 2, six, 4, byte, &status)),
              kErrArg);
  });
}

TEST(Files, OverlappingViewsCanBeRead) {
  const FileName name;
  run_ranks(1, [&](Process& process) {
    File* file = open_file(process, process.objects->self, name.get(), kModeRdwr);
    Status status;
    expect_success(process, api::file_write(process, file, "abcdefgh", 8, named(process, kMpiByte), &status));
    expect_success(process, api::file_close(process, &file));
    file = open_file(process, process.objects->self, name.get(), kModeRdonly);
    const Mapped twice = mapped_blocks(process, mapped_byte(process, 1), {3, 3}, {0, 2}, 5);
    commit(twice);
    expect_success(process, api::file_set_view(process, file, 0, named(process, kMpiByte), twice.type.get(),
                                               "native", nullptr));
    std::string got(9, '?');
    expect_success(process, api::file_read(process, file, got.data(), 9, named(process, kMpiByte), &status));
    EXPECT_EQ(got.substr(0, 9), "abccdefgh");
    EXPECT_EQ(status.bytes, 9);
    expect_success(process, api::file_close(process, &file));
  });
}

TEST(Files, SeeksCountInEtypes) {
  with_file(2, [](Process& process, File& file) {
    expect_success(process, api::file_set_size(process, &file, 45));
    const Mapped unit = mapped_byte(process, 2);
    const Mapped view = mapped_blocks(process, unit, {1, 2}, {1, 6}, 12);  // bytes 1-2, 6-9 of each 12
    commit(unit);
    commit(view);
    expect_success(
        process, api::file_set_view(process, &file, 4, unit.type.get(), view.type.get(), "native", nullptr));
    Offset at = 0;
    expect_success(process, api::file_seek(process, &file, 0, kSeekEnd));
    expect_success(process, api::file_get_position(process, &file, &at));
    EXPECT_EQ(at, 10);  // 4 + 3 * 12 + 6 = 46 is the first at or behind 45
    expect_success(process, api::file_get_byte_offset(process, &file, at, &at));
    EXPECT_EQ(at, 46);
    EXPECT_EQ(failure(process, api::file_seek(process, &file, -11, kSeekCur)), kErrArg);
    EXPECT_EQ(failure(process, api::file_seek(process, &file, 0, 17)), kErrArg);
    expect_success(process, api::file_seek(process, &file, -9, kSeekCur));
    expect_success(process, api::file_get_position(process, &file, &at));
    EXPECT_EQ(at, 1);
    expect_success(process, api::file_seek_shared(process, &file, 1, kSeekEnd));
    expect_success(process, api::file_get_position_shared(process, &file, &at));
    EXPECT_EQ(at, 11);
    EXPECT_EQ(failure(process, api::file_seek_shared(process, &file, -20, kSeekCur)), kErrArg);
    EXPECT_EQ(failure(process, api::file_seek_shared(process, &file, process.rank, kSeekSet)), kErrNotSame);
    EXPECT_EQ(failure(process, api::file_get_byte_offset(process, &file, -1, &at)), kErrArg);
  });
}

TEST(Files, SplitCollectivesComeInPairs) {
  with_file(2, [](Process& process, File& file) {
    Datatype* byte = named(process, kMpiByte);
    char buffer[4] = {'a', 'b', 'c', 'd'};
    char other[4];
    Status status;
    File* handle = &file;
    EXPECT_EQ(failure(process, api::file_write_all_end(process, &file, buffer, &status)), kErrIo);
    expect_success(process, api::file_write_all_begin(process, &file, buffer, 4, byte));
    EXPECT_EQ(failure(process, api::file_read_all_begin(process, &file, other, 4, byte)), kErrIo);
    EXPECT_EQ(failure(process, api::file_read_all_end(process, &file, buffer, &status)), kErrIo);
    EXPECT_EQ(failure(process, api::file_write_all_end(process, &file, other, &status)), kErrBuffer);
    EXPECT_EQ(failure(process, api::file_set_view(process, &file, 0, byte, byte, "native", nullptr)), kErrIo);
    EXPECT_EQ(failure(process, api::file_close(process, &handle)), kErrIo);
    ASSERT_EQ(handle, &file);
    expect_success(process, api::file_write_all_end(process, &file, buffer, &status));
    EXPECT_EQ(status.bytes, 4);
  });
}

TEST(Files, ErrorHandlersOfFiles) {
  with_file(1, [](Process& process, File& file) {
    EXPECT_EQ(file.errhandler->predefined, kMpiErrorsReturn);
    Errhandler* fatal = predefined_object<Errhandler>(*process.objects, kMpiErrorsAreFatal);
    Errhandler* of_comm = nullptr;
    expect_success(process, api::comm_create_errhandler(process, nullptr, &of_comm));
    EXPECT_EQ(failure(process, api::file_set_errhandler(process, &file, of_comm)), kErrErrhandler);
    expect_success(process, api::file_set_errhandler(process, nullptr, fatal));
    Errhandler* found = nullptr;
    expect_success(process, api::file_get_errhandler(process, nullptr, &found));
    EXPECT_EQ(found, fatal);
    expect_success(process, api::file_get_errhandler(process, &file, &found));
    EXPECT_EQ(found->predefined, kMpiErrorsReturn);
    api::errhandler_free(process, &of_comm);
  });
}

TEST(Files, ErrorsOfTheStorageKeepTheirReason) {
  struct Expected {
    int error;
    int error_class;
    const char* reason;
  };
  for (const Expected expected :
       {Expected{EIO, kErrIo, "Input/output error"}, Expected{ENOSPC, kErrNoSpace, "No space left on device"},
        Expected{EDQUOT, kErrQuota, "quota"}}) {
    const FileName name;
    run_ranks(2, [&](Process& process) {
      Faults faults{.bad_at = 100,
                    .reads_error = expected.error,
                    .writes_error = expected.error,
                    .other_error = expected.error};
      process.files->storage = std::make_unique<FaultyStorage>(faults);
      File* file = open_file(process, process.objects->world, name.get(), kModeRdwr | kModeCreate);
      const Mapped view = mapped_blocks(process, mapped_byte(process, 1), {1}, {process.rank}, 2);
      commit(view);
      expect_success(process, api::file_set_view(process, file, 0, named(process, kMpiByte), view.type.get(),
                                                 "native", nullptr));
      const Bytes data(80, 'x');
      Request* request = nullptr;
      expect_success(process, api::file_iwrite_at(process, file, 0, data.data(), 80, named(process, kMpiByte),
                                                  &request));
      Status status;
      const Code code = api::wait(process, &request, &status);
      EXPECT_EQ(failure(process, code), expected.error_class);
      EXPECT_EQ(status.bytes, 50);
      EXPECT_EQ(process.error_owner, file);
      const std::string& text = process.errors.text(code);
      EXPECT_NE(text.find(expected.reason), std::string::npos) << text;
      EXPECT_NE(text.find(name.text()), std::string::npos) << text;
      EXPECT_EQ(failure(process, api::file_set_size(process, file, 7)), expected.error_class);
      EXPECT_EQ(failure(process, api::file_preallocate(process, file, 7)), expected.error_class);
      EXPECT_EQ(failure(process, api::file_sync(process, file)), expected.error_class);
      // What lies before the bad byte still works.
      expect_success(
          process, api::file_write_at(process, file, 0, data.data(), 50, named(process, kMpiByte), &status));
      EXPECT_EQ(status.bytes, 50);
      EXPECT_EQ(failure(process, api::file_close(process, &file)), expected.error_class);
      EXPECT_EQ(file, nullptr);
    });
    EXPECT_EQ(content(name.get()), Bytes(100, 'x'));
  }
}

}  // namespace
}  // namespace tasuki::test
