// Directory: what all implementations share.
#include "job/directory.hpp"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace tasuki {
namespace {

constexpr int kYields = 1000;  // of a rank at a fence, before it sleeps between its looks
constexpr long kPauseNs = 200'000;

bool is_key(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char character) {
    return character > ' ' && character < 0x7f && character != ';' && character != '=';
  });
}

}  // namespace

std::string Directory::processor_name(std::size_t characters_max) const {
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0) std::snprintf(host, sizeof host, "localhost");
  const std::string node = has_virtual_nodes() ? ".node" + std::to_string(this->node(rank())) : std::string();
  return std::string(host).substr(0, characters_max - node.size()) + node;
}

bool Directory::put(std::string_view key, std::string_view value, std::string* error) {
  if (key.size() > kKeyBytesMax) {
    *error = "a key of " + std::to_string(key.size()) + " characters, at most " +
             std::to_string(kKeyBytesMax) + " are possible";
  } else if (!is_key(key)) {
    *error = "\"" + std::string(key) + "\" is no key: it is empty, or has a blank, ';' or '='";
  } else if (value.size() > kValueBytesMax) {
    *error = "the value of \"" + std::string(key) + "\" has " + std::to_string(value.size()) +
             " bytes, at most " + std::to_string(kValueBytesMax) + " are possible";
  } else {
    return put_checked(key, value, error);
  }
  return false;
}

bool Directory::wait_at_fence(std::string* error) {
  for (int looks = 0;; ++looks) {
    const Fence fence = look_at_fence(error);
    if (fence != Fence::kOpen) return fence == Fence::kOver;
    if (looks < kYields) {
      sched_yield();
    } else {
      const timespec pause{0, kPauseNs};
      nanosleep(&pause, nullptr);
    }
  }
}

}  // namespace tasuki
