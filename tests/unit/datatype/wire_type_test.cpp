// Datatypes as they travel to other ranks: that what arrives moves the same bytes, and that garbage is told.
#include "datatype/wire_type.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "base/predefined.hpp"
#include "datatype/call/api.hpp"
#include "object/objects.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

void expect_same_moves(const Datatype& type) {
  const std::vector<std::int64_t> words = encode_type(type);
  const Ref<Datatype> copy = decode_type(words.data(), words.size());
  ASSERT_TRUE(copy);
  EXPECT_EQ(encode_type(type, words.size()), words);
  EXPECT_TRUE(encode_type(type, words.size() - 1).empty());
  EXPECT_EQ(copy->size, type.size);
  EXPECT_EQ(copy->extent, type.extent);
  constexpr Count kCount = 3;
  std::vector<std::uint8_t> memory(8192);
  std::iota(memory.begin(), memory.end(), std::uint8_t{0});
  const void* base = memory.data() + 4096;
  std::vector<std::uint8_t> wanted(static_cast<std::size_t>(type.size * kCount));
  std::vector<std::uint8_t> got(wanted.size());
  PackCursor(type, kCount).pack(base, wanted.data(), wanted.size());
  PackCursor(*copy, kCount).pack(base, got.data(), got.size());
  EXPECT_EQ(got, wanted);
}

TEST(WireType, ArrivesAsItWas) {
  test::run_ranks(1, [](Process& process) {
    const auto predefined = [&](std::uint16_t number) {
      return static_cast<Datatype*>(process.objects->predefined[number]);
    };
    Datatype *vector = nullptr, *backward = nullptr, *list = nullptr, *record = nullptr, *nested = nullptr;
    ASSERT_EQ(api::type_vector(process, 5, 2, 3, predefined(kMpiInt), &vector, false), 0);
    ASSERT_EQ(api::type_vector(process, 4, 1, -2, predefined(kMpiDouble), &backward, false), 0);
    const int lengths[] = {1, 3, 2};
    const std::int64_t places[] = {0, 40, 8};
    ASSERT_EQ(api::type_create_hindexed(process, 3, CountArray(lengths), CountArray(places),
                                        predefined(kMpiShort), &list, false),
              0);
    Datatype* const parts[] = {vector, predefined(kMpiShortInt), list};
    const std::int64_t far[] = {-200, 300, 100};
    ASSERT_EQ(
        api::type_create_struct(process, 3, CountArray(lengths), CountArray(far), parts, &record, false), 0);
    ASSERT_EQ(api::type_vector(process, 2, 1, 1, record, &nested, false), 0);
    for (Datatype* type :
         {vector, backward, list, record, nested, predefined(kMpiShortInt), predefined(kMpiByte)}) {
      expect_same_moves(*type);
    }
    for (Datatype** type : {&vector, &backward, &list, &record, &nested}) api::type_free(process, type);
  });
}

/// A target gives it no more memory than its bounds say.
void expect_to_stay_within_bounds(const Datatype& type) {
  if (type.true_extent > 65536 || type.size > 65536) return;
  std::vector<std::byte> memory(static_cast<std::size_t>(type.true_extent));
  std::vector<std::byte> packed(static_cast<std::size_t>(type.size));
  std::byte* const base = memory.data() - type.true_lb;
  PackCursor(type, 1).pack(base, packed.data(), packed.size());
  PackCursor(type, 1).unpack(base, packed.data(), packed.size());
}

TEST(WireType, GarbageIsTold) {
  test::run_ranks(1, [](Process& process) {
    Datatype* type = nullptr;
    const int lengths[] = {1, 3};
    const std::int64_t places[] = {0, 40};
    ASSERT_EQ(api::type_create_hindexed(process, 2, CountArray(lengths), CountArray(places),
                                        static_cast<Datatype*>(process.objects->predefined[kMpiShort]), &type,
                                        false),
              0);
    const std::vector<std::int64_t> words = encode_type(*type);
    for (std::size_t cut = 0; cut < words.size(); ++cut) {
      EXPECT_FALSE(decode_type(words.data(), cut)) << "cut after " << cut;
    }
    std::vector<std::int64_t> longer = words;
    longer.push_back(0);
    EXPECT_FALSE(decode_type(longer.data(), longer.size()));
    std::mt19937_64 random(1);
    for (int i = 0; i < 2000; ++i) {  // whatever comes, nothing breaks
      std::vector<std::int64_t> changed = words;
      changed[random() % changed.size()] = static_cast<std::int64_t>(random()) >> (random() % 64);
      const Ref<Datatype> made = decode_type(changed.data(), changed.size());
      if (made) expect_to_stay_within_bounds(*made);
    }
    api::type_free(process, &type);
  });
}

}  // namespace
}  // namespace tasuki
