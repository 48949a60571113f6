// Any nesting of constructors gives the bounds and moves the bytes of its type map: random types against the
// map written out entry by entry, in chunks of random sizes, from random positions.
//
// tests/property/datatypes.py has the same oracle among processes, for all constructors, and messages and
// packed forms. It cannot choose where a chunk ends, nor see whether a type counts as contiguous: that is
// here, for the constructors that give each shape of layout.
#include <random>

#include "datatype/support.hpp"

namespace tasuki::test {
namespace {

struct Sample {
  TypeRef type;
  TypeMap map;
};

class Generator {
 public:
  Generator(Process& process, unsigned seed) : process_(process), random_(seed) {}

  Count number(Count low, Count high) { return std::uniform_int_distribution<Count>(low, high)(random_); }

  Sample type(int depth) {
    if (depth == 0) return basic();
    Sample sample = derived(type(depth - 1), depth);
    if (sample.map.entries.size() > kEntriesMax) return basic();
    return sample;
  }

 private:
  static constexpr std::size_t kEntriesMax = 3000;

  Sample basic() {
    constexpr std::uint16_t kBasics[] = {kMpiByte,     kMpiShort,     kMpiInt,           kMpiDouble,
                                         kMpiShortInt, kMpiDoubleInt, kMpiLongDoubleInt, kMpiCDoubleComplex};
    const std::uint16_t chosen = kBasics[number(0, std::size(kBasics) - 1)];
    return {named(process_, chosen), type_map(*basic_info(chosen))};
  }

  Sample derived(const Sample& old, int depth) {
    switch (number(0, 6)) {
      case 0:
        return contiguous(old);
      case 1:
      case 2:
        return vector(old);
      case 3:
        return indexed(old);
      case 4:
        return indexed_block(old);
      case 5:
        return structure(old, depth);
      default:
        return resized(old);
    }
  }

  Sample contiguous(const Sample& old) {
    const Count count = number(0, 5);
    Sample s{
        made(process_,
             [&](Datatype** t) { return api::type_contiguous(process_, count, old.type.get(), t, false); }),
        {}};
    s.map.place(0, count, old.map);
    return s;
  }

  Sample vector(const Sample& old) {
    const bool in_bytes = number(0, 1) == 1;
    const Count count = number(0, 6), length = number(0, 4);
    const Count stride = in_bytes ? number(-90, 90) : number(-6, 6);
    Sample s{made(process_,
                  [&](Datatype** t) {
                    return in_bytes
                               ? api::type_create_hvector(process_, count, length, stride, old.type.get(), t,
                                                          false)
                               : api::type_vector(process_, count, length, stride, old.type.get(), t, false);
                  }),
             {}};
    for (Count i = 0; i < count; ++i)
      s.map.place(i * stride * (in_bytes ? 1 : old.map.extent()), length, old.map);
    return s;
  }

  Sample indexed(const Sample& old) {
    const bool in_bytes = number(0, 1) == 1;
    std::vector<std::int64_t> lengths, places;
    for (Count i = number(0, 6); i > 0; --i) {
      lengths.push_back(number(0, 3));
      places.push_back(number(-40, 40));
    }
    const auto count = static_cast<Count>(lengths.size());
    Sample s{made(process_,
                  [&](Datatype** t) {
                    return in_bytes ? api::type_create_hindexed(process_, count, counts(lengths),
                                                                counts(places), old.type.get(), t, false)
                                    : api::type_indexed(process_, count, counts(lengths), counts(places),
                                                        old.type.get(), t, false);
                  }),
             {}};
    for (std::size_t i = 0; i < places.size(); ++i) {
      s.map.place(places[i] * (in_bytes ? 1 : old.map.extent()), lengths[i], old.map);
    }
    return s;
  }

  Sample indexed_block(const Sample& old) {
    const bool in_bytes = number(0, 1) == 1;
    const Count length = number(0, 3);
    std::vector<std::int64_t> places;
    for (Count i = number(0, 25); i > 0; --i) places.push_back(number(-40, 40));
    const auto count = static_cast<Count>(places.size());
    Sample s{made(process_,
                  [&](Datatype** t) {
                    return in_bytes ? api::type_create_hindexed_block(process_, count, length, counts(places),
                                                                      old.type.get(), t, false)
                                    : api::type_create_indexed_block(process_, count, length, counts(places),
                                                                     old.type.get(), t, false);
                  }),
             {}};
    for (const Count place : places) s.map.place(place * (in_bytes ? 1 : old.map.extent()), length, old.map);
    return s;
  }

  Sample structure(const Sample& old, int depth) {
    std::vector<Sample> parts;
    parts.push_back(old);
    for (Count i = number(0, 3); i > 0; --i) parts.push_back(type(static_cast<int>(number(0, depth - 1))));
    std::vector<std::int64_t> lengths, places;
    std::vector<Datatype*> types;
    Sample s;
    for (const Sample& part : parts) {
      lengths.push_back(number(0, 3));
      places.push_back(number(-200, 200));
      types.push_back(part.type.get());
      s.map.padded = true;
      s.map.place(places.back(), lengths.back(), part.map);
    }
    s.type = made(process_, [&](Datatype** t) {
      return api::type_create_struct(process_, static_cast<Count>(types.size()), counts(lengths),
                                     counts(places), types.data(), t, true);
    });
    return s;
  }

  Sample resized(const Sample& old) {
    const Count lb = number(-20, 20), extent = number(-10, 120);
    Sample s{made(process_,
                  [&](Datatype** t) {
                    return api::type_create_resized(process_, old.type.get(), lb, extent, t, false);
                  }),
             old.map};
    s.map.resize(lb, extent);
    return s;
  }

  Process& process_;
  std::mt19937 random_;
};

void check_chunks(Generator* random, const Sample& s, Count count) {
  Buffer buffer(s.map, count);
  buffer.fill(static_cast<unsigned>(random->number(0, 255)));
  const std::vector<unsigned char> expected = packed(s.map, count, buffer);
  const auto total = static_cast<Count>(expected.size());
  const Count chunk_max = random->number(1, 3) == 1 ? 17 : total + 9;
  std::vector<unsigned char> got(expected.size() + 1);
  PackCursor out(*s.type, count);
  while (out.position() < total) {
    const Count before = out.position();
    const auto chunk = static_cast<std::size_t>(random->number(1, chunk_max));
    const std::size_t moved = out.pack(buffer.origin(), &got[static_cast<std::size_t>(before)], chunk);
    ASSERT_EQ(moved, std::min(chunk, static_cast<std::size_t>(total - before)));
  }
  got.pop_back();
  ASSERT_EQ(got, expected);

  Buffer target(s.map, count), wanted(s.map, count);
  target.clear(0x5a);
  wanted.clear(0x5a);
  unpacked(s.map, count, expected, &wanted);
  PackCursor in(*s.type, count);
  while (in.position() < total) {
    in.unpack(target.origin(), &expected[static_cast<std::size_t>(in.position())],
              static_cast<std::size_t>(std::min(random->number(1, chunk_max), total - in.position())));
  }
  ASSERT_TRUE(target == wanted);

  for (int i = 0; i < 4; ++i) {
    const Count position = random->number(0, total);
    const auto bytes = static_cast<std::size_t>(random->number(0, total - position));
    std::vector<unsigned char> piece(bytes);
    out.seek(position);
    ASSERT_EQ(out.pack(buffer.origin(), piece.data(), bytes), bytes);
    ASSERT_TRUE(std::equal(piece.begin(), piece.end(), expected.begin() + position));
  }
}

void check_copy(Generator* random, const Sample& from, const Sample& to) {
  const Count from_count = random->number(0, 3), to_count = random->number(0, 3);
  Buffer source(from.map, from_count), target(to.map, to_count), wanted(to.map, to_count);
  source.fill(3);
  target.clear(0x11);
  wanted.clear(0x11);
  std::vector<unsigned char> bytes = packed(from.map, from_count, source);
  const Count whole = to.map.size() * to_count;
  PackCursor cut(*to.type, to_count);  // checked by check_chunks
  cut.unpack(wanted.origin(), bytes.data(), std::min(bytes.size(), static_cast<std::size_t>(whole)));
  copy_typed(source.origin(), from_count, *from.type, target.origin(), to_count, *to.type);
  ASSERT_TRUE(target == wanted);
}

TEST(RandomTypes, HaveTheBoundsOfTheirMapAndMoveItsBytes) {
  with_process([](Process& process) {
    Generator random(process, 20250);
    Sample last = random.type(0);
    int dense = 0;
    for (int round = 0; round < 1500; ++round) {
      SCOPED_TRACE(round);
      const Sample s = random.type(static_cast<int>(random.number(0, 4)));
      expect_bounds(*s.type, s.map);
      EXPECT_EQ(elements_in_bytes(*s.type->signature, s.type->size),
                static_cast<Count>(s.map.entries.size()));
      const Count count = random.number(0, 4);
      check_chunks(&random, s, count);
      check_copy(&random, last, s);
      check_copy(&random, s, s);
      dense += s.type->contiguous ? 1 : 0;
      last = s;
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(dense, 100);
  });
}

/// A type is contiguous exactly when its map is dense, in order, from 0 on, without a gap to the next
/// element.
TEST(RandomTypes, KnowWhenTheyAreContiguous) {
  with_process([](Process& process) {
    Generator random(process, 77);
    for (int round = 0; round < 3000; ++round) {
      const Sample s = random.type(static_cast<int>(random.number(0, 3)));
      Count next = 0;
      bool dense = true;
      for (const TypeMap::Entry& e : s.map.entries) {
        dense = dense && e.displacement == next;
        next += e.bytes;
      }
      dense = dense && s.map.lb() == 0 && s.map.extent() == next;
      ASSERT_EQ(s.type->contiguous, dense) << round;
    }
  });
}

}  // namespace
}  // namespace tasuki::test
