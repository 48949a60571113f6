// Shows error handlers being set, inherited, called and freed, and the user's error classes, codes and
// strings.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/calls/call_board.hpp"
#include "communicator/api.hpp"
#include "object/api.hpp"
#include "object/errhandler.hpp"
#include "object/objects.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

using test::run_ranks;

thread_local std::vector<Code> handled;  // ranks are threads

void note(Object*, Code code) {
  handled.push_back(code);
}

AnyFunction note_function() {
  return reinterpret_cast<AnyFunction>(&note);
}

TEST(Errhandler, SetGetInheritCall) {
  run_ranks(2, [](Process& process) {
    handled.clear();
    Comm* world = process.objects->world;
    Errhandler* initial = nullptr;
    EXPECT_EQ(api::comm_get_errhandler(process, world, &initial), kSuccess);
    EXPECT_EQ(initial->predefined, kMpiErrorsAreFatal);
    EXPECT_EQ(api::errhandler_free(process, &initial), kSuccess);
    EXPECT_EQ(initial, nullptr);

    Errhandler* mine = nullptr;
    ASSERT_EQ(api::comm_create_errhandler(process, note_function(), &mine), kSuccess);
    Comm* comm = nullptr;
    ASSERT_EQ(api::comm_dup(process, world, &comm), kSuccess);
    EXPECT_EQ(api::comm_set_errhandler(process, comm, mine), kSuccess);
    const Errhandler* const same = mine;
    EXPECT_EQ(api::errhandler_free(process, &mine), kSuccess);  // the communicator keeps it
    Errhandler* got = nullptr;
    EXPECT_EQ(api::comm_get_errhandler(process, comm, &got), kSuccess);
    EXPECT_EQ(got, same);
    api::errhandler_free(process, &got);

    Comm* child = nullptr;
    ASSERT_EQ(api::comm_split(process, comm, 0, 0, &child), kSuccess);
    EXPECT_EQ(child->errhandler.get(), same);
    api::comm_free(process, &comm);
    EXPECT_EQ(api::comm_call_errhandler(process, child, kErrTag), kSuccess);
    EXPECT_EQ(handled, (std::vector<Code>{kErrTag}));
    EXPECT_EQ(api::comm_set_errhandler(process, child,
                                       predefined_object<Errhandler>(*process.objects, kMpiErrorsReturn)),
              kSuccess);
    EXPECT_EQ(api::comm_call_errhandler(process, child, kErrTag), kSuccess);
    EXPECT_EQ(handled.size(), 1u);
    api::comm_free(process, &child);
  });
}

TEST(Errhandler, OthersKindsAreRefused) {
  run_ranks(1, [](Process& process) {
    Comm* world = process.objects->world;
    using Create = Code (*)(Process&, AnyFunction, Errhandler**);
    for (const Create create :
         {api::win_create_errhandler, api::file_create_errhandler, api::session_create_errhandler}) {
      Errhandler* other = nullptr;
      ASSERT_EQ(create(process, note_function(), &other), kSuccess);
      EXPECT_EQ(error_class_bits(api::comm_set_errhandler(process, world, other)), kErrErrhandler);
      api::errhandler_free(process, &other);
    }
    EXPECT_EQ(world->errhandler->predefined, kMpiErrorsAreFatal);
  });
}

TEST(ErrhandlerDeathTest, FatalEndsTheJobWithTheText) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(run_ranks(1,
                         [](Process& process) {
                           process.line.word.store(next_call(0, Function::kSend));
                           const Code code = process.fail(kErrRank, "dest = 9, expected 0..3");
                           api::comm_call_errhandler(process, process.objects->world, code);
                         }),
               "aborts with 6: MPI_Send: dest = 9, expected 0..3");
}

TEST(ErrorCodes, EveryClassHasANameAndAMeaning) {
  run_ranks(1, [](Process& process) {
    std::vector<int> classes = {kErrLastcode};
    for (int number = kSuccess; number <= kErrAbi; ++number) classes.push_back(number);
    for (int number = kTErrCannotInit; number <= kTErrPvarNoAtomic; ++number) classes.push_back(number);
    for (const int number : classes) {
      int error_class = -1;
      ASSERT_EQ(api::error_class(process, number, &error_class), kSuccess) << number;
      EXPECT_EQ(error_class, number);
      std::string text;
      ASSERT_EQ(api::error_string(process, number, &text), kSuccess);
      const char* prefix = number >= kTErrCannotInit && number <= kTErrPvarNoAtomic ? "MPI_T_ERR_" : "MPI_";
      EXPECT_EQ(text.find(prefix), 0u) << text;
      EXPECT_GT(text.size(), 20u);
    }
    int error_class = -1;
    for (const int wrong : {-1, 63, 1000, 1019, kUserErrorFirst, 0xffff})
      EXPECT_EQ(error_class_bits(api::error_class(process, wrong, &error_class)), kErrArg) << wrong;
  });
}

TEST(ErrorCodes, TextOfTheLogComesFirst) {
  run_ranks(1, [](Process& process) {
    const Code code = process.fail(kErrTag, "tag = %d, expected 0..7", 8);
    int error_class = 0;
    std::string text;
    EXPECT_EQ(api::error_class(process, code, &error_class), kSuccess);
    EXPECT_EQ(error_class, kErrTag);
    EXPECT_EQ(api::error_string(process, code, &text), kSuccess);
    EXPECT_EQ(text, "tag = 8, expected 0..7");
    // When the log has forgotten it, the class still speaks.
    for (int i = 0; i < 100; ++i) process.fail(kErrRank, "rank = %d", i);
    EXPECT_EQ(api::error_string(process, code, &text), kSuccess);
    EXPECT_EQ(text, std::string("MPI_ERR_TAG: ") + error_class_description(kErrTag));
  });
}

TEST(ErrorCodes, UsersClassesCodesAndStrings) {
  run_ranks(1, [](Process& process) {
    int error_class = 0;
    int first = 0;
    int second = 0;
    std::string text = "?";
    int found = 0;
    ASSERT_EQ(api::add_error_class(process, &error_class), kSuccess);
    EXPECT_GT(error_class, static_cast<int>(kErrLastcode));
    EXPECT_EQ(process.objects->attributes.lastusedcode, error_class);
    ASSERT_EQ(api::add_error_code(process, error_class, &first), kSuccess);
    ASSERT_EQ(api::add_error_code(process, kErrOther, &second), kSuccess);
    EXPECT_EQ(process.objects->attributes.lastusedcode, second);
    EXPECT_EQ(api::error_class(process, first, &found), kSuccess);
    EXPECT_EQ(found, error_class);
    EXPECT_EQ(api::error_class(process, second, &found), kSuccess);
    EXPECT_EQ(found, kErrOther);
    EXPECT_EQ(api::error_string(process, first, &text), kSuccess);
    EXPECT_EQ(text, "");
    EXPECT_EQ(api::add_error_string(process, first, "out of tea"), kSuccess);
    EXPECT_EQ(api::error_string(process, first, &text), kSuccess);
    EXPECT_EQ(text, "out of tea");

    int unused = 0;
    EXPECT_EQ(error_class_bits(api::add_error_code(process, first, &unused)), kErrArg);  // a code, no class
    EXPECT_EQ(error_class_bits(api::add_error_code(process, 999, &unused)), kErrArg);
    EXPECT_EQ(error_class_bits(api::add_error_string(process, kErrTag, "mine")), kErrArg);
    EXPECT_EQ(error_class_bits(api::remove_error_class(process, error_class)), kErrArg);  // has a code
    EXPECT_EQ(error_class_bits(api::remove_error_code(process, first)), kErrArg);         // has a string
    EXPECT_EQ(error_class_bits(api::remove_error_code(process, error_class)), kErrArg);
    EXPECT_EQ(error_class_bits(api::remove_error_class(process, kErrTag)), kErrArg);
    EXPECT_EQ(api::remove_error_string(process, first), kSuccess);
    EXPECT_EQ(error_class_bits(api::remove_error_string(process, first)), kErrArg);
    EXPECT_EQ(api::remove_error_code(process, first), kSuccess);
    EXPECT_EQ(error_class_bits(api::remove_error_code(process, first)), kErrArg);
    EXPECT_EQ(api::remove_error_class(process, error_class), kSuccess);
    EXPECT_EQ(api::remove_error_code(process, second), kSuccess);
    EXPECT_EQ(error_class_bits(api::error_class(process, error_class, &found)), kErrArg);
  });
}

TEST(ErrorCodes, RunOutWithAnError) {
  run_ranks(1, [](Process& process) {
    int number = 0;
    int added = 0;
    while (api::add_error_class(process, &number) == kSuccess) ++added;
    EXPECT_EQ(added, 0x10000 - kUserErrorFirst);
    EXPECT_EQ(number, 0xffff);
    // One that is given back, wherever it is, is the next one.
    const int between = kUserErrorFirst + 1000;
    EXPECT_EQ(api::remove_error_class(process, between), kSuccess);
    EXPECT_EQ(process.objects->attributes.lastusedcode, 0xffff);
    EXPECT_EQ(api::add_error_class(process, &number), kSuccess);
    EXPECT_EQ(number, between);
    EXPECT_EQ(api::remove_error_class(process, 0xffff), kSuccess);
    EXPECT_EQ(process.objects->attributes.lastusedcode, 0xfffe);
  });
}

}  // namespace
}  // namespace tasuki
