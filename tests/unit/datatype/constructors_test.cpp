// Shows each constructor's bounds and bytes on small cases written by hand, what large regular types cost,
// and the errors.
#include "datatype/layout.hpp"
#include "datatype/support.hpp"

namespace tasuki::test {
namespace {

TypeMap map_of(std::uint16_t basic) {
  return type_map(*basic_info(basic));
}

TEST(Constructors, ContiguousIsOneRun) {
  with_process([](Process& process) {
    const TypeRef real = named(process, kMpiDouble);
    const TypeRef type =
        made(process, [&](Datatype** t) { return api::type_contiguous(process, 5, real.get(), t, false); });
    EXPECT_TRUE(type->contiguous);
    EXPECT_FALSE(type->committed);
    EXPECT_EQ(type->size, 40);
    EXPECT_EQ(type->extent, 40);
    EXPECT_EQ(type->layout->shape, Layout::Shape::kRun);
  });
}

TEST(Constructors, VectorWithNegativeStrideStartsBelowTheBuffer) {
  with_process([](Process& process) {
    const TypeRef integer = named(process, kMpiInt);
    const TypeRef type = made(
        process, [&](Datatype** t) { return api::type_vector(process, 3, 2, -4, integer.get(), t, false); });
    EXPECT_EQ(type->lb, -32);
    EXPECT_EQ(type->extent, 40);
    EXPECT_EQ(type->true_lb, -32);
    EXPECT_EQ(type->true_extent, 40);
    TypeMap map;
    for (const Count i : {0, -16, -32}) map.place(i, 2, map_of(kMpiInt));
    expect_moves(*type, map, 3);
  });
}

/// MPI 5.1.6: the extent of a type map is rounded up to its strictest alignment.
TEST(Constructors, StructIsPaddedToItsAlignment) {
  with_process([](Process& process) {
    Datatype* types[] = {named(process, kMpiDouble).get(), named(process, kMpiChar).get()};
    const TypeRef type = made(process, [&](Datatype** t) {
      return api::type_create_struct(process, 2, ints({1, 1}), counts({0, 8}), types, t, false);
    });
    EXPECT_EQ(type->size, 9);
    EXPECT_EQ(type->extent, 16);
    EXPECT_EQ(type->true_extent, 9);
    EXPECT_FALSE(type->contiguous);
    TypeMap map;
    map.place(0, 1, map_of(kMpiDouble));
    map.place(8, 1, map_of(kMpiChar));
    map.padded = true;
    expect_moves(*type, map, 4);
  });
}

/// MPI 5.1.7: bounds that a resized part sets decide those of the whole.
TEST(Constructors, MarkersOfPartsPrevail) {
  with_process([](Process& process) {
    const TypeRef integer = named(process, kMpiInt);
    const TypeRef resized = made(process, [&](Datatype** t) {
      return api::type_create_resized(process, integer.get(), -4, 12, t, false);
    });
    EXPECT_EQ(resized->lb, -4);
    EXPECT_EQ(resized->extent, 12);
    EXPECT_EQ(resized->true_lb, 0);
    EXPECT_EQ(resized->true_extent, 4);
    EXPECT_FALSE(resized->contiguous);
    Datatype* types[] = {resized.get(), integer.get()};
    const TypeRef both = made(process, [&](Datatype** t) {
      return api::type_create_struct(process, 2, ints({2, 1}), counts({0, 100}), types, t, false);
    });
    EXPECT_EQ(both->lb, -4);
    EXPECT_EQ(both->extent, 24);
    EXPECT_EQ(both->true_extent, 104);
  });
}

TEST(Constructors, EmptyTypesHaveNoBounds) {
  with_process([](Process& process) {
    const TypeRef integer = named(process, kMpiInt);
    const TypeRef none = made(
        process, [&](Datatype** t) { return api::type_contiguous(process, 0, integer.get(), t, false); });
    EXPECT_EQ(none->size, 0);
    EXPECT_EQ(none->extent, 0);
    const TypeRef nested = made(process, [&](Datatype** t) {
      return api::type_create_hindexed(process, 2, ints({3, 4}), counts({100, -100}), none.get(), t, false);
    });
    EXPECT_EQ(nested->lb, 0);
    EXPECT_EQ(nested->extent, 0);
    PackCursor cursor(*nested, 10);
    EXPECT_EQ(cursor.total_bytes(), 0);
    EXPECT_EQ(cursor.pack(nullptr, nullptr, 10), 0u);
    const TypeRef nothing = made(process, [&](Datatype** t) {
      return api::type_create_struct(process, 0, CountArray(), CountArray(), nullptr, t, false);
    });
    EXPECT_EQ(nothing->size, 0);
  });
}

TEST(Constructors, AdjacentBlocksBecomeOneRun) {
  with_process([](Process& process) {
    const TypeRef integer = named(process, kMpiInt);
    const TypeRef type = made(process, [&](Datatype** t) {
      return api::type_indexed(process, 3, ints({2, 1, 4}), ints({0, 2, 3}), integer.get(), t, false);
    });
    EXPECT_TRUE(type->contiguous);
    EXPECT_EQ(type->size, 28);
    const TypeRef backwards = made(process, [&](Datatype** t) {
      return api::type_indexed(process, 2, ints({1, 1}), ints({1, 0}), integer.get(), t, false);
    });
    EXPECT_FALSE(backwards->contiguous);
    EXPECT_EQ(backwards->extent, 8);
  });
}

/// A subarray of a 4-d array of 2^40 elements is a handful of nodes, and reaches beyond 2^31 elements.
TEST(Constructors, RegularTypesStaySmall) {
  with_process([](Process& process) {
    const TypeRef real = named(process, kMpiDouble);
    const std::vector<std::int64_t> sizes(4, 1024), subsizes(4, 512), starts(4, 256);
    const TypeRef type = made(process, [&](Datatype** t) {
      return api::type_create_subarray(process, 4, counts(sizes), counts(subsizes), counts(starts), kOrderC,
                                       real.get(), t, true);
    });
    EXPECT_EQ(type->size, Count{8} << 36);
    EXPECT_EQ(type->extent, Count{8} << 40);
    int nodes = 0;
    for (const Layout* node = type->layout.get(); node != nullptr; node = node->child.get()) {
      EXPECT_EQ(node->shape, Layout::Shape::kStrided);
      EXPECT_TRUE(node->blocks.empty() && node->pieces.empty());
      ++nodes;
    }
    EXPECT_EQ(nodes, 3);
    const TypeRef column = made(process, [&](Datatype** t) {
      return api::type_vector(process, Count{1} << 33, 1, 2, real.get(), t, true);
    });
    EXPECT_EQ(column->size, Count{1} << 36);
    EXPECT_EQ(column->layout->count, Count{1} << 33);
    // The same stride goes on from element to element: still one node.
    const TypeRef padded = made(process, [&](Datatype** t) {
      return api::type_create_resized(process, column.get(), 0, Count{1} << 37, t, true);
    });
    const TypeRef columns =
        made(process, [&](Datatype** t) { return api::type_contiguous(process, 4, padded.get(), t, true); });
    EXPECT_EQ(columns->layout->count, Count{1} << 35);
    EXPECT_EQ(columns->layout->child, nullptr);
  });
}

/// A cursor finds byte 2^35 of a type in the dark: the buffer has only the pages that the test touches.
TEST(Constructors, SeekGoesBeyondTwoGigabytes) {
  with_process([](Process& process) {
    const TypeRef integer = named(process, kMpiInt);
    const TypeRef type = made(process, [&](Datatype** t) {
      return api::type_create_hvector(process, Count{1} << 34, 1, 8, integer.get(), t, true);
    });
    const Count element = Count{1} << 33;
    const int value[2] = {41, 42};
    PackCursor cursor(*type, 1);
    cursor.seek(element * 4 + 2);
    unsigned char out[4];
    // The buffer's address is such that the element lies at `value`.
    void* origin = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(&value[0]) -
                                           static_cast<std::uintptr_t>(element) * 8);
    EXPECT_EQ(cursor.pack(origin, out, 2), 2u);
    EXPECT_EQ(std::memcmp(out, reinterpret_cast<const char*>(value) + 2, 2), 0);
    EXPECT_EQ(cursor.position(), element * 4 + 4);
  });
}

TEST(Constructors, AbsoluteAddressesWorkFromBottom) {
  with_process([](Process& process) {
    double x = 1.5;
    int n = 7;
    Datatype* types[] = {named(process, kMpiDouble).get(), named(process, kMpiInt).get()};
    const std::vector<std::int64_t> places = {static_cast<Count>(reinterpret_cast<std::intptr_t>(&x)),
                                              static_cast<Count>(reinterpret_cast<std::intptr_t>(&n))};
    const TypeRef type = made(process, [&](Datatype** t) {
      return api::type_create_struct(process, 2, ints({1, 1}), counts(places), types, t, false);
    });
    unsigned char out[12];
    PackCursor cursor(*type, 1);
    EXPECT_EQ(cursor.pack(nullptr, out, sizeof out), sizeof out);
    EXPECT_EQ(std::memcmp(out, &x, 8), 0);
    EXPECT_EQ(std::memcmp(out + 8, &n, 4), 0);
  });
}

TEST(Constructors, DarrayPartsCoverTheArrayOnce) {
  with_process([](Process& process) {
    const TypeRef integer = named(process, kMpiInt);
    const int distribs[] = {kDistributeCyclic, kDistributeBlock};
    const int dargs[] = {2, kDistributeDefaultArg};
    const int psizes[] = {2, 3};
    std::vector<int> array(7 * 10, -1);
    for (int rank = 0; rank < 6; ++rank) {
      const TypeRef type = made(process, [&](Datatype** t) {
        return api::type_create_darray(process, 6, rank, 2, ints({7, 10}), distribs, dargs, psizes, kOrderC,
                                       integer.get(), t, false);
      });
      EXPECT_EQ(type->extent, 280);
      std::vector<int> mine(static_cast<std::size_t>(type->size / 4), rank);
      PackCursor cursor(*type, 1);
      cursor.unpack(array.data(), mine.data(), static_cast<std::size_t>(type->size));
    }
    for (int row = 0; row < 7; ++row) {
      for (int column = 0; column < 10; ++column) {
        const int owner = row / 2 % 2 * 3 + column / 4;
        EXPECT_EQ(array[static_cast<std::size_t>(row * 10 + column)], owner) << row << " " << column;
      }
    }
  });
}

TEST(Constructors, RefuseBadArguments) {
  with_process([](Process& process) {
    Datatype* integer = named(process, kMpiInt).get();
    Datatype* type = nullptr;
    EXPECT_EQ(failure(process, api::type_contiguous(process, -1, integer, &type, false)), kErrCount);
    EXPECT_EQ(failure(process, api::type_contiguous(process, 1, nullptr, &type, false)), kErrType);
    EXPECT_EQ(failure(process, api::type_vector(process, 2, -3, 1, integer, &type, false)), kErrArg);
    EXPECT_EQ(
        failure(process, api::type_indexed(process, 2, ints({1, -1}), ints({0, 0}), integer, &type, false)),
        kErrArg);
    EXPECT_EQ(
        failure(process, api::type_create_hindexed_block(process, 1, -1, counts({0}), integer, &type, false)),
        kErrArg);
    Datatype* types[] = {integer, nullptr};
    EXPECT_EQ(failure(process,
                      api::type_create_struct(process, 2, ints({1, 1}), counts({0, 0}), types, &type, false)),
              kErrType);
    const auto subarray = [&](int ndims, int size, int subsize, int start, int order) {
      return failure(process, api::type_create_subarray(process, ndims, ints({size}), ints({subsize}),
                                                        ints({start}), order, integer, &type, false));
    };
    EXPECT_EQ(subarray(0, 4, 2, 1, kOrderC), kErrArg);
    EXPECT_EQ(subarray(1, 0, 1, 0, kOrderC), kErrArg);
    EXPECT_EQ(subarray(1, 4, 5, 0, kOrderC), kErrArg);
    EXPECT_EQ(subarray(1, 4, 0, 0, kOrderC), kErrArg);
    EXPECT_EQ(subarray(1, 4, 2, 3, kOrderC), kErrArg);
    EXPECT_EQ(subarray(1, 4, 2, 1, 99), kErrArg);
    EXPECT_EQ(type, nullptr);
    const auto darray = [&](int size, int rank, int gsize, int distribution, int darg, int psize, int order) {
      return failure(process, api::type_create_darray(process, size, rank, 1, ints({gsize}), &distribution,
                                                      &darg, &psize, order, integer, &type, false));
    };
    EXPECT_EQ(darray(3, 0, 8, kDistributeBlock, kDistributeDefaultArg, 2, kOrderC), kErrArg);
    EXPECT_EQ(darray(2, 2, 8, kDistributeBlock, kDistributeDefaultArg, 2, kOrderC), kErrArg);
    EXPECT_EQ(darray(2, 0, 8, kDistributeBlock, 3, 2, kOrderC), kErrArg);
    EXPECT_EQ(darray(2, 0, 8, kDistributeNone, kDistributeDefaultArg, 2, kOrderC), kErrArg);
    EXPECT_EQ(darray(2, 0, 8, kDistributeCyclic, 0, 2, kOrderC), kErrArg);
    EXPECT_EQ(darray(2, 0, 0, kDistributeCyclic, 1, 2, kOrderC), kErrArg);
    EXPECT_EQ(darray(2, 0, 8, 15, 1, 2, kOrderC), kErrArg);
    EXPECT_EQ(darray(0, 0, 8, kDistributeBlock, 1, 0, kOrderC), kErrArg);
    EXPECT_EQ(darray(2, 0, 8, kDistributeBlock, 4, 2, 0), kErrArg);
    EXPECT_EQ(type, nullptr);
  });
}

TEST(Constructors, RefuseWhatDoesNotFit63Bits) {
  with_process([](Process& process) {
    Datatype* real = named(process, kMpiDouble).get();
    Datatype* type = nullptr;
    constexpr Count kHuge = INT64_MAX;
    EXPECT_EQ(failure(process, api::type_contiguous(process, Count{1} << 60, real, &type, true)), kErrType);
    EXPECT_EQ(failure(process, api::type_vector(process, 2, 1, kHuge, real, &type, true)), kErrType);
    EXPECT_EQ(failure(process, api::type_create_hvector(process, kHuge, 1, kHuge, real, &type, true)),
              kErrType);
    EXPECT_EQ(failure(process, api::type_create_hvector(process, 2, 1, kHuge, real, &type, true)), kErrType);
    EXPECT_EQ(failure(process, api::type_indexed(process, 2, counts({1, 1}), counts({INT64_MIN, kHuge}), real,
                                                 &type, true)),
              kErrType);
    EXPECT_EQ(failure(process, api::type_create_hindexed(process, 2, counts({1, 1}),
                                                         counts({INT64_MIN, kHuge}), real, &type, true)),
              kErrType);
    EXPECT_EQ(failure(process, api::type_create_resized(process, real, kHuge, 1, &type, true)), kErrType);
    EXPECT_EQ(failure(process, api::type_create_subarray(process, 2, counts({kHuge, 16}), counts({1, 1}),
                                                         counts({0, 0}), kOrderC, real, &type, true)),
              kErrType);
    EXPECT_EQ(type, nullptr);
  });
}

TEST(Constructors, DupAndFree) {
  with_process([](Process& process) {
    Datatype* integer = named(process, kMpiInt).get();
    Datatype* type = nullptr;
    ASSERT_EQ(api::type_vector(process, 2, 1, 3, integer, &type, false), kSuccess);
    ASSERT_EQ(api::type_commit(process, &type), kSuccess);
    ASSERT_EQ(api::type_set_name(process, type, "mine"), kSuccess);
    Datatype* copy = nullptr;
    ASSERT_EQ(api::type_dup(process, type, &copy), kSuccess);
    EXPECT_TRUE(copy->committed);
    EXPECT_EQ(copy->extent, type->extent);
    EXPECT_EQ(copy->layout, type->layout);
    std::string name;
    EXPECT_EQ(api::type_get_name(process, copy, &name), kSuccess);
    EXPECT_EQ(name, "");
    EXPECT_EQ(api::type_free(process, &type), kSuccess);
    EXPECT_EQ(type, nullptr);
    EXPECT_EQ(copy->types[0]->name, "mine");  // the copy keeps what it was made of
    EXPECT_EQ(api::type_free(process, &copy), kSuccess);
    EXPECT_EQ(failure(process, api::type_free(process, &integer)), kErrType);
    EXPECT_NE(integer, nullptr);
  });
}

}  // namespace
}  // namespace tasuki::test
