// Shows when the callbacks of attributes run, in which order, what happens when they fail or change the
// attributes themselves, and the predefined attributes.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "communicator/api.hpp"
#include "datatype/call/api.hpp"
#include "object/api.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

using test::run_ranks;

/// What a test's callbacks did and are to do; the extra state of its keys.
struct Story {
  Process* process = nullptr;
  std::vector<std::string> events;
  Code copy_returns = 0;
  Code delete_returns = 0;
  bool keep = true;
  int other_keyval = 0;  // the delete callback deletes this one too
};

void* value(std::intptr_t number) {
  return reinterpret_cast<void*>(number);
}
std::intptr_t number(void* pointer) {
  return reinterpret_cast<std::intptr_t>(pointer);
}

Code on_copy(Object*, int, void* extra_state, void* in, void** out, bool* keep) {
  Story& story = *static_cast<Story*>(extra_state);
  story.events.push_back("copy " + std::to_string(number(in)));
  *out = value(number(in) + 100);
  *keep = story.keep;
  return story.copy_returns;
}

Code on_delete(Object* owner, int keyval, void* held, void* extra_state) {
  Story& story = *static_cast<Story*>(extra_state);
  story.events.push_back("delete " + std::to_string(number(held)));
  if (story.other_keyval != 0) {
    Comm* comm = static_cast<Comm*>(owner);
    // Of its own kind the attribute cannot be deleted again meanwhile.
    EXPECT_EQ(error_class_bits(api::comm_delete_attr(*story.process, comm, keyval)), kErrKeyval);
    const int other = std::exchange(story.other_keyval, 0);
    EXPECT_EQ(api::comm_delete_attr(*story.process, comm, other), kSuccess);
  }
  return story.delete_returns;
}

AnyFunction copy_function() {
  return reinterpret_cast<AnyFunction>(&on_copy);
}
AnyFunction delete_function() {
  return reinterpret_cast<AnyFunction>(&on_delete);
}

int make_keyval(Process& process, Story* story) {
  story->process = &process;
  int keyval = 0;
  EXPECT_EQ(api::comm_create_keyval(process, copy_function(), false, delete_function(), &keyval, story),
            kSuccess);
  return keyval;
}

Comm* duplicate(Process& process, Comm* comm) {
  Comm* made = nullptr;
  EXPECT_EQ(api::comm_dup(process, comm, &made), kSuccess);
  return made;
}

using Events = std::vector<std::string>;

TEST(Attribute, SetGetReplaceDelete) {
  run_ranks(1, [](Process& process) {
    Story story;
    int keyval = make_keyval(process, &story);
    Comm* comm = duplicate(process, process.objects->world);
    void* held = nullptr;
    bool flag = true;
    EXPECT_EQ(api::comm_get_attr(process, comm, keyval, &held, &flag), kSuccess);
    EXPECT_FALSE(flag);
    EXPECT_EQ(api::comm_set_attr(process, comm, keyval, value(1)), kSuccess);
    EXPECT_EQ(api::comm_set_attr(process, comm, keyval, value(2)), kSuccess);
    EXPECT_EQ(story.events, (Events{"delete 1"}));
    EXPECT_EQ(api::comm_get_attr(process, comm, keyval, &held, &flag), kSuccess);
    EXPECT_TRUE(flag);
    EXPECT_EQ(number(held), 2);
    EXPECT_EQ(api::comm_delete_attr(process, comm, keyval), kSuccess);
    EXPECT_EQ(story.events, (Events{"delete 1", "delete 2"}));
    EXPECT_EQ(error_class_bits(api::comm_delete_attr(process, comm, keyval)), kErrKeyval);
    const int copy_of_keyval = keyval;
    EXPECT_EQ(api::comm_free_keyval(process, &keyval), kSuccess);
    EXPECT_EQ(keyval, kKeyvalInvalid);
    EXPECT_EQ(error_class_bits(api::comm_set_attr(process, comm, copy_of_keyval, value(3))), kErrKeyval);
    EXPECT_EQ(error_class_bits(api::comm_get_attr(process, comm, kKeyvalInvalid, &held, &flag)), kErrKeyval);
    EXPECT_EQ(error_class_bits(api::comm_free_keyval(process, &keyval)), kErrKeyval);
    api::comm_free(process, &comm);
  });
}

TEST(Attribute, AFreedKeyWorksWhileAttributesHaveIt) {
  run_ranks(1, [](Process& process) {
    Story story;
    Comm *comm = nullptr, *copy = nullptr;
    api::comm_dup(process, process.objects->world, &comm);
    int keyval = 0;
    api::comm_create_keyval(process, copy_function(), false, delete_function(), &keyval, &story);
    const int kept = keyval;
    api::comm_set_attr(process, comm, keyval, value(1));
    EXPECT_EQ(api::comm_free_keyval(process, &keyval), kSuccess);
    int again = kept;  // the number of a key that is in use may be given back twice
    EXPECT_EQ(api::comm_free_keyval(process, &again), kSuccess);
    EXPECT_EQ(again, kKeyvalInvalid);

    ASSERT_EQ(api::comm_dup(process, comm, &copy), kSuccess);
    void* held = nullptr;
    bool flag = false;
    EXPECT_EQ(api::comm_get_attr(process, copy, kept, &held, &flag), kSuccess);
    EXPECT_TRUE(flag);
    EXPECT_EQ(number(held), 101);
    EXPECT_EQ(api::comm_delete_attr(process, comm, kept), kSuccess);
    EXPECT_EQ(api::comm_set_attr(process, copy, kept, value(2)), kSuccess);
    EXPECT_EQ(api::comm_delete_attr(process, copy, kept), kSuccess);
    EXPECT_EQ(story.events, (std::vector<std::string>{"copy 1", "delete 1", "delete 101", "delete 2"}));
    // With the last attribute the key is gone.
    EXPECT_EQ(error_class_bits(api::comm_get_attr(process, copy, kept, &held, &flag)), kErrKeyval);
    EXPECT_EQ(error_class_bits(api::comm_set_attr(process, copy, kept, value(3))), kErrKeyval);
    again = kept;
    EXPECT_EQ(error_class_bits(api::comm_free_keyval(process, &again)), kErrKeyval);
    api::comm_free(process, &comm);
    api::comm_free(process, &copy);
  });
}

TEST(Attribute, CopiedAtDuplicationDeletedInReverseAtFree) {
  run_ranks(2, [](Process& process) {
    Story story;
    int first = make_keyval(process, &story);
    int second = make_keyval(process, &story);
    int shared = 0;  // MPI_COMM_DUP_FN
    int lonely = 0;  // MPI_COMM_NULL_COPY_FN
    api::comm_create_keyval(process, nullptr, true, nullptr, &shared, nullptr);
    api::comm_create_keyval(process, nullptr, false, nullptr, &lonely, nullptr);
    Comm* comm = duplicate(process, process.objects->world);
    api::comm_set_attr(process, comm, second, value(1));
    api::comm_set_attr(process, comm, first, value(2));
    api::comm_set_attr(process, comm, shared, value(3));
    api::comm_set_attr(process, comm, lonely, value(4));
    Comm* copy = duplicate(process, comm);
    EXPECT_EQ(story.events, (Events{"copy 1", "copy 2"}));
    void* held = nullptr;
    bool flag = false;
    EXPECT_EQ(api::comm_get_attr(process, copy, first, &held, &flag), kSuccess);
    EXPECT_EQ(number(held), 102);
    EXPECT_EQ(api::comm_get_attr(process, copy, shared, &held, &flag), kSuccess);
    EXPECT_EQ(number(held), 3);
    EXPECT_EQ(api::comm_get_attr(process, copy, lonely, &held, &flag), kSuccess);
    EXPECT_FALSE(flag);
    // Keys that are freed live on with their attributes (MPI 7.7.2).
    for (int* keyval : {&first, &second, &shared, &lonely})
      EXPECT_EQ(api::comm_free_keyval(process, keyval), kSuccess);
    story.events.clear();
    EXPECT_EQ(api::comm_free(process, &copy), kSuccess);
    EXPECT_EQ(story.events, (Events{"delete 102", "delete 101"}));
    story.keep = false;
    story.events.clear();
    copy = duplicate(process, comm);
    EXPECT_EQ(copy->attributes.size(), 1u);  // the shared one
    EXPECT_EQ(api::comm_free(process, &copy), kSuccess);
    EXPECT_EQ(api::comm_free(process, &comm), kSuccess);
    EXPECT_EQ(story.events, (Events{"copy 1", "copy 2", "delete 2", "delete 1"}));
  });
}

TEST(Attribute, FailingCopyFailsTheCallOnThatRankOnly) {
  run_ranks(3, [](Process& process) {
    Story story;
    Story failing;
    int good = make_keyval(process, &story);
    int bad = make_keyval(process, &failing);
    failing.copy_returns = process.rank == 1 ? kErrNoMem : kSuccess;
    Comm* comm = duplicate(process, process.objects->world);
    api::comm_set_attr(process, comm, good, value(1));
    api::comm_set_attr(process, comm, bad, value(2));
    Comm* copy = nullptr;
    const Code code = api::comm_dup(process, comm, &copy);
    Request* request = nullptr;
    Comm* later = nullptr;
    const Code later_code = api::comm_idup(process, comm, &later, &request);
    if (process.rank == 1) {
      EXPECT_EQ(error_class_bits(code), kErrNoMem);
      EXPECT_EQ(error_class_bits(later_code), kErrNoMem);
      EXPECT_EQ(copy, nullptr);
      EXPECT_EQ(request, nullptr);
      EXPECT_EQ(story.events, (Events{"copy 1", "delete 101", "copy 1", "delete 101"}));
    } else {
      ASSERT_EQ(code, kSuccess);
      ASSERT_EQ(later_code, kSuccess);
      EXPECT_EQ(copy->attributes.size(), 2u);
      ASSERT_EQ(api::wait(process, &request, nullptr), kSuccess);
      api::comm_free(process, &copy);
      api::comm_free(process, &later);
    }
    api::comm_free(process, &comm);
    api::comm_free_keyval(process, &good);
    api::comm_free_keyval(process, &bad);
  });
}

TEST(Attribute, FailingDeleteLeavesEverythingAlive) {
  run_ranks(1, [](Process& process) {
    Story story;
    int keyval = make_keyval(process, &story);
    Comm* comm = duplicate(process, process.objects->world);
    api::comm_set_attr(process, comm, keyval, value(1));
    story.delete_returns = 12345;  // not an error class
    EXPECT_EQ(error_class_bits(api::comm_delete_attr(process, comm, keyval)), kErrOther);
    EXPECT_EQ(error_class_bits(api::comm_set_attr(process, comm, keyval, value(2))), kErrOther);
    EXPECT_EQ(error_class_bits(api::comm_free(process, &comm)), kErrOther);
    ASSERT_NE(comm, nullptr);
    void* held = nullptr;
    bool flag = false;
    EXPECT_EQ(api::comm_get_attr(process, comm, keyval, &held, &flag), kSuccess);
    EXPECT_EQ(number(held), 1);
    story.delete_returns = kSuccess;
    EXPECT_EQ(api::comm_free(process, &comm), kSuccess);
    api::comm_free_keyval(process, &keyval);
  });
}

TEST(Attribute, CallbacksMayDeleteOthers) {
  run_ranks(1, [](Process& process) {
    Story story;
    int first = make_keyval(process, &story);
    int second = make_keyval(process, &story);
    int third = make_keyval(process, &story);
    Comm* comm = duplicate(process, process.objects->world);
    api::comm_set_attr(process, comm, first, value(1));
    api::comm_set_attr(process, comm, second, value(2));
    api::comm_set_attr(process, comm, third, value(3));
    story.other_keyval = first;
    EXPECT_EQ(api::comm_free(process, &comm), kSuccess);
    EXPECT_EQ(story.events, (Events{"delete 3", "delete 1", "delete 2"}));
    for (int* keyval : {&first, &second, &third}) api::comm_free_keyval(process, keyval);
  });
}

Story finalize_story;  // lives longer than the process

TEST(Attribute, FinalizeDeletesThoseOfSelfInReverse) {
  finalize_story = {};
  run_ranks(1, [](Process& process) {
    int first = make_keyval(process, &finalize_story);
    int second = make_keyval(process, &finalize_story);
    api::comm_set_attr(process, process.objects->self, second, value(1));
    api::comm_set_attr(process, process.objects->self, first, value(2));
    api::comm_set_attr(process, process.objects->self, second, value(3));  // set anew: now the last
    EXPECT_EQ(finalize_story.events, (Events{"delete 1"}));
  });
  EXPECT_EQ(finalize_story.events, (Events{"delete 1", "delete 3", "delete 2"}));
}

TEST(Attribute, KindsDoNotMix) {
  run_ranks(1, [](Process& process) {
    int of_type = 0;
    int of_comm = 0;
    int of_win = 0;
    api::type_create_keyval(process, nullptr, true, nullptr, &of_type, nullptr);
    api::comm_create_keyval(process, nullptr, true, nullptr, &of_comm, nullptr);
    api::win_create_keyval(process, nullptr, true, nullptr, &of_win, nullptr);
    Comm* world = process.objects->world;
    EXPECT_EQ(error_class_bits(api::comm_set_attr(process, world, of_type, value(1))), kErrKeyval);
    EXPECT_EQ(error_class_bits(api::comm_free_keyval(process, &of_win)), kErrKeyval);
    Datatype* type = nullptr;
    ASSERT_EQ(api::type_contiguous(process, 2, predefined_object<Datatype>(*process.objects, kMpiInt), &type,
                                   false),
              kSuccess);
    EXPECT_EQ(error_class_bits(api::type_set_attr(process, type, of_comm, value(1))), kErrKeyval);
    EXPECT_EQ(api::type_set_attr(process, type, of_type, value(7)), kSuccess);
    Datatype* copy = nullptr;
    ASSERT_EQ(api::type_dup(process, type, &copy), kSuccess);
    void* held = nullptr;
    bool flag = false;
    EXPECT_EQ(api::type_get_attr(process, copy, of_type, &held, &flag), kSuccess);
    EXPECT_TRUE(flag);
    EXPECT_EQ(number(held), 7);
    EXPECT_EQ(api::type_delete_attr(process, copy, of_type), kSuccess);
    api::type_free(process, &type);
    api::type_free(process, &copy);
    EXPECT_EQ(api::type_free_keyval(process, &of_type), kSuccess);
    EXPECT_EQ(api::comm_free_keyval(process, &of_comm), kSuccess);
    EXPECT_EQ(api::win_free_keyval(process, &of_win), kSuccess);
  });
}

TEST(Attribute, PredefinedOnes) {
  run_ranks(2, [](Process& process) {
    Comm* world = process.objects->world;
    const auto get = [&](int keyval) -> int* {
      void* held = nullptr;
      bool flag = false;
      EXPECT_EQ(api::comm_get_attr(process, world, keyval, &held, &flag), kSuccess);
      return flag ? static_cast<int*>(held) : nullptr;
    };
    EXPECT_EQ(*get(kTagUb), kTagMax);
    EXPECT_EQ(*get(kHost), kProcNull);
    EXPECT_EQ(*get(kIo), kAnySource);
    EXPECT_EQ(*get(kUniverseSize), 2);
    EXPECT_EQ(get(kAppnum), nullptr);  // the test world does not know it
    EXPECT_GE(*get(kLastusedcode), static_cast<int>(kErrLastcode));
    EXPECT_EQ(error_class_bits(api::comm_set_attr(process, world, kTagUb, value(1))), kErrKeyval);
    EXPECT_EQ(error_class_bits(api::comm_delete_attr(process, world, kUniverseSize)), kErrKeyval);
    int keyval = kTagUb;
    EXPECT_EQ(error_class_bits(api::comm_free_keyval(process, &keyval)), kErrKeyval);
  });
}

}  // namespace
}  // namespace tasuki
