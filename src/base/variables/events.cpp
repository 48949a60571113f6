// The table of events.
#include "base/variables/events.hpp"

namespace tasuki {
namespace {

constexpr const char* kMessageItems[] = {"source", "tag", "bytes", "protocol"};
constexpr const char* kSendItems[] = {"destination", "tag", "bytes", "protocol"};
constexpr const char* kWakeItems[] = {"nanoseconds"};
constexpr const char* kCommItems[] = {"context", "size", "rank"};

constexpr EnumRow kMessage = {"unexpected_message_elements", kMessageItems, 4};
constexpr EnumRow kSend = {"send_chosen_elements", kSendItems, 4};
constexpr EnumRow kWake = {"wake_elements", kWakeItems, 1};
constexpr EnumRow kComm = {"communicator_elements", kCommItems, 3};

constexpr EventRow kTable[] = {
    {"unexpected_message", Verbosity::kUserDetail, Part::kMatching, &kMessage,
     "a message arrived before its receive: the sender's rank in the communicator, the tag, the bytes, the "
     "protocol (0 short, 1 eager, 2 long)"},
    {"send_chosen", Verbosity::kTunerDetail, Part::kProtocol, &kSend,
     "a send that is not short and at once took a protocol: the destination's rank in the communicator, the "
     "tag, the bytes, the protocol (0 short, 1 eager, 2 long, 3 write)"},
    {"sleep", Verbosity::kTunerDetail, Part::kProgress, nullptr, "the rank falls asleep while it waits"},
    {"wake", Verbosity::kTunerDetail, Part::kProgress, &kWake,
     "the rank woke up: how long it slept, in nanoseconds"},
    {"communicator_created", Verbosity::kUserDetail, Part::kObjects, &kComm,
     "a communicator was made: its number in the job, its size, this process's rank"},
    {"communicator_freed", Verbosity::kUserDetail, Part::kObjects, &kComm,
     "a communicator is gone: its number in the job, its size, this process's rank"},
};
static_assert(std::size(kTable) == kEvents);

}  // namespace

std::span<const EventRow> event_table() {
  return kTable;
}

}  // namespace tasuki
