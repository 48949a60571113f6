// Finds packets that one host has sent and another has not received. While there are such packets, no finding
// about the ranks of these hosts is certain.
#include <algorithm>

#include "doctor/findings.hpp"

namespace tasuki::doctor {
namespace {

std::string line_of(const OnTheWay& packets) {
  std::string line;
  if (packets.sent != packets.come) {
    line = format("rank %d has sent %u packets to rank %d, of which %u have come", packets.from, packets.sent,
                  packets.to, packets.come);
  } else {
    line = format("rank %d waits for a connection to rank %d, or for a copy to or from its memory",
                  packets.from, packets.to);
  }
  if (packets.still_ns > 0) line += "; nothing has moved there for " + duration_text(packets.still_ns);
  return line;
}

}  // namespace

void find_packets(const Case& the) {
  const std::vector<OnTheWay>& all = the.graph->on_the_way;
  if (all.empty()) return;
  std::vector<int> ranks;
  for (const OnTheWay& packets : all) {
    ranks.push_back(packets.from);
    ranks.push_back(packets.to);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  Finding& finding =
      the.add("packets-on-the-way", ranks,
              "packets between hosts are on their way, of " + ranks_text(ranks) +
                  ": whether ranks wait for one another is not known before they have come",
              "look at the network between these hosts: what is lost is sent again, or ends the job with a "
              "sentence in some seconds");
  Lines lines(&finding);
  for (const OnTheWay& packets : all) lines.add(line_of(packets));
}

}  // namespace tasuki::doctor
