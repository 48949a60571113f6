// Data representations: external32 against known bytes and through views, registered ones by functions that
// can be told from a copy.
#include <algorithm>
#include <cfloat>
#include <cstring>
#include <functional>

#include "datatype/call/api.hpp"
#include "io/support.hpp"
#include "p2p/call/api.hpp"

namespace tasuki::test {
namespace {

TEST(Representation, External32HasTheKnownBytes) {
  with_file(1, [](Process& process, File& file) {
    Datatype* integer = named(process, kMpiInt);
    expect_success(process, api::file_set_view(process, &file, 0, integer, integer, "external32", nullptr));
    const int values[2] = {0x01020304, -2};
    Status status;
    expect_success(process, api::file_write(process, &file, values, 2, integer, &status));
    EXPECT_EQ(status.bytes, 8);
    EXPECT_EQ(content(file.name.c_str()), (Bytes{1, 2, 3, 4, 0xff, 0xff, 0xff, 0xfe}));
    Datatype* wide = named(process, kMpiWchar);  // 4 bytes in memory, 2 in the file
    expect_success(process, api::file_set_view(process, &file, 8, wide, wide, "external32", nullptr));
    const wchar_t text[3] = {L'A', 0x20ac, L'c'};
    expect_success(process, api::file_write(process, &file, text, 3, wide, &status));
    EXPECT_EQ(status.bytes, static_cast<Count>(sizeof text));
    const Bytes all = content(file.name.c_str());
    EXPECT_EQ(Bytes(all.begin() + 8, all.end()), (Bytes{0, 'A', 0x20, 0xac, 0, 'c'}));
    // A read that meets the end of the file: whole elements only, counted in bytes of memory.
    expect_success(process, api::file_set_size(process, &file, 13));
    wchar_t got[3] = {};
    expect_success(process, api::file_read_at(process, &file, 0, got, 3, wide, &status));
    EXPECT_EQ(status.bytes, 2 * static_cast<Count>(sizeof(wchar_t)));
    EXPECT_EQ(std::memcmp(got, text, 2 * sizeof(wchar_t)), 0);
    EXPECT_EQ(got[2], 0);
    Count extent = 0;
    expect_success(process, api::file_get_type_extent(process, &file, wide, &extent));
    EXPECT_EQ(extent, 2);
  });
}

TEST(Representation, External32ScalesWhatCountsInExtents) {
  with_file(2, [](Process& process, File& file) {
    Datatype* wide = named(process, kMpiWchar);
    const std::int64_t sizes[] = {3, 4}, subsizes[] = {3, 2}, starts[] = {0, 2 * process.rank};
    Ref<Datatype> half;
    Datatype* made = nullptr;
    expect_success(process, api::type_create_subarray(process, 2, CountArray(sizes), CountArray(subsizes),
                                                      CountArray(starts), kOrderC, wide, &made, true));
    half = Ref<Datatype>(made);
    made->committed = true;
    expect_success(process, api::file_set_view(process, &file, 0, wide, half.get(), "external32", nullptr));
    Count extent = 0;
    expect_success(process, api::file_get_type_extent(process, &file, half.get(), &extent));
    EXPECT_EQ(extent, 24);
    wchar_t mine[6];
    for (int i = 0; i < 6; ++i) mine[i] = static_cast<wchar_t>(100 * process.rank + i);
    Status status;
    expect_success(process, api::file_write_all(process, &file, mine, 6, wide, &status));
    expect_success(process, api::file_sync(process, &file));
    expect_success(process, api::barrier(process, process.objects->world));
    const Bytes all = content(file.name.c_str());
    ASSERT_EQ(all.size(), 24u);
    for (int row = 0; row < 3; ++row) {
      for (int column = 0; column < 4; ++column) {
        EXPECT_EQ(all[static_cast<std::size_t>(2 * (4 * row + column) + 1)],
                  100 * (column / 2) + 2 * row + column % 2);
      }
    }
    wchar_t back[6] = {};
    expect_success(process, api::file_read_at_all(process, &file, 0, back, 6, wide, &status));
    EXPECT_EQ(std::memcmp(back, mine, sizeof mine), 0);
  });
}

/// Every constructor over a type whose size in the file differs: written and read through strided memory.
TEST(Representation, External32GoesThroughEveryConstructor) {
  with_file(1, [](Process& process, File& file) {
    Datatype* wide = named(process, kMpiWchar);
    const std::int64_t two_one[] = {2, 1}, zero_three[] = {0, 3}, bytes[] = {0, 8};
    const int narrow_two_one[] = {2, 1}, narrow_zero_three[] = {0, 3};
    Datatype* const parts[] = {wide, wide};
    const std::vector<std::function<Code(Datatype**)>> constructors = {
        [&](Datatype** t) { return api::type_contiguous(process, 3, wide, t, false); },
        [&](Datatype** t) { return api::type_vector(process, 2, 1, 2, wide, t, false); },
        [&](Datatype** t) { return api::type_create_hvector(process, 2, 1, 8, wide, t, true); },
        [&](Datatype** t) {
          return api::type_indexed(process, 2, CountArray(narrow_two_one), CountArray(narrow_zero_three),
                                   wide, t, false);
        },
        [&](Datatype** t) {
          return api::type_create_hindexed(process, 2, CountArray(two_one), CountArray(bytes), wide, t, true);
        },
        [&](Datatype** t) {
          return api::type_create_indexed_block(process, 2, 1, CountArray(zero_three), wide, t, true);
        },
        [&](Datatype** t) {
          return api::type_create_hindexed_block(process, 2, 1, CountArray(bytes), wide, t, false);
        },
        [&](Datatype** t) {
          return api::type_create_struct(process, 2, CountArray(two_one), CountArray(bytes), parts, t, false);
        },
        [&](Datatype** t) { return api::type_create_resized(process, wide, 0, 16, t, false); },
        [&](Datatype** t) { return api::type_dup(process, wide, t); },
    };
    for (std::size_t i = 0; i < constructors.size(); ++i) {
      Datatype* made = nullptr;
      expect_success(process, constructors[i](&made));
      const Ref<Datatype> type(made);
      type->committed = true;
      expect_success(process, api::file_set_view(process, &file, 0, wide, type.get(), "external32", nullptr));
      const Count per_type = type->size / wide->size;
      EXPECT_EQ(file.view.filetype_in_file->size, 2 * per_type) << i;
      std::vector<wchar_t> data(static_cast<std::size_t>(5 * per_type)), back(data.size());
      for (std::size_t k = 0; k < data.size(); ++k) data[k] = static_cast<wchar_t>(1000 + k);
      Status status;
      const auto count = static_cast<Count>(data.size());
      expect_success(process, api::file_write_at(process, &file, 0, data.data(), count, wide, &status));
      expect_success(process, api::file_read_at(process, &file, 0, back.data(), count, wide, &status));
      EXPECT_EQ(status.bytes, count * wide->size) << i;
      EXPECT_EQ(data, back) << i;
    }
  });
}

using Write = std::function<Code(Process&, File&, const long*, Count, Datatype*, Status*)>;

/// A nonblocking write: its error is that of the wait.
template <class Start>
Write waited(Start start) {
  return
      [start](Process& process, File& file, const long* data, Count count, Datatype* type, Status* status) {
        Request* request = nullptr;
        if (const Code code = start(process, file, data, count, type, &request)) return code;
        return api::wait(process, &request, status);
      };
}

std::vector<Write> all_writes() {
  return {
      [](auto& p, auto& f, auto* d, Count n, auto* t, Status* s) {
        return api::file_write(p, &f, d, n, t, s);
      },
      [](auto& p, auto& f, auto* d, Count n, auto* t, Status* s) {
        return api::file_write_at(p, &f, 0, d, n, t, s);
      },
      [](auto& p, auto& f, auto* d, Count n, auto* t, Status* s) {
        return api::file_write_all(p, &f, d, n, t, s);
      },
      [](auto& p, auto& f, auto* d, Count n, auto* t, Status* s) {
        return api::file_write_at_all(p, &f, 0, d, n, t, s);
      },
      [](auto& p, auto& f, auto* d, Count n, auto* t, Status* s) {
        return api::file_write_shared(p, &f, d, n, t, s);
      },
      [](auto& p, auto& f, auto* d, Count n, auto* t, Status* s) {
        return api::file_write_ordered(p, &f, d, n, t, s);
      },
      [](auto& p, auto& f, auto* d, Count n, auto* t, Status* s) {
        EXPECT_EQ(api::file_write_all_begin(p, &f, d, n, t), kSuccess);
        return api::file_write_all_end(p, &f, d, s);
      },
      waited([](auto& p, auto& f, auto* d, Count n, auto* t, Request** r) {
        return api::file_iwrite(p, &f, d, n, t, r);
      }),
      waited([](auto& p, auto& f, auto* d, Count n, auto* t, Request** r) {
        return api::file_iwrite_all(p, &f, d, n, t, r);
      }),
      waited([](auto& p, auto& f, auto* d, Count n, auto* t, Request** r) {
        return api::file_iwrite_shared(p, &f, d, n, t, r);
      }),
  };
}

/// By each way of writing: the rank that has it gets the error, with the number of those before, which are in
/// the file; the other one writes all.
TEST(Representation, ANumberThatExternal32HasNoRoomForIsAConversionError) {
  const std::vector<Write> writes = all_writes();
  with_file(2, [&](Process& process, File& file) {
    Datatype* type = named(process, kMpiLong);
    for (std::size_t i = 0; i < writes.size(); ++i) {
      constexpr std::size_t kNumbers = 3000, kWrong = 2500;
      std::vector<long> data(kNumbers);
      for (std::size_t k = 0; k < kNumbers; ++k) data[k] = -static_cast<long>(k) - 1;
      if (process.rank == 1) data[kWrong] = 1L << 40;
      expect_success(process, api::file_set_size(process, &file, 0));
      expect_success(process, api::file_set_view(process, &file, process.rank == 0 ? 0 : 100000, type, type,
                                                 "external32", nullptr));
      Count extent = 0;
      expect_success(process, api::file_get_type_extent(process, &file, type, &extent));
      EXPECT_EQ(extent, 4);
      Status status;
      const Code code = writes[i](process, file, data.data(), kNumbers, type, &status);
      EXPECT_EQ(failure(process, code), process.rank == 1 ? kErrConversion : kSuccess) << i;
      if (process.rank == 1) {
        EXPECT_NE(process.errors.text(code).find("element 2500 of buf is MPI_LONG = 1099511627776"),
                  std::string::npos)
            << process.errors.text(code);
      }
      EXPECT_EQ(status.bytes, static_cast<Count>((process.rank == 1 ? kWrong : kNumbers) * sizeof(long)))
          << i;
      expect_success(process, api::file_sync(process, &file));
      expect_success(process, api::barrier(process, process.objects->world));
      const Bytes all = content(file.name.c_str());
      for (std::size_t k = 0; i < 2 && k < kWrong; k += 100) {
        const std::size_t at = (process.rank == 0 ? 0 : 100000) + 4 * k;
        const auto number =
            static_cast<std::int32_t>(all[at] << 24 | all[at + 1] << 16 | all[at + 2] << 8 | all[at + 3]);
        ASSERT_EQ(number, data[k]) << i;
      }
      expect_success(process, api::barrier(process, process.objects->world));
    }
  });
}

#if LDBL_MANT_DIG == 64
TEST(Representation, AQuadBeyondLongDoubleIsAConversionErrorWhenItIsRead) {
  with_file(1, [](Process& process, File& file) {
    Datatype* byte = named(process, kMpiByte);
    Bytes quads(48, 0);  // 1, the largest number, 1
    quads[0] = quads[32] = 0x3f;
    quads[1] = quads[33] = 0xff;
    std::fill(quads.begin() + 16, quads.begin() + 32, 0xff);
    quads[16] = 0x7f;
    quads[17] = 0xfe;
    Status status;
    expect_success(process, api::file_write_at(process, &file, 0, quads.data(), 48, byte, &status));
    Datatype* type = named(process, kMpiLongDouble);
    expect_success(process, api::file_set_view(process, &file, 0, type, type, "external32", nullptr));
    long double got[3] = {5, 5, 5};
    EXPECT_EQ(failure(process, api::file_read(process, &file, got, 3, type, &status)), kErrConversion);
    EXPECT_TRUE(got[0] == 1 && got[1] == 5 && got[2] == 5);
    EXPECT_EQ(status.bytes, 16);
  });
}
#endif

// A representation that stores an int in six bytes: its number in the type map, then the value inverted.

int conversions = 0;  // calls, to see that long accesses are cut

Code int_extent(Datatype*, Aint* extent, void*) {
  *extent = 6;
  return 0;
}
Code refuse_extent(Datatype*, Aint*, void*) {
  return 17;
}
int* element(void* userbuf, Datatype* datatype, Offset position) {
  const Offset per_type = datatype->size / 4;
  auto* begin = static_cast<char*>(userbuf) + position / per_type * datatype->extent;
  return reinterpret_cast<int*>(begin) + position % per_type * (per_type > 1 ? 2 : 1);
}
Code int_write(void* userbuf, Datatype* datatype, Count count, void* filebuf, Offset position, void* state) {
  ++conversions;
  auto* out = static_cast<unsigned char*>(filebuf);
  for (Count i = 0; i < count; ++i, out += 6) {
    const auto number = static_cast<std::uint16_t>(position + i + *static_cast<int*>(state));
    const int value = ~*element(userbuf, datatype, position + i);
    std::memcpy(out, &number, 2);
    std::memcpy(out + 2, &value, 4);
  }
  return 0;
}
Code int_read(void* userbuf, Datatype* datatype, Count count, void* filebuf, Offset position, void* state) {
  const auto* in = static_cast<unsigned char*>(filebuf);
  for (Count i = 0; i < count; ++i, in += 6) {
    std::uint16_t number;
    int value;
    std::memcpy(&number, in, 2);
    std::memcpy(&value, in + 2, 4);
    if (number != static_cast<std::uint16_t>(position + i + *static_cast<int*>(state))) return 1;
    *element(userbuf, datatype, position + i) = ~value;
  }
  return 0;
}
template <class Function>
AnyFunction any(Function* function) {
  return reinterpret_cast<AnyFunction>(function);
}

TEST(Representation, RegisteredOnesConvert) {
  with_file(1, [](Process& process, File& file) {
    int state = 40;
    expect_success(process, api::register_datarep(process, "six", any(int_read), any(int_write),
                                                  any(int_extent), &state, false));
    EXPECT_EQ(failure(process, api::register_datarep(process, "six", nullptr, nullptr, any(int_extent),
                                                     nullptr, false)),
              kErrDupDatarep);
    EXPECT_EQ(failure(process, api::register_datarep(process, "native", nullptr, nullptr, any(int_extent),
                                                     nullptr, false)),
              kErrDupDatarep);
    expect_success(process, api::register_datarep(process, "bad", any(int_read), any(int_write),
                                                  any(refuse_extent), nullptr, false));
    Datatype* integer = named(process, kMpiInt);
    EXPECT_EQ(failure(process, api::file_set_view(process, &file, 0, integer, integer, "bad", nullptr)),
              kErrConversion);
    Datatype* spread = nullptr;  // two ints with a hole between them
    expect_success(process, api::type_vector(process, 2, 1, 2, integer, &spread, false));
    const Ref<Datatype> memory(spread);
    spread->committed = true;
    expect_success(process, api::file_set_view(process, &file, 10, integer, spread, "six", nullptr));
    Offset place = 0;
    expect_success(process, api::file_get_byte_offset(process, &file, 3, &place));
    EXPECT_EQ(place, 10 + 18 + 12);   // tiles of three, in sixes
    constexpr Count kCount = 200000;  // more than one stage
    std::vector<int> data(3 * kCount), back(3 * kCount, -1);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int>(i);
    conversions = 0;
    Status status;
    expect_success(process, api::file_write_at(process, &file, 0, data.data(), kCount, spread, &status));
    EXPECT_EQ(status.bytes, 8 * kCount);
    EXPECT_GT(conversions, 1);
    expect_success(process, api::file_read_at(process, &file, 0, back.data(), kCount, spread, &status));
    EXPECT_EQ(status.bytes, 8 * kCount);
    for (std::size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], i % 3 == 1 ? -1 : static_cast<int>(i));
    state = 41;  // now the numbers are wrong
    EXPECT_EQ(failure(process, api::file_read_at(process, &file, 0, back.data(), 2, spread, &status)),
              kErrConversion);
    state = 40;
    expect_success(process, api::file_read_at(process, &file, 0, back.data(), 2, spread, &status));
  });
}

}  // namespace
}  // namespace tasuki::test
