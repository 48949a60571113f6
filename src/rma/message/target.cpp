// Messenger: what the target does. Everything in a message is checked before it is used.
#include <algorithm>
#include <cstring>
#include <string>

#include "datatype/layout.hpp"
#include "datatype/wire_type.hpp"
#include "job/launcher.hpp"
#include "p2p/core_calls.hpp"
#include "p2p/point_to_point.hpp"
#include "rma/message/messenger.hpp"

namespace tasuki::rma {
namespace {

/// Whether [address, address + bytes) lies in one region, or in several of which each begins where the one
/// before it ends. REQUIRES: bytes > 0.
bool is_covered(const std::vector<Region>& attached, std::uintptr_t address, Count bytes) {
  const std::uintptr_t end = address + static_cast<std::uintptr_t>(bytes);
  if (end < address) return false;
  auto region = std::upper_bound(attached.begin(), attached.end(), address,
                                 [](std::uintptr_t place, const Region& one) { return place < one.begin(); });
  if (region == attached.begin()) return false;
  for (--region; region != attached.end() && region->begin() <= address; ++region) {
    address = std::max(address, region->end());
    if (address >= end) return true;
  }
  return false;
}

struct Search {
  const std::vector<Region>& attached;
  bool found = true;
};

/// Whether every byte of the elements is there. `bytes` is the size of the window's part, or -1 for a dynamic
/// window.
bool is_inside(const Win& win, std::byte* base, Count count, const Datatype& type, Count bytes) {
  if (count == 0 || type.size == 0) return true;
  __extension__ typedef __int128 Wide;
  const Wide first = type.true_lb;
  const Wide last = first + Wide{count - 1} * type.extent;
  const Wide low = std::min(first, last);
  const Wide high = std::max(first, last) + type.true_extent;
  if (bytes >= 0) {
    const Part& own = win.parts[static_cast<std::size_t>(win.comm->rank)];
    const Wide offset = base - own.base;
    return offset + low >= 0 && offset + high <= bytes;
  }
  return high - low <= INT64_MAX &&
         is_covered(win.attached, reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(low),
                    static_cast<Count>(high - low));
}

}  // namespace

bool is_attached(const Win& win, Count address, Count count, const Datatype& type) {
  auto* base = reinterpret_cast<std::byte*>(address);
  if (is_inside(win, base, count, type, -1)) return true;
  if (type.contiguous) return false;
  // A type may reach into several regions, and over what lies between them.
  Search search{win.attached};
  visit_runs(
      {static_cast<std::uintptr_t>(address), count, type.extent, *type.layout}, 0, count * type.size,
      [](void* context, std::byte* place, Count bytes) {
        Search& one = *static_cast<Search*>(context);
        one.found = one.found && is_covered(one.attached, reinterpret_cast<std::uintptr_t>(place), bytes);
      },
      &search);
  return search.found;
}

void Messenger::damaged(int from, const char* what) {
  process_.launcher.end_damaged(win_.comm->endpoint(from),
                                "a message for " + win_.description() + ": " + what);
}

void Messenger::handle_batch(int from, const std::byte* batch, Count bytes) {
  auto left = static_cast<std::size_t>(bytes);
  do {
    Header header;
    if (left < sizeof header) damaged(from, "shorter than its header");
    std::memcpy(&header, batch, sizeof header);
    batch += sizeof header;
    left -= sizeof header;
    const std::size_t payload_bytes = (header.flags & kHasPayload) != 0 ? header.bytes : 0;
    const std::size_t padding = -payload_bytes % kMessageAlignment;
    if (payload_bytes > left || padding > left - payload_bytes) damaged(from, "of a wrong size");
    handle(from, header, payload_bytes != 0 ? batch : nullptr, payload_bytes);
    batch += payload_bytes + padding;
    left -= payload_bytes + padding;
  } while (left != 0);
}

void Messenger::handle(int from, const Header& header, const std::byte* payload, std::size_t payload_bytes) {
  switch (header.verb) {
    case Verb::kFetched:
      return fetched(from, header, payload);
    case Verb::kFlush:
      return asked_to_flush(from, header);
    case Verb::kFlushed:
      if (header.tag - peer(from).flushes_done > peer(from).flushes_sent - peer(from).flushes_done)
        damaged(from, "an answer to nothing that was asked");
      peer(from).flushes_done = header.tag;
      return;
    case Verb::kType:
      return receive_type(from, header, payload, payload_bytes);
    case Verb::kForgetTypes:
      peer(from).types.clear();
      return;
    case Verb::kRefused:
      if (win_.pending_error == 0) {
        win_.pending_error = process_.fail(
            kErrRmaRange, "target_disp = %lld: no memory is attached there at rank %d, expected some",
            static_cast<long long>(header.offset), from);
      }
      return;
    case Verb::kControl:
      if (win_.control->served() == nullptr) damaged(from, "for locks that are shared");
      return win_.control->served()->handle(from, static_cast<ControlVerb>(header.op), payload,
                                            payload_bytes);
    default:
      carry_out(from, header, payload, payload_bytes);
      if ((header.flags & kFlushes) != 0) asked_to_flush(from, header);
      return;
  }
}

void Messenger::asked_to_flush(int from, const Header& header) {
  const bool unlocks = (header.flags & kUnlocks) != 0;
  if (unlocks && win_.control->served() == nullptr) damaged(from, "an unlock of a lock that it shares");
  peer(from).flushes_waiting.push_back({header.tag, unlocks});
  answer_flushes(from);
}

void Messenger::receive_type(int from, const Header& header, const std::byte* payload,
                             std::size_t payload_bytes) {
  Peer& origin = peer(from);
  std::vector<std::byte>& text = origin.description;
  const auto total = static_cast<std::size_t>(header.count);
  if (payload == nullptr || static_cast<std::size_t>(header.from) != text.size() || text.size() > total ||
      payload_bytes > total - text.size()) {
    damaged(from, "a datatype in the wrong order");
  }
  text.insert(text.end(), payload, payload + payload_bytes);
  if (text.size() < total) return;
  std::vector<std::int64_t> words(total / sizeof(std::int64_t));
  std::memcpy(words.data(), text.data(), words.size() * sizeof words[0]);
  text.clear();
  Ref<Datatype> type = decode_type(words.data(), words.size());
  if (!type) damaged(from, "a datatype that is none");
  origin.types[header.type] = std::move(type);
}

/// Where the operation goes. Returns false when there is no memory of the window.
bool Messenger::find_operand(int from, const Header& header, Ref<Datatype>* type, Operand* operand) {
  if (header.type == 0) {
    *type = Ref<Datatype>::share(&byte_type(process_));
  } else {
    const auto found = peer(from).types.find(header.type);
    if (found == peer(from).types.end()) damaged(from, "a datatype that was not described");
    *type = found->second;
  }
  Count total = 0;
  if (header.count < 0 || __builtin_mul_overflow(header.count, (*type)->size, &total)) {
    damaged(from, "of a wrong count");
  }
  const int self = win_.rank();
  *operand = {nullptr, header.count, type->get(), win_.element_guard(self)};
  if (win_.flavor == kDynamic) {
    operand->base = reinterpret_cast<std::byte*>(header.offset);
    return is_attached(win_, header.offset, header.count, **type);
  }
  const Part& own = win_.part(self);
  operand->base = own.base + header.offset;
  if (!is_inside(win_, operand->base, header.count, **type, own.bytes)) damaged(from, "beyond the window");
  return true;
}

void Messenger::carry_out(int from, const Header& header, const std::byte* payload,
                          std::size_t payload_bytes) {
  Ref<Datatype> type;
  Operand target;
  if (!find_operand(from, header, &type, &target)) return refuse(from, header);
  const Count total = target.count * type->size;
  switch (header.verb) {
    case Verb::kPut:
      if (static_cast<Count>(payload_bytes) != total) damaged(from, "a put of a wrong size");
      return put_here(from, header, target, payload);
    case Verb::kPutData:
      return start_data(
          {Ref<Request>(start_receive(target.base, target.count, *type, from,
                                      static_cast<int>(header.tag % kTags), *win_.comm, Plane::kOther)),
           type,
           {},
           from,
           false});
    case Verb::kGet:
      return start_data(
          {Ref<Request>(start_send(target.base, target.count, *type, from,
                                   static_cast<int>(header.tag % kTags + kTags), *win_.comm, Plane::kOther)),
           type,
           {},
           from,
           false});
    case Verb::kAccumulate:
    case Verb::kFetch:
      return combine_here(from, header, target, payload, payload_bytes);
    case Verb::kCompareAndSwap:
      return swap_here(from, header, target, payload, payload_bytes);
    default:
      damaged(from, "of no known kind");
  }
}

void Messenger::put_here(int, const Header&, const Operand& target, const std::byte* payload) {
  PackCursor cursor(*target.datatype, target.count);
  cursor.unpack(target.base, payload, static_cast<std::size_t>(cursor.total_bytes()));
}

void Messenger::combine_here(int from, const Header& header, const Operand& target, const std::byte* payload,
                             std::size_t payload_bytes) {
  Combination how;
  const Count total = target.count * target.datatype->size;
  const Count bytes = header.bytes;
  if (!make_combination(header.op, static_cast<std::uint16_t>(header.basic), &how) || header.from < 0 ||
      header.from > total || bytes > total - header.from || header.from % how.element_bytes() != 0 ||
      bytes % how.element_bytes() != 0 || bytes > payload_max_ ||
      (how.op != kMpiNoOp && static_cast<Count>(payload_bytes) != bytes)) {
    damaged(from, "an accumulate that does not fit its target");
  }
  const bool fetches = header.verb == Verb::kFetch;
  combine(how, target, header.from, header.from + bytes, payload, fetches ? packed_.data() : nullptr);
  if (!fetches) return;
  Header answer = header;
  answer.verb = Verb::kFetched;
  send(from, answer, packed_.data());
}

void Messenger::swap_here(int from, const Header& header, const Operand& target, const std::byte* payload,
                          std::size_t payload_bytes) {
  const BasicInfo* type = basic_info(static_cast<std::uint16_t>(header.basic));
  if (type == nullptr || !can_compare_and_swap(*type) || payload_bytes != 2u * type->size ||
      target.count * target.datatype->size != type->size) {
    damaged(from, "a compare-and-swap that does not fit its target");
  }
  rma::compare_and_swap(*type, target.guard, target.base, payload, payload + type->size, packed_.data());
  Header answer = header;
  answer.verb = Verb::kFetched;
  answer.bytes = type->size;
  send(from, answer, packed_.data());
}

/// Reports to the origin that no memory is attached there, and ends what the origin waits for.
void Messenger::refuse(int from, const Header& header) {
  Header answer = header;
  answer.flags = 0;
  answer.verb = Verb::kRefused;
  send(from, answer);
  leave();  // before the data of a get, which would end a flush that is to tell of it
  const std::uint32_t tag = header.tag % kTags;
  Datatype& byte = byte_type(process_);
  if (header.verb == Verb::kPutData) {
    // Received into nothing: the data is dropped.
    start_data({Ref<Request>(
                    start_receive(nullptr, 0, byte, from, static_cast<int>(tag), *win_.comm, Plane::kOther)),
                {},
                {},
                from,
                false});
  } else if (header.verb == Verb::kGet) {
    start_data({Ref<Request>(start_send(nullptr, 0, byte, from, static_cast<int>(tag + kTags), *win_.comm,
                                        Plane::kOther)),
                {},
                {},
                from,
                false});
  } else if (header.verb == Verb::kFetch || header.verb == Verb::kCompareAndSwap) {
    answer.verb = Verb::kFetched;
    if (header.verb == Verb::kCompareAndSwap) answer.bytes /= 2;
    send(from, answer);
  }
}

void Messenger::answer_flushes(int from) {
  Peer& origin = peer(from);
  if (origin.moving != 0) return;
  Header answer{};
  answer.verb = Verb::kFlushed;
  for (const FlushAsked& flush : origin.flushes_waiting) {
    if (flush.unlocks) win_.control->served()->release(from);
    answer.tag = flush.tag;
    send(from, answer);
  }
  origin.flushes_waiting.clear();
}

}  // namespace tasuki::rma
