// What one round of the stress test sends: a list of messages that all ranks draw from the same seed.
//
// The list is a total order, and that is what makes blocking calls possible: a rank blocks in message i only
// when it has begun all its parts of the messages before i, so the rank with the smallest number goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace stress {

using Random = std::mt19937_64;

inline std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

inline int below(Random& random, int end) {
  return static_cast<int>(random() % static_cast<std::uint64_t>(end));
}

inline bool one_in(Random& random, int n) {
  return below(random, n) == 0;
}

// The communicators of a thread. Their ranks are not those of the world in all of them (Actor::peer_of).
enum CommIndex { kWorld, kReversed, kInter, kReady, kShared, kComms };
enum class Mode { kStandard, kSynchronous, kBuffered, kReady };

constexpr int kTags = 3;
constexpr std::size_t kBufferedBytesMax = 64 * 1024;

struct Message {
  int number;
  int source, dest;  // ranks in the world
  int comm, tag;
  std::size_t bytes;
  Mode mode;
};

/// What the messages of a round are like.
struct Profile {
  std::size_t bytes_max;
  int messages;
  int window;          // how far ahead of its turn a part may be begun
  int wildcards;       // one receive in so many has one; 0: none
  int place;           // where all buffers lie (Place); -1: anywhere
  bool plain;          // no derived datatypes
  bool receive_first;  // begins receives before sends where it can
};

struct Plan {
  std::uint64_t seed;
  Profile profile;
  std::vector<Message> messages;
};

/// A size on or beside a power of two, where protocols change, or any.
inline std::size_t draw_size(Random& random, std::size_t max) {
  int bits = 0;
  while ((std::size_t{1} << (bits + 1)) <= max) ++bits;
  std::size_t size = std::size_t{1} << below(random, bits + 1);
  switch (below(random, 8)) {
    case 0:
      size = 0;
      break;
    case 1:
      size = 32 + static_cast<std::size_t>(below(random, 40));  // what fits in a slot
      break;
    case 2:
    case 3:
      size += random() % (size + 1);
      break;
    case 4:
      size = size * 3 / 2;
      break;
    default:
      size += static_cast<std::size_t>(below(random, 3)) - 1;
  }
  return size > max ? max : size;
}

inline Profile draw_profile(Random& random, int ranks, std::size_t bytes_max, int places) {
  constexpr std::size_t kLimits[] = {64, 2048, 16 * 1024, 128 * 1024, 1024 * 1024, 8 * 1024 * 1024};
  constexpr int kMessages[] = {60, 50, 40, 24, 10, 4};
  const int level = below(random, 6);
  Profile profile{};
  profile.bytes_max = std::min(kLimits[level], bytes_max);
  profile.messages = std::max(4, std::min(kMessages[level] * ranks, 240));
  profile.window = 1 + below(random, one_in(random, 3) ? 24 : 4);
  profile.wildcards = below(random, 5);
  profile.place = one_in(random, 2) ? below(random, places) : -1;
  profile.plain = one_in(random, 2);
  profile.receive_first = one_in(random, 3);
  return profile;
}

inline Message draw_message(Random& random, const Profile& profile, int number, int ranks, int thread) {
  Message message{};
  message.number = number;
  message.comm = below(random, kComms);
  message.source = below(random, ranks);
  message.dest = below(random, ranks);
  if (message.dest == message.source && !one_in(random, 4)) message.dest = (message.dest + 1) % ranks;
  if (message.comm == kInter && (message.source - message.dest) % 2 == 0) message.comm = kReversed;
  message.tag = below(random, kTags) + (message.comm == kShared ? thread * kTags : 0);
  message.bytes = draw_size(random, profile.bytes_max);
  message.mode = message.comm == kReady ? Mode::kReady
                 : one_in(random, 5)    ? Mode::kSynchronous
                 : one_in(random, 8)    ? Mode::kBuffered
                                        : Mode::kStandard;
  if (message.mode == Mode::kBuffered && message.bytes > kBufferedBytesMax) message.mode = Mode::kStandard;
  return message;
}

/// The same at all ranks for the same arguments.
inline Plan draw_plan(std::uint64_t seed, int ranks, int thread, std::size_t bytes_max, int places) {
  Random random(mix(seed + 1000003 * static_cast<std::uint64_t>(thread)));
  Plan plan{mix(seed), draw_profile(random, ranks, bytes_max, places), {}};
  for (int number = 0; number < plan.profile.messages; ++number) {
    Message message = draw_message(random, plan.profile, number, ranks, thread);
    // Runs of messages that differ in nothing: persistent requests live from them.
    if (number > 0 && one_in(random, 3)) {
      message = plan.messages.back();
      message.number = number;
    }
    plan.messages.push_back(message);
  }
  return plan;
}

/// What a message holds: words that tell message and place, after a header where one fits. `issue`: how many
/// its sender had sent before it to the same rank on the same communicator.
struct Header {
  std::uint64_t number, bytes, issue;
};

inline void fill_content(const Plan& plan, const Message& message, std::uint64_t issue, unsigned char* to) {
  const std::uint64_t key = mix(plan.seed + static_cast<std::uint64_t>(message.number));
  std::size_t at = 0;
  for (; at < message.bytes; at += 8) {
    const std::uint64_t word = (key + at) * 0x9e3779b97f4a7c15U;
    __builtin_memcpy(to + at, &word, std::min<std::size_t>(8, message.bytes - at));
  }
  const Header header{key, message.bytes, issue};
  if (message.bytes >= sizeof header) __builtin_memcpy(to, &header, sizeof header);
}

}  // namespace stress
