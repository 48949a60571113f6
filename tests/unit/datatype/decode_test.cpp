// Shows what envelope and contents give for each combiner, in both forms (MPI 5.1.13).
#include "datatype/support.hpp"

namespace tasuki::test {
namespace {

struct Contents {
  Combiner combiner;
  std::vector<int> integers;
  std::vector<Aint> addresses;
  std::vector<Count> large_counts;
  std::vector<Datatype*> types;
  bool operator==(const Contents&) const = default;
};

/// Asks as a user does: envelope first, then contents with just enough room. Derived types are freed again.
Contents decode(Process& process, Datatype* type, bool wide) {
  Contents c;
  Count integers = -1, addresses = -1, large = wide ? -1 : 0, types = -1;
  int combiner = 0;
  EXPECT_EQ(api::type_get_envelope(process, type, &integers, &addresses, wide ? &large : nullptr, &types,
                                   &combiner, wide),
            kSuccess);
  c.combiner = static_cast<Combiner>(combiner);
  c.integers.resize(static_cast<std::size_t>(integers));
  c.addresses.resize(static_cast<std::size_t>(addresses));
  c.large_counts.resize(static_cast<std::size_t>(large));
  c.types.resize(static_cast<std::size_t>(types));
  if (c.combiner == Combiner::kNamed) return c;
  EXPECT_EQ(api::type_get_contents(process, type, integers, addresses, large, types, c.integers.data(),
                                   c.addresses.data(), c.large_counts.data(), c.types.data(), wide),
            kSuccess);
  return c;
}

class Decode {
 public:
  template <class Make>
  static void expect(Process& process, Make make, const Contents& narrow, const Contents& wide) {
    SCOPED_TRACE(static_cast<int>(narrow.combiner));
    const TypeRef type = made(process, [&](Datatype** t) { return make(t, false); });
    EXPECT_EQ(decode(process, type.get(), false), narrow);
    EXPECT_EQ(decode(process, type.get(), true), narrow);  // the _c form decodes both
    const TypeRef large = made(process, [&](Datatype** t) { return make(t, true); });
    EXPECT_EQ(decode(process, large.get(), true), wide);
    Count count = 0;
    int combiner = 0;
    EXPECT_EQ(failure(process, api::type_get_envelope(process, large.get(), &count, &count, nullptr, &count,
                                                      &combiner, false)),
              kErrType);
    EXPECT_EQ(failure(process, api::type_get_contents(process, large.get(), 99, 99, 0, 99, nullptr, nullptr,
                                                      nullptr, nullptr, false)),
              kErrType);
  }
};

TEST(Decode, BlocksOfOneType) {
  with_process([](Process& p) {
    Datatype* t = named(p, kMpiInt).get();
    using C = Combiner;
    Decode::expect(p, [&](Datatype** n, bool w) { return api::type_contiguous(p, 7, t, n, w); },
                   {C::kContiguous, {7}, {}, {}, {t}}, {C::kContiguous, {}, {}, {7}, {t}});
    Decode::expect(p, [&](Datatype** n, bool w) { return api::type_vector(p, 3, 2, -5, t, n, w); },
                   {C::kVector, {3, 2, -5}, {}, {}, {t}}, {C::kVector, {}, {}, {3, 2, -5}, {t}});
    Decode::expect(p, [&](Datatype** n, bool w) { return api::type_create_hvector(p, 3, 2, 99, t, n, w); },
                   {C::kHvector, {3, 2}, {99}, {}, {t}}, {C::kHvector, {}, {}, {3, 2, 99}, {t}});
    Decode::expect(p,
                   [&](Datatype** n, bool w) {
                     return api::type_indexed(p, 2, ints({4, 5}), ints({6, 17}), t, n, w);
                   },
                   {C::kIndexed, {2, 4, 5, 6, 17}, {}, {}, {t}},
                   {C::kIndexed, {}, {}, {2, 4, 5, 6, 17}, {t}});
    Decode::expect(p,
                   [&](Datatype** n, bool w) {
                     return api::type_create_hindexed(p, 2, ints({4, 5}), counts({6, 70}), t, n, w);
                   },
                   {C::kHindexed, {2, 4, 5}, {6, 70}, {}, {t}},
                   {C::kHindexed, {}, {}, {2, 4, 5, 6, 70}, {t}});
    Decode::expect(p,
                   [&](Datatype** n, bool w) {
                     return api::type_create_indexed_block(p, 2, 3, ints({6, 17}), t, n, w);
                   },
                   {C::kIndexedBlock, {2, 3, 6, 17}, {}, {}, {t}},
                   {C::kIndexedBlock, {}, {}, {2, 3, 6, 17}, {t}});
    Decode::expect(p,
                   [&](Datatype** n, bool w) {
                     return api::type_create_hindexed_block(p, 2, 3, counts({6, 70}), t, n, w);
                   },
                   {C::kHindexedBlock, {2, 3}, {6, 70}, {}, {t}},
                   {C::kHindexedBlock, {}, {}, {2, 3, 6, 70}, {t}});
    Decode::expect(p, [&](Datatype** n, bool w) { return api::type_create_resized(p, t, -8, 64, n, w); },
                   {C::kResized, {}, {-8, 64}, {}, {t}}, {C::kResized, {}, {}, {-8, 64}, {t}});
  });
}

TEST(Decode, StructsAndArrays) {
  with_process([](Process& p) {
    Datatype* t = named(p, kMpiInt).get();
    Datatype* types[] = {t, named(p, kMpiDouble).get()};
    using C = Combiner;
    Decode::expect(p,
                   [&](Datatype** n, bool w) {
                     return api::type_create_struct(p, 2, ints({1, 3}), counts({0, 8}), types, n, w);
                   },
                   {C::kStruct, {2, 1, 3}, {0, 8}, {}, {types[0], types[1]}},
                   {C::kStruct, {}, {}, {2, 1, 3, 0, 8}, {types[0], types[1]}});
    Decode::expect(p,
                   [&](Datatype** n, bool w) {
                     return api::type_create_subarray(p, 2, ints({9, 8}), ints({4, 3}), ints({2, 1}),
                                                      kOrderFortran, t, n, w);
                   },
                   {C::kSubarray, {2, 9, 8, 4, 3, 2, 1, kOrderFortran}, {}, {}, {t}},
                   {C::kSubarray, {2, kOrderFortran}, {}, {9, 8, 4, 3, 2, 1}, {t}});
    const int distribs[] = {kDistributeBlock, kDistributeCyclic};
    const int dargs[] = {kDistributeDefaultArg, 2};
    const int psizes[] = {3, 2};
    Decode::expect(
        p,
        [&](Datatype** n, bool w) {
          return api::type_create_darray(p, 6, 4, 2, ints({9, 8}), distribs, dargs, psizes, kOrderC, t, n, w);
        },
        {C::kDarray,
         {6, 4, 2, 9, 8, kDistributeBlock, kDistributeCyclic, kDistributeDefaultArg, 2, 3, 2, kOrderC},
         {},
         {},
         {t}},
        {C::kDarray,
         {6, 4, 2, kDistributeBlock, kDistributeCyclic, kDistributeDefaultArg, 2, 3, 2, kOrderC},
         {},
         {9, 8},
         {t}});
  });
}

TEST(Decode, NamedAndDup) {
  with_process([](Process& p) {
    Datatype* t = named(p, kMpiInt).get();
    EXPECT_EQ(decode(p, t, false), (Contents{Combiner::kNamed, {}, {}, {}, {}}));
    EXPECT_EQ(failure(p, api::type_get_contents(p, t, 9, 9, 0, 9, nullptr, nullptr, nullptr, nullptr, false)),
              kErrType);
    const TypeRef dup = made(p, [&](Datatype** n) { return api::type_dup(p, t, n); });
    EXPECT_EQ(decode(p, dup.get(), false), (Contents{Combiner::kDup, {}, {}, {}, {t}}));
  });
}

/// Derived parts come back as objects of the user's own, equal to what was given.
TEST(Decode, DerivedPartsAreNew) {
  with_process([](Process& p) {
    Datatype* t = named(p, kMpiInt).get();
    TypeRef inner = made(p, [&](Datatype** n) { return api::type_vector(p, 3, 2, 5, t, n, false); });
    const TypeRef outer =
        made(p, [&](Datatype** n) { return api::type_contiguous(p, 2, inner.get(), n, false); });
    inner = TypeRef();  // freed by the user; the outer type keeps it
    const Contents c = decode(p, outer.get(), false);
    ASSERT_EQ(c.types.size(), 1u);
    Datatype* part = c.types[0];
    EXPECT_NE(part, outer->types[0]);
    EXPECT_EQ(part->extent, 48);
    EXPECT_EQ(decode(p, part, false), (Contents{Combiner::kVector, {3, 2, 5}, {}, {}, {t}}));
    EXPECT_EQ(api::type_free(p, &part), kSuccess);
  });
}

TEST(Decode, TooLittleRoomIsAnError) {
  with_process([](Process& p) {
    Datatype* t = named(p, kMpiInt).get();
    const TypeRef type =
        made(p, [&](Datatype** n) { return api::type_create_hvector(p, 3, 2, 99, t, n, false); });
    int integers[2];
    Aint addresses[1];
    Datatype* types[1];
    const auto contents = [&](Count i, Count a, Count d) {
      return failure(
          p, api::type_get_contents(p, type.get(), i, a, 0, d, integers, addresses, nullptr, types, false));
    };
    EXPECT_EQ(contents(1, 1, 1), kErrArg);
    EXPECT_EQ(contents(2, 0, 1), kErrArg);
    EXPECT_EQ(contents(2, 1, 0), kErrArg);
    EXPECT_EQ(contents(2, 1, 1), kSuccess);
  });
}

TEST(Decode, FortranKindsAreSharedAndCannotBeFreed) {
  with_process([](Process& p) {
    Datatype *a = nullptr, *b = nullptr;
    ASSERT_EQ(api::type_create_f90_real(p, 12, kUndefined, &a), kSuccess);
    ASSERT_EQ(api::type_create_f90_real(p, 12, kUndefined, &b), kSuccess);
    EXPECT_EQ(a, b);
    EXPECT_EQ(a->size, 8);
    EXPECT_TRUE(a->committed);
    EXPECT_EQ(basic_info(*a)->predefined, kMpiReal8);
    EXPECT_EQ(decode(p, a, false), (Contents{Combiner::kF90Real, {12, kUndefined}, {}, {}, {}}));
    EXPECT_EQ(failure(p, api::type_free(p, &a)), kErrType);
    ASSERT_EQ(api::type_create_f90_complex(p, 6, 37, &b), kSuccess);
    EXPECT_EQ(b->size, 8);
    ASSERT_EQ(api::type_create_f90_integer(p, 9, &b), kSuccess);
    EXPECT_EQ(b->size, 4);
    ASSERT_EQ(api::type_create_f90_integer(p, 10, &b), kSuccess);
    EXPECT_EQ(b->size, 8);
    EXPECT_EQ(decode(p, b, false), (Contents{Combiner::kF90Integer, {10}, {}, {}, {}}));
    const TypeRef two = made(p, [&](Datatype** n) { return api::type_contiguous(p, 2, b, n, false); });
    EXPECT_EQ(decode(p, two.get(), false).types[0], b);
    EXPECT_EQ(failure(p, api::type_create_f90_integer(p, 60, &b)), kErrArg);
    EXPECT_EQ(failure(p, api::type_create_f90_real(p, 90, 2, &b)), kErrArg);
    EXPECT_EQ(failure(p, api::type_create_f90_real(p, kUndefined, kUndefined, &b)), kErrArg);
  });
}

}  // namespace
}  // namespace tasuki::test
