// The table and the JSON of mpiexec --stats.
#include "launch/report/statistics_table.hpp"

#include <algorithm>
#include <utility>

#include "launch/base/format.hpp"

namespace tasuki::launch {
namespace {

struct Totals {
  RunStatistics counts{.finished = 1};
  WayTraffic all;
  double seconds = 0;
  std::uint64_t ranks = 0;
  std::uint64_t private_heaps = 0;
  std::uint64_t global_heaps = 0;
};

Totals total(const JobStatistics& job) {
  Totals totals;
  for (const RankStatistics& rank : job.ranks) {
    if (!rank.started) continue;
    totals.counts.add(rank.counts);
    totals.private_heaps += rank.counts.heap == static_cast<std::uint64_t>(HeapKind::kPrivate) ? 1 : 0;
    totals.global_heaps += rank.counts.heap == static_cast<std::uint64_t>(HeapKind::kGlobal) ? 1 : 0;
    ++totals.ranks;
  }
  if (job.more_ranks != 0) totals.counts.add(job.more);
  totals.ranks += job.more_ranks;
  totals.all = totals.counts.all();
  totals.seconds = static_cast<double>(totals.counts.running_ns) * 1e-9;
  return totals;
}

double per_second(std::uint64_t amount, double seconds) {
  return seconds > 0 ? static_cast<double>(amount) / seconds : 0;
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole != 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

/// The share of `part` in `whole`, in percent: of bytes, or of messages where none has any.
double share(const Traffic& part, const Traffic& whole) {
  return whole.bytes != 0 ? percent(part.bytes, whole.bytes) : percent(part.messages, whole.messages);
}

Traffic receive_first(const WayTraffic& way) {
  return {way.received.messages - way.message_first.messages, way.received.bytes - way.message_first.bytes};
}

// ----- the table -------------------------------------------------------------------------------------------

/// 1234567 as "1,234,567".
std::string count_text(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (auto place = static_cast<std::ptrdiff_t>(text.size()) - 3; place > 0; place -= 3) {
    text.insert(static_cast<std::size_t>(place), ",");
  }
  return text;
}

std::string share_text(double percent) {
  if (percent > 0 && percent < 0.05) return "<0.1 %";
  if (percent > 99.95 && percent < 100) return ">99.9 %";
  return format("%.1f %%", percent);
}

std::string emphasised(const std::string& text, bool bold) {
  return bold ? "\033[1m" + text + "\033[0m" : text;
}

std::string way_row(const char* name, const WayTraffic& way, const Totals& totals) {
  const std::string rate =
      count_text(static_cast<std::uint64_t>(per_second(way.sent.messages, totals.seconds)));
  const std::string first =
      way.received.messages != 0 ? share_text(share(receive_first(way), way.received)) : "-";
  return format("  %-12s%13s%10s%12s%11s%9s%11s\n", name, count_text(way.sent.messages).c_str(),
                byte_text(way.sent.bytes).c_str(), rate.c_str(),
                (byte_text(per_second(way.sent.bytes, totals.seconds)) + "/s").c_str(),
                share_text(share(way.sent, totals.all.sent)).c_str(), first.c_str());
}

std::string line(const char* name, const std::string& text) {
  return format("  %-23s%s\n", name, text.c_str());
}

std::string heap_text(const Totals& totals) {
  if (totals.global_heaps == 0 && totals.private_heaps == 0) return {};
  if (totals.global_heaps == 0) return "private";
  if (totals.private_heaps == 0) return "global";
  return format("global in %s ranks, private in %s", count_text(totals.global_heaps).c_str(),
                count_text(totals.private_heaps).c_str());
}

std::string summary(const JobStatistics& job, const Totals& totals) {
  const Traffic& early = totals.all.message_first;
  std::string text =
      line("before their receive",
           format("%s message%s, %s of the bytes", count_text(early.messages).c_str(),
                  early.messages == 1 ? "" : "s", share_text(share(early, totals.all.received)).c_str()));
  text += line("kept for those", format("at most %s at once in one rank",
                                        byte_text(totals.counts.unexpected_bytes_highest).c_str()));
  if (const std::uint64_t aside = totals.counts.sends_set_aside; aside != 0)
    text += line("set aside", format("%s blocking send%s whose receiver was late", count_text(aside).c_str(),
                                     aside == 1 ? "" : "s"));
  const std::uint64_t far = totals.counts.ranks_of_far_lines;
  if (const std::uint64_t changes = totals.counts.line_changes; changes != 0)
    text += line("cache lines travel far",
                 format("in %s direction%s, %s change%s", count_text(far).c_str(), far == 1 ? "" : "s",
                        count_text(changes).c_str(), changes == 1 ? "" : "s"));
  text += line("collectives", count_text(totals.counts.collectives));
  text += line(
      "asleep in waits",
      format("%s of the time, %s time%s",
             share_text(percent(totals.counts.asleep_ns, totals.counts.running_ns * totals.ranks)).c_str(),
             count_text(totals.counts.sleeps).c_str(), totals.counts.sleeps == 1 ? "" : "s"));
  text += line("shared memory", format("%s used of %s", byte_text(job.shared_bytes_touched).c_str(),
                                       byte_text(job.shared_bytes).c_str()));
  if (const std::string heap = heap_text(totals); !heap.empty()) text += line("heap", heap);
  return text;
}

/// The ranks whose counts are missing, or end before the rank did.
std::string unfinished(const JobStatistics& job) {
  std::string silent;
  std::string early;
  for (const RankStatistics& rank : job.ranks) {
    std::string& list = !rank.started ? silent : early;
    if (rank.started && rank.counts.finished != 0) continue;
    list += (list.empty() ? "" : ", ") + rank.name;
  }
  const auto say = [](const std::string& list, const char* what) {
    if (list.empty()) return std::string();
    const bool several = list.find(',') != std::string::npos;
    return "  " + wrapped("(rank" + std::string(several ? "s " : " ") + list + " " + what + ")", 2, 78) +
           "\n";
  };
  return say(silent, "did not use MPI, or ended before it said anything") +
         say(early, "ended without MPI_Finalize: counted up to the last wait, or to MPI_Abort");
}

std::string rank_rows(const JobStatistics& job, bool bold) {
  constexpr const char* kRow = "  %-8s%13s%11s%13s%11s%12s%10s\n";
  std::string text =
      "\n" +
      emphasised(format(kRow, "rank", "sent", "bytes", "received", "bytes", "recv first", "asleep"), bold);
  for (const RankStatistics& rank : job.ranks) {
    if (!rank.started) continue;
    const WayTraffic all = rank.counts.all();
    const std::string first =
        all.received.messages != 0 ? share_text(share(receive_first(all), all.received)) : "-";
    text += format(kRow, rank.name.c_str(), count_text(all.sent.messages).c_str(),
                   byte_text(all.sent.bytes).c_str(), count_text(all.received.messages).c_str(),
                   byte_text(all.received.bytes).c_str(), first.c_str(),
                   share_text(percent(rank.counts.asleep_ns, rank.counts.running_ns)).c_str());
  }
  if (job.more_ranks != 0) text += format("  (and %s more)\n", count_text(job.more_ranks).c_str());
  return text;
}

std::string table(const JobStatistics& job, bool ranks_too, bool bold) {
  const Totals totals = total(job);
  if (totals.ranks == 0) return "mpiexec: no rank used MPI\n";
  std::string text = format("mpiexec: messages of %s rank%s in %.3g s, by the way they went\n",
                            count_text(totals.ranks).c_str(), totals.ranks == 1 ? "" : "s", totals.seconds);
  text += emphasised(format("  %-12s%13s%10s%12s%11s%9s%11s\n", "way", "messages", "bytes", "messages/s",
                            "bytes/s", "share", "recv first"),
                     bold);
  for (int way = 0; way < kWays; ++way) {
    const WayTraffic& traffic = totals.counts.ways[way];
    if (traffic.sent.messages == 0 && traffic.received.messages == 0) continue;
    text += way_row(way_name(static_cast<Way>(way)), traffic, totals);
  }
  text += emphasised(way_row("all", totals.all, totals), bold) + "\n" + summary(job, totals);
  if (ranks_too) text += rank_rows(job, bold);
  return text + unfinished(job);
}

// ----- JSON ------------------------------------------------------------------------------------------------

std::string number(const char* name, std::uint64_t value) {
  return format("\"%s\": %llu", name, static_cast<unsigned long long>(value));
}

std::string way_numbers(const WayTraffic& way) {
  return number("sent_messages", way.sent.messages) + ", " + number("sent_bytes", way.sent.bytes) + ", " +
         number("received_messages", way.received.messages) + ", " +
         number("received_bytes", way.received.bytes) + ", " +
         number("message_first_messages", way.message_first.messages) + ", " +
         number("message_first_bytes", way.message_first.bytes);
}

std::string ways_object(const RunStatistics& counts, const char* indent) {
  std::string text;
  for (int way = 0; way < kWays; ++way) {
    text += format("%s\n%s  \"%s\": {%s}", way == 0 ? "" : ",", indent, way_name(static_cast<Way>(way)),
                   way_numbers(counts.ways[way]).c_str());
  }
  return "{" + text + "\n" + indent + "}";
}

std::string counts_fields(const RunStatistics& counts, const char* indent) {
  constexpr const char* kHeaps[] = {"unknown", "private", "global"};
  const std::string next = std::string(",\n") + indent;
  return format("\"seconds\": %.9g", static_cast<double>(counts.running_ns) * 1e-9) + next +
         format("\"finished\": %s", counts.finished != 0 ? "true" : "false") + next +
         format("\"heap\": \"%s\"", kHeaps[std::min<std::uint64_t>(counts.heap, 2)]) + next +
         number("unexpected_bytes_highest", counts.unexpected_bytes_highest) + next +
         number("sends_set_aside", counts.sends_set_aside) + next +
         number("line_changes", counts.line_changes) + next +
         number("ranks_of_far_lines", counts.ranks_of_far_lines) + next +
         number("unexpected_messages_highest", counts.unexpected_messages_highest) + next +
         number("collectives", counts.collectives) + next + number("polls", counts.polls) + next +
         number("sleeps", counts.sleeps) + next +
         format("\"asleep_seconds\": %.9g", static_cast<double>(counts.asleep_ns) * 1e-9) + next +
         number("errors", counts.errors) + next + "\"ways\": " + ways_object(counts, indent);
}

std::string json(const JobStatistics& job) {
  const Totals totals = total(job);
  std::string ranks;
  for (const RankStatistics& rank : job.ranks) {
    ranks += format("%s\n    {\n      \"rank\": \"%s\",\n      \"used_mpi\": %s,\n      %s\n    }",
                    ranks.empty() ? "" : ",", rank.name.c_str(), rank.started ? "true" : "false",
                    counts_fields(rank.counts, "      ").c_str());
  }
  return "{\n  " + number("ranks", totals.ranks) + ",\n  " +
         format("\"messages_per_second\": %.6g,\n  \"bytes_per_second\": %.6g,\n  ",
                per_second(totals.all.sent.messages, totals.seconds),
                per_second(totals.all.sent.bytes, totals.seconds)) +
         number("shared_bytes", job.shared_bytes) + ",\n  " +
         number("shared_bytes_used", job.shared_bytes_touched) + ",\n  \"all\": {" + way_numbers(totals.all) +
         "},\n  " + counts_fields(totals.counts, "  ") + ",\n  \"each_rank\": [" + ranks + "\n  ]\n}\n";
}

}  // namespace

void JobStatistics::add(RankStatistics rank) {
  if (ranks.size() < kRanksListed) {
    ranks.push_back(std::move(rank));
  } else if (rank.started) {
    more.add(rank.counts);
    ++more_ranks;
  }
}

std::string statistics_text(StatisticsForm form, const JobStatistics& job, bool bold) {
  return form == StatisticsForm::kJson ? json(job) : table(job, form == StatisticsForm::kRanks, bold);
}

}  // namespace tasuki::launch
