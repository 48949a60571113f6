// Shows what a status says in units of a type (MPI 3.2.5, 5.1.12, 13.3).
#include "datatype/support.hpp"

namespace tasuki::test {
namespace {

/// {int x 3, (double, int) x 2}: 7 basic elements, 36 bytes.
/// bytes.
TypeRef mixed(Process& process) {
  Datatype* types[] = {named(process, kMpiInt).get(), named(process, kMpiDoubleInt).get()};
  return made(process, [&](Datatype** t) {
    return api::type_create_struct(process, 2, ints({3, 2}), counts({0, 16}), types, t, false);
  });
}

Count count_of(Process& process, Datatype* type, Count bytes) {
  Status status;
  status.bytes = bytes;
  Count count = -1;
  EXPECT_EQ(api::get_count(process, &status, type, &count), kSuccess);
  return count;
}

Count elements_of(Process& process, Datatype* type, Count bytes) {
  Status status;
  status.bytes = bytes;
  Count count = -1, count_x = -1;
  EXPECT_EQ(api::get_elements(process, &status, type, &count), kSuccess);
  EXPECT_EQ(api::get_elements_x(process, &status, type, &count_x), kSuccess);
  EXPECT_EQ(count, count_x);
  return count;
}

TEST(Status, CountsWholeElementsOnly) {
  with_process([](Process& process) {
    const TypeRef type = mixed(process);
    EXPECT_EQ(type->size, 36);
    EXPECT_EQ(count_of(process, type.get(), 0), 0);
    EXPECT_EQ(count_of(process, type.get(), 72), 2);
    EXPECT_EQ(count_of(process, type.get(), 40), kUndefined);
    EXPECT_EQ(count_of(process, type.get(), Count{36} << 40), Count{1} << 40);
    Datatype* integer = named(process, kMpiInt).get();
    const TypeRef none =
        made(process, [&](Datatype** t) { return api::type_contiguous(process, 0, integer, t, false); });
    EXPECT_EQ(count_of(process, none.get(), 0), 0);
    EXPECT_EQ(count_of(process, none.get(), 4), kUndefined);
    EXPECT_EQ(elements_of(process, none.get(), 0), 0);
    EXPECT_EQ(elements_of(process, none.get(), 4), kUndefined);
  });
}

TEST(Status, ElementsAreBasicOnes) {
  with_process([](Process& process) {
    const TypeRef type = mixed(process);
    const Count kEnds[] = {0, 4, 8, 12, 20, 24, 32, 36};  // where the seven elements end
    Count whole = 0;
    for (Count bytes = 0; bytes <= 36; ++bytes) {
      const bool at_end = std::find(std::begin(kEnds), std::end(kEnds), bytes) != std::end(kEnds);
      EXPECT_EQ(elements_of(process, type.get(), bytes), at_end ? whole : kUndefined) << bytes;
      EXPECT_EQ(elements_of(process, type.get(), bytes + 72), at_end ? whole + 14 : kUndefined) << bytes;
      if (at_end) ++whole;
    }
    EXPECT_EQ(whole, 8);
  });
}

TEST(Status, SetElementsIsTheInverse) {
  with_process([](Process& process) {
    const TypeRef inner = mixed(process);
    const TypeRef type = made(
        process, [&](Datatype** t) { return api::type_vector(process, 2, 1, 3, inner.get(), t, false); });
    for (Count elements = 0; elements < 40; ++elements) {
      Status status;
      ASSERT_EQ(api::status_set_elements(process, &status, type.get(), elements), kSuccess);
      EXPECT_EQ(elements_of(process, type.get(), status.bytes), elements);
    }
    Status status;
    EXPECT_EQ(failure(process, api::status_set_elements(process, &status, type.get(), -1)), kErrCount);
    EXPECT_EQ(failure(process, api::status_set_elements_x(process, &status, type.get(), INT64_MAX)),
              kErrCount);
  });
}

}  // namespace
}  // namespace tasuki::test
