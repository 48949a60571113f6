// What TASUKI_EXPLAIN says.
#include "p2p/explain.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "base/process.hpp"
#include "p2p/point_to_point.hpp"

namespace tasuki {
namespace {

/// "4 KiB on", or "4 KiB on (a last-level cache in common), 8 KiB on (…)" where they differ.
std::string thresholds(const ProtocolTable& table, Count DistanceTable::*value) {
  const auto least = [&](std::size_t i) { return table.by_distance[i].*value; };
  const auto from = [&](std::size_t i) {
    return (least(i) == kNeverStreamed ? std::string("no size") : BytesText(least(i)).text) + " on";
  };
  if (least(0) == least(kDistances - 1)) return from(0);
  std::string text;
  for (std::size_t i = 0; i < kDistances; ++i) {
    text += (i == 0 ? "" : ", ") + from(i) + " (" + distance_text(static_cast<Distance>(i)) + ")";
  }
  return text;
}

/// What makes two messages the same case.
std::uint64_t case_of(bool sending, bool far, Way way, Count bytes, const char* why, int first,
                      const char* where) {
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(why);
  for (const std::uint64_t part :
       {std::uint64_t{sending}, std::uint64_t{far}, static_cast<std::uint64_t>(way),
        static_cast<std::uint64_t>(std::bit_width(static_cast<std::uint64_t>(bytes))),
        static_cast<std::uint64_t>(first), reinterpret_cast<std::uintptr_t>(where)}) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

BytesText::BytesText(Count bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto amount = static_cast<double>(bytes);
  int unit = 0;
  for (; amount >= 1024 && unit < 6; ++unit) amount /= 1024;
  std::snprintf(text, sizeof text, "%.4g %s", amount, kUnits[unit]);
}

void Explainer::start() const {
  const ProtocolTable& table = process_.p2p->table;
  const auto off = [](bool on) { return on ? "" : " (switched off)"; };
  const int rank = process_.rank;
  std::fprintf(
      stderr,
      "tasuki: rank %d: up to %s a message goes in slots of the ring, up to %s at once in cells; up to %s in "
      "answer to one of the peer's\n"
      "tasuki: rank %d: into a receive that was posted and is advertised%s, from %s;\n"
      "tasuki: rank %d: past the sender's caches, which then copies all of it, from %s%s;\n"
      "tasuki: rank %d: but a receiver that waits for it gets it, from %s, unless both copy\n"
      "tasuki: rank %d: else the receiver copies from the sender's buffer%s, or both do%s, from %s;\n"
      "tasuki: rank %d: or the sender does%s; what neither rank can reach goes through the ring in "
      "pieces of %s to %s\n",
      rank, BytesText(table.short_bytes_max).text, BytesText(table.eager_bytes_max).text,
      BytesText(table.turn_bytes_max).text, rank, off(table.advertised_receives),
      thresholds(table, &DistanceTable::sender_write_bytes_min).c_str(), rank,
      thresholds(table, &DistanceTable::stream_bytes_min).c_str(),
      table.at(Distance::kCache).streams_far_lines_only
          ? ", but with a cache in common only while lines travel far"
          : "",
      rank, thresholds(table, &DistanceTable::waiting_get_bytes_min).c_str(), rank, off(table.get),
      off(table.cooperative), thresholds(table, &DistanceTable::cooperative_bytes_min).c_str(), rank,
      off(table.put), BytesText(std::min(kPieceBytesMin, process_.p2p->bulk_bytes_max)).text,
      BytesText(std::min(kPieceBytesMax, process_.p2p->bulk_bytes_max)).text);
  start_far();
}

/// What differs for ranks of other nodes, if there are any.
void Explainer::start_far() const {
  const PointToPoint& p2p = *process_.p2p;
  int far = 0;
  while (far < process_.size && !is_far(far)) ++far;
  if (far == process_.size) return;
  const Link& link = *p2p.link;
  const Count piece = std::max<Count>(link.piece_bytes(far), p2p.bulk_bytes_max);
  const Count at_once = p2p.table.eager_bytes_max < kEagerBytesMaxDefault
                            ? p2p.table.eager_bytes_max
                            : std::max<Count>(p2p.table.eager_bytes_max, link.piece_bytes(far));
  std::fprintf(
      stderr,
      "tasuki: rank %d: to other nodes up to %s go in one packet, up to %s at once in packets; what is "
      "longer waits for its receive, and goes in packets of %s",
      process_.rank, BytesText(p2p.table.short_bytes_max).text, BytesText(at_once).text,
      BytesText(piece).text);
  const std::uint64_t copies_from = link.copy_bytes_min(far);
  if (link.can_put(far) && copies_from != UINT64_MAX)
    std::fprintf(stderr, ", or straight between the buffers, from %s on",
                 BytesText(static_cast<Count>(std::max<std::uint64_t>(copies_from, 1))).text);
  std::fprintf(stderr, "\n");
}

bool Explainer::is_far(int endpoint) const {
  PointToPoint& p2p = *process_.p2p;
  return endpoint < process_.size ? p2p.distances.to(endpoint) == Distance::kNetwork
                                  : p2p.link->piece_bytes(endpoint) != 0;
}

void Explainer::sent(Way way, Count bytes, int endpoint, const char* why) {
  const char* const where = distance_of(way, endpoint);
  if (is_new(case_of(true, is_far(endpoint), way, bytes, why, 0, where)))
    say(way, bytes, endpoint, "to", why, "", where);
}

void Explainer::received(Way way, Count bytes, int endpoint, const char* why, bool message_first) {
  const char* const where = distance_of(way, endpoint);
  if (!is_new(case_of(false, is_far(endpoint), way, bytes, why, message_first ? 2 : 1, where))) return;
  say(way, bytes, endpoint, "from", why,
      message_first ? "; the message came before its receive" : "; the receive was posted first", where);
}

void Explainer::lines(int endpoint, bool are_far, std::int64_t ns, Count stream_bytes_min) const {
  std::fprintf(
      stderr,
      "tasuki: rank %d: a cache line of rank %d's takes %lld ns: what is written for each other from "
      "%s on goes %s the caches from now on\n",
      process_.rank, endpoint, static_cast<long long>(ns), BytesText(stream_bytes_min).text,
      are_far ? "past" : "through");
}

const char* Explainer::distance_of(Way way, int endpoint) {
  const bool matters = way == Way::kSenderWrite || way == Way::kCooperative || way == Way::kGet;
  return matters && endpoint < process_.size ? distance_text(process_.p2p->distances.to(endpoint)) : "";
}

bool Explainer::is_new(std::uint64_t one) {
  if (cases_.size() == kCasesMax || std::find(cases_.begin(), cases_.end(), one) != cases_.end())
    return false;
  cases_.push_back(one);
  if (cases_.size() < kCasesMax) return true;
  std::fprintf(stderr, "tasuki: rank %d: more cases are not reported\n", process_.rank);
  return false;
}

void Explainer::say(Way way, Count bytes, int endpoint, const char* direction, const char* why,
                    const char* first, const char* where) {
  char peer[32];
  std::snprintf(peer, sizeof peer, endpoint < process_.size ? "rank %d" : "another job", endpoint);
  const WayRow& row = row_of_way(way);
  std::fprintf(stderr, "tasuki: rank %d: %s %s %s: %s: %s: %s%s%s%s\n", process_.rank, BytesText(bytes).text,
               direction, peer, row.name, is_far(endpoint) ? row.explains_far : row.explains, why, first,
               *where != '\0' ? "; the ranks have " : "", where);
}

}  // namespace tasuki
