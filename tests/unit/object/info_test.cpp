// Shows that info objects keep their keys in order, check lengths, and what MPI_INFO_ENV holds.
#include <gtest/gtest.h>

#include <string>

#include "object/api.hpp"
#include "object/objects.hpp"
#include "support/world.hpp"

namespace tasuki {
namespace {

using test::run_ranks;

TEST(Info, SetGetDelete) {
  run_ranks(1, [](Process& process) {
    Info* info = nullptr;
    ASSERT_EQ(api::info_create(process, &info), kSuccess);
    EXPECT_EQ(api::info_set(process, info, "b", "1"), kSuccess);
    EXPECT_EQ(api::info_set(process, info, "a", "22"), kSuccess);
    EXPECT_EQ(api::info_set(process, info, "b", "333"), kSuccess);  // keeps its place
    int keys = 0;
    EXPECT_EQ(api::info_get_nkeys(process, info, &keys), kSuccess);
    EXPECT_EQ(keys, 2);
    std::string text;
    EXPECT_EQ(api::info_get_nthkey(process, info, 0, &text), kSuccess);
    EXPECT_EQ(text, "b");
    bool flag = false;
    EXPECT_EQ(api::info_get_string(process, info, "b", &text, &flag), kSuccess);
    EXPECT_TRUE(flag);
    EXPECT_EQ(text, "333");
    int length = 0;
    EXPECT_EQ(api::info_get_valuelen(process, info, "a", &length, &flag), kSuccess);
    EXPECT_EQ(length, 2);

    Info* copy = nullptr;
    ASSERT_EQ(api::info_dup(process, info, &copy), kSuccess);
    EXPECT_EQ(api::info_delete(process, info, "b"), kSuccess);
    EXPECT_EQ(error_class_bits(api::info_delete(process, info, "b")), kErrInfoNokey);
    text = "kept";
    EXPECT_EQ(api::info_get_string(process, info, "b", &text, &flag), kSuccess);
    EXPECT_FALSE(flag);
    EXPECT_EQ(text, "kept");
    EXPECT_EQ(copy->entries.size(), 2u);
    for (Info* one : {info, copy}) {
      EXPECT_EQ(api::info_free(process, &one), kSuccess);
      EXPECT_EQ(one, nullptr);
    }
  });
}

TEST(Info, RefusesWhatDoesNotFit) {
  run_ranks(1, [](Process& process) {
    Info* info = nullptr;
    ASSERT_EQ(api::info_create(process, &info), kSuccess);
    EXPECT_EQ(api::info_set(process, info, "fits", "1"), kSuccess);
    EXPECT_EQ(error_class_bits(api::info_set(process, info, "", "1")), kErrInfoKey);
    std::string text;
    bool flag = false;
    EXPECT_EQ(error_class_bits(api::info_get_string(process, info, "", &text, &flag)), kErrInfoKey);
    EXPECT_EQ(error_class_bits(api::info_get_nthkey(process, info, 1, &text)), kErrArg);
    EXPECT_EQ(error_class_bits(api::info_get_nthkey(process, info, -1, &text)), kErrArg);
    EXPECT_EQ(info->entries.size(), 1u);
    api::info_free(process, &info);
  });
}

TEST(Info, EnvironmentOfTheProgram) {
  test::WorldOptions options;
  options.thread_level = ThreadLevel::kMultiple;
  const auto body = [](Process& process) {
    Info* environment = predefined_object<Info>(*process.objects, kMpiInfoEnv);
    ASSERT_NE(find_info(environment, "command"), nullptr);
    EXPECT_NE(find_info(environment, "command")->find("unit_object"), std::string::npos);
    EXPECT_EQ(*find_info(environment, "maxprocs"), "2");
    EXPECT_EQ(*find_info(environment, "thread_level"), "MPI_THREAD_MULTIPLE");
    EXPECT_NE(find_info(environment, "wdir"), nullptr);
    EXPECT_NE(find_info(environment, "host"), nullptr);
    EXPECT_EQ(error_class_bits(api::info_set(process, environment, "wdir", "/")), kErrInfo);
    EXPECT_EQ(error_class_bits(api::info_delete(process, environment, "wdir")), kErrInfo);
    EXPECT_EQ(error_class_bits(api::info_free(process, &environment)), kErrInfo);

    char program[] = "prog";
    char first[] = "-n";
    char second[] = "5";
    char* arguments[] = {program, first, second, nullptr};
    Info* made = nullptr;
    ASSERT_EQ(api::info_create_env(process, 3, arguments, &made), kSuccess);
    EXPECT_EQ(*find_info(made, "command"), "prog");
    EXPECT_EQ(*find_info(made, "argv"), "-n 5");
    api::info_free(process, &made);
    ASSERT_EQ(api::info_create_env(process, 0, nullptr, &made), kSuccess);
    EXPECT_NE(find_info(made, "command")->find("unit_object"), std::string::npos);
    api::info_free(process, &made);
  };
  run_ranks(2, body, options);
}

}  // namespace
}  // namespace tasuki
