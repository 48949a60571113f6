// The rules of TASUKI_HEAP=auto. When in doubt, private: slower messages, and nothing else changes.
#include "heap/rules.hpp"

#include <dlfcn.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>

namespace tasuki::heap {
namespace {

Wish read_wish() {
  const char* text = std::getenv("TASUKI_HEAP");
  if (text == nullptr || std::strcmp(text, "auto") == 0) return Wish::kAuto;
  return std::strcmp(text, "global") == 0 ? Wish::kGlobal : Wish::kPrivate;
}

bool is_loaded(const char* symbol) {
  return dlsym(RTLD_DEFAULT, symbol) != nullptr;
}

}  // namespace

Facts gather_facts(int ranks, bool in_front) {
  Facts facts;
  facts.wish = read_wish();
  facts.ranks = ranks;
  facts.in_front = in_front;
  facts.sanitizer = is_loaded("__asan_init") || is_loaded("__tsan_init") || is_loaded("__lsan_enable") ||
                    is_loaded("__msan_init") || is_loaded("__hwasan_init");
  const char* preloaded = std::getenv("LD_PRELOAD");
  facts.valgrind = preloaded != nullptr && std::strstr(preloaded, "vgpreload") != nullptr;
  rlimit limit{};
  facts.address_limit = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return facts;
}

Decision decide(const Facts& facts) {
  if (facts.wish == Wish::kPrivate) return {false, "TASUKI_HEAP=private"};
  if (!facts.in_front) return {false, "another library is this program's malloc"};
  if (facts.sanitizer) return {false, "a sanitizer watches this program's memory"};
  if (facts.valgrind) return {false, "valgrind watches this program's memory"};
  if (facts.wish == Wish::kGlobal) return {true, "TASUKI_HEAP=global"};
  if (facts.ranks < 2) return {false, "there are no other ranks"};
  if (facts.address_limit) return {false, "the address space is limited (ulimit -v)"};
  if (!facts.fork_is_safe) return {false, "a forked child would share its parent's heap"};
  return {true, "auto"};
}

}  // namespace tasuki::heap
