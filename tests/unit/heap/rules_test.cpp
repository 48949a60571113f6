// The rules of the heap over a table of facts, and the facts of this very process.
#include "heap/choice/rules.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstring>
#include <initializer_list>
#include <utility>
#include <vector>

#include "heap/choice/facts.hpp"

namespace tasuki::heap {
namespace {

/// Two ranks, no limit, and huge pages only where they are asked for.
Facts ordinary() {
  Facts facts;
  facts.ranks = 2;
  facts.private_huge_pages = HugePages::kAdvise;
  return facts;
}

struct Case {
  const char* what;
  void (*change)(Facts&);
  bool auto_is_global;
  bool global_is_global;
  const char* reason;  // a word of what auto says
};

constexpr Case kCases[] = {
    {"nothing special", [](Facts&) {}, true, true, "nothing speaks against it"},
    {"many ranks", [](Facts& f) { f.ranks = 256; }, true, true, "nothing"},
    {"ranks not told", [](Facts& f) { f.ranks = 0; }, true, true, "nothing"},
    {"one rank", [](Facts& f) { f.ranks = 1; }, false, true, "one rank"},
    {"ulimit -v", [](Facts& f) { f.address_space_bytes_max = 1ull << 40; }, false, true, "ulimit -v"},
    {"ulimit -d", [](Facts& f) { f.data_bytes_max = 1ull << 30; }, false, true, "ulimit -d"},
    {"ulimit -f", [](Facts& f) { f.file_bytes_max = 1ull << 30; }, false, true, "ulimit -f"},
    {"overcommit 2", [](Facts& f) { f.strict_overcommit = true; }, false, true, "overcommit"},
    {"no memfd", [](Facts& f) { f.memfd = false; }, false, false, "memfd_create"},
    {"short addresses", [](Facts& f) { f.heap_addresses = false; }, false, false, "2^46"},
    {"setuid", [](Facts& f) { f.privileged = true; }, false, false, "privileges"},
    {"sanitizer", [](Facts& f) { f.sanitizer = "XSanitizer is here"; }, false, false, "XSanitizer"},
    {"valgrind", [](Facts& f) { f.valgrind = true; }, false, false, "valgrind"},
    {"own malloc", [](Facts& f) { f.other_allocator = kSomeAllocator; }, false, false, "malloc of its own"},
    {"huge pages for private memory alone", [](Facts& f) { f.private_huge_pages = HugePages::kAlways; },
     false, true, "huge pages"},
    {"huge pages for private memory, and for files of a tmpfs of our own",
     [](Facts& f) {
       f.private_huge_pages = HugePages::kAlways;
       f.huge_file = true;
     },
     true, true, "nothing"},
    {"huge pages for both, shared when asked",
     [](Facts& f) {
       f.private_huge_pages = HugePages::kAlways;
       f.shared_huge_pages = HugePages::kAdvise;
     },
     true, true, "nothing"},
    {"huge pages for both",
     [](Facts& f) {
       f.private_huge_pages = HugePages::kAlways;
       f.shared_huge_pages = HugePages::kAlways;
     },
     true, true, "nothing"},
    {"huge pages for nobody", [](Facts& f) { f.private_huge_pages = HugePages::kNever; }, true, true,
     "nothing"},
};

TEST(HeapRules, AnswerTheTableOfFacts) {
  for (const Case& row : kCases) {
    Facts facts = ordinary();
    row.change(facts);
    const Verdict automatic = decide(Wish::kAuto, facts);
    EXPECT_EQ(automatic.global, row.auto_is_global) << row.what;
    EXPECT_NE(std::strstr(automatic.reason, row.reason), nullptr) << row.what << ": " << automatic.reason;
    EXPECT_EQ(decide(Wish::kGlobal, facts).global, row.global_is_global) << row.what;
    for (Wish wish : {Wish::kUnknown, Wish::kPrivate}) {
      EXPECT_FALSE(decide(wish, facts).global) << row.what;
      EXPECT_STRNE(decide(wish, facts).reason, "") << row.what;
    }
  }
}

// A tool that watches memory has to see what MPI_Alloc_mem gives, too; a program with a malloc of its own
// need not.
TEST(HeapRules, MakeNoHeapWhereMemoryIsWatched) {
  for (const Wish wish : {Wish::kNone, Wish::kAuto, Wish::kGlobal, Wish::kPrivate}) {
    Facts facts = ordinary();
    EXPECT_TRUE(decide(wish, facts).symmetric_heap);
    facts.other_allocator = kSomeAllocator;
    EXPECT_TRUE(decide(wish, facts).symmetric_heap);
    facts.valgrind = true;
    EXPECT_FALSE(decide(wish, facts).symmetric_heap);
    facts.valgrind = false;
    facts.sanitizer = "XSanitizer is here";
    EXPECT_FALSE(decide(wish, facts).symmetric_heap);
  }
}

TEST(HeapFacts, KnowLibrariesByTheNamesOfTheirFiles) {
  const auto reason = [](const char* file) -> const char* {
    for (const Companion& one : kSanitizers)
      if (is_library_of(one, file)) return one.reason;
    for (const Companion& one : kAllocators)
      if (is_library_of(one, file)) return one.reason;
    return "";
  };
  EXPECT_NE(std::strstr(reason("libasan.so.8"), "AddressSanitizer"), nullptr);
  EXPECT_NE(std::strstr(reason("/x/libclang_rt.asan-x86_64.so"), "AddressSanitizer"), nullptr);
  EXPECT_NE(std::strstr(reason("/x/libtsan.so.2"), "ThreadSanitizer"), nullptr);
  EXPECT_NE(std::strstr(reason("libjemalloc.so.2"), "jemalloc"), nullptr);
  EXPECT_NE(std::strstr(reason("/usr/lib/libtcmalloc_minimal.so.4"), "tcmalloc"), nullptr);
  EXPECT_STREQ(reason("libubsan.so.1"), "");
  EXPECT_STREQ(reason("libc.so.6"), "");
  EXPECT_STREQ(reason("/libasan.so/libother.so"), "");
  EXPECT_STREQ(reason(""), "");
}

// Without a wish a rank of a job is as with auto, and a program that runs alone as without the library.
TEST(HeapRules, NeedNoWishInAJob) {
  Facts facts = ordinary();
  EXPECT_TRUE(decide(Wish::kNone, facts).global);
  facts.private_huge_pages = HugePages::kAlways;
  EXPECT_FALSE(decide(Wish::kNone, facts).global);
  facts = ordinary();
  facts.ranks = 0;
  EXPECT_FALSE(decide(Wish::kNone, facts).global);
}

// The symmetric heap gets madvise where private memory would have huge pages without it, and nowhere else: a
// program must not take more memory than it did.
TEST(HeapRules, AdviseHugePagesOnlyWherePrivateMemoryHasThem) {
  Facts facts = ordinary();
  EXPECT_FALSE(decide(Wish::kAuto, facts).advise_huge_pages);
  facts.shared_huge_pages = HugePages::kAdvise;
  EXPECT_FALSE(decide(Wish::kGlobal, facts).advise_huge_pages);
  facts.private_huge_pages = HugePages::kAlways;
  EXPECT_TRUE(decide(Wish::kAuto, facts).advise_huge_pages);
  EXPECT_FALSE(decide(Wish::kPrivate, facts).advise_huge_pages);
}

// A memfd is as good where it has huge pages, and where private memory has none.
TEST(HeapRules, PutTheHeapIntoAHugeFileOnlyWhereAMemfdIsWorse) {
  Facts facts = ordinary();
  facts.huge_file = true;
  EXPECT_FALSE(decide(Wish::kAuto, facts).huge_file);
  facts.private_huge_pages = HugePages::kAlways;
  EXPECT_TRUE(decide(Wish::kAuto, facts).huge_file);
  EXPECT_TRUE(decide(Wish::kAuto, facts).advise_huge_pages);
  EXPECT_FALSE(decide(Wish::kPrivate, facts).huge_file);
  facts.shared_huge_pages = HugePages::kAdvise;
  EXPECT_FALSE(decide(Wish::kAuto, facts).huge_file);
  facts.shared_huge_pages = HugePages::kNever;
  facts.huge_file = false;
  EXPECT_FALSE(decide(Wish::kGlobal, facts).huge_file);
}

TEST(HeapRules, ReadTheWish) {
  EXPECT_EQ(read_wish(nullptr), Wish::kNone);
  EXPECT_EQ(read_wish(""), Wish::kNone);
  EXPECT_EQ(read_wish("auto"), Wish::kAuto);
  EXPECT_EQ(read_wish("global"), Wish::kGlobal);
  EXPECT_EQ(read_wish("private"), Wish::kPrivate);
  EXPECT_EQ(read_wish("Global"), Wish::kUnknown);
  EXPECT_EQ(read_wish("globally"), Wish::kUnknown);
}

TEST(HeapFacts, FindVariables) {
  const char* const environment[] = {"TASUKI_SIZES=9", "TASUKI_SIZE=4", "TASUKI_SIZE=5", "EMPTY=", nullptr};
  EXPECT_STREQ(find_variable(environment, "TASUKI_SIZE"), "4");
  EXPECT_STREQ(find_variable(environment, "EMPTY"), "");
  EXPECT_EQ(find_variable(environment, "TASUKI"), nullptr);
  EXPECT_EQ(find_variable(nullptr, "TASUKI"), nullptr);
}

TEST(HeapFacts, ReadWhatTheKernelHasChosen) {
  EXPECT_TRUE(is_chosen("always [madvise] never\n", "madvise"));
  EXPECT_FALSE(is_chosen("always [madvise] never\n", "always"));
  EXPECT_FALSE(is_chosen("always [madvise] never\n", "mad"));
  EXPECT_FALSE(is_chosen("always madvise never\n", "always"));
  EXPECT_FALSE(is_chosen("", "always"));
  EXPECT_TRUE(is_chosen("always within_size advise never deny [force]", "force"));
}

TEST(HeapFacts, ComeFromThisProcess) {
  const char* const environment[] = {"TASUKI_SIZE=7", nullptr};
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit less = before;
  less.rlim_cur = 1 << 20;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &less), 0);
  const Facts facts = gather_facts(environment, nullptr);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(facts.ranks, 7);
  EXPECT_EQ(facts.file_bytes_max, 1u << 20);
  EXPECT_FALSE(facts.privileged);
  EXPECT_FALSE(facts.valgrind);
  EXPECT_EQ(facts.other_allocator, nullptr);
#if !defined(__SANITIZE_THREAD__)
  EXPECT_TRUE(facts.heap_addresses);
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  EXPECT_NE(facts.sanitizer, nullptr);
#else
  EXPECT_EQ(facts.sanitizer, nullptr);
#endif
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(HeapFacts, AddressesReachAsFarWhereverTheStackLies) {
  constexpr std::size_t kBytes = 1 << 20;
  void* const low = reinterpret_cast<void*>(std::uintptr_t{0x10'0000'0000});
  void* const stack = mmap(low, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_EQ(stack, low);
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstack(&attributes, stack, kBytes), 0);
  Facts facts;
  const auto gather = [](void* there) -> void* {
    *static_cast<Facts*>(there) = gather_facts(nullptr, nullptr);
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, gather, &facts), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_TRUE(facts.heap_addresses);
  EXPECT_TRUE(decide(Wish::kGlobal, facts).global) << decide(Wish::kGlobal, facts).reason;
  pthread_attr_destroy(&attributes);
  munmap(stack, kBytes);
}

TEST(HeapFacts, AddressesThatAreInUseAreThere) {
  constexpr std::size_t kBytes = 65536;
  void* const last = reinterpret_cast<void*>(kHeapAddressEnd - kBytes);
  ASSERT_EQ(mmap(last, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), last);
  EXPECT_TRUE(gather_facts(nullptr, nullptr).heap_addresses);
  munmap(last, kBytes);
}
#endif

TEST(HeapFacts, TellValgrindAndOtherAllocators) {
  const char* const watched[] = {"LD_PRELOAD=/usr/libexec/valgrind/vgpreload_core-amd64-linux.so", nullptr};
  EXPECT_TRUE(gather_facts(watched, nullptr).valgrind);
  const char* const other[] = {"LD_PRELOAD=/usr/lib/libsomething.so", nullptr};
  EXPECT_FALSE(gather_facts(other, nullptr).valgrind);
  int not_malloc = 0;
  EXPECT_NE(gather_facts(other, &not_malloc).other_allocator, nullptr);
  EXPECT_FALSE(finds_malloc_at(&not_malloc));
}

TEST(HeapFacts, ThePlaceInTheJobIsThatOfTheNearestLauncher) {
  const auto place = [](std::initializer_list<const char*> variables) {
    std::vector<const char*> environment(variables);
    environment.push_back(nullptr);
    const JobPlace found = job_place(environment.data());
    return std::pair(found.rank, found.ranks);
  };
  EXPECT_EQ(place({}), std::pair(0, 0));
  EXPECT_EQ(place({"TASUKI_RANK=2", "TASUKI_SIZE=4"}), std::pair(2, 4));
  EXPECT_EQ(place({"TASUKI_RANK=0", "TASUKI_SIZE=1", "PMI_SIZE=3", "PMI_RANK=1"}), std::pair(1, 3));
  EXPECT_EQ(place({"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2"}), std::pair(1, 2));
  EXPECT_EQ(place({"SLURM_PROCID=3", "SLURM_STEP_NUM_TASKS=4"}), std::pair(3, 4));
  EXPECT_EQ(place({"PMI_RANK=4", "PMI_SIZE=4"}), std::pair(0, 0));
  EXPECT_EQ(place({"PMI_RANK=-1", "PMI_SIZE=4", "TASUKI_RANK=1", "TASUKI_SIZE=2"}), std::pair(1, 2));
  EXPECT_EQ(place({"PMI_RANK=1"}), std::pair(0, 0));
}

}  // namespace
}  // namespace tasuki::heap
