// Words and bytes of leaks.
#include "job/leak_report.hpp"

#include <algorithm>
#include <utility>

#include "job/message_fields.hpp"

namespace tasuki {
namespace {

constexpr std::uint32_t kReportMagic = 0x6c707374;  // "tspl": the first field, as of requests to spawn

bool is_same(const Leak& one, const Leak& other) {
  Leak counted = one;
  counted.count = other.count;
  return counted == other;
}

}  // namespace

void add_leak(std::vector<Leak>* leaks, Leak leak) {
  const auto same =
      std::find_if(leaks->begin(), leaks->end(), [&leak](const Leak& one) { return is_same(one, leak); });
  if (same != leaks->end()) {
    same->count += leak.count;
  } else if (leaks->size() < kLeaksMax) {
    leaks->push_back(std::move(leak));
  }
}

std::string leak_text(const Leak& leak, const std::string& place) {
  std::string text = leak.object;
  if (!leak.verb.empty()) text += ", " + leak.verb + " by " + leak.function;
  if (!place.empty()) text += " at " + place;
  return text + ", " + leak.trouble;
}

std::string encode(const LeakReport& report) {
  FieldWriter writer;
  writer.number(kReportMagic);
  writer.wide_number(report.job_id);
  writer.number(static_cast<std::uint32_t>(report.rank));
  writer.number(static_cast<std::uint32_t>(report.leaks.size()));
  for (const Leak& leak : report.leaks) {
    writer.text(leak.object);
    writer.text(leak.verb);
    writer.text(leak.function);
    writer.text(leak.trouble);
    writer.wide_number(leak.site);
    writer.number(leak.count);
  }
  return writer.take();
}

bool decode(const std::string& message, LeakReport* report) {
  FieldReader reader(message);
  if (reader.number() != kReportMagic) return false;
  report->job_id = reader.wide_number();
  report->rank = static_cast<std::int32_t>(reader.number());
  const std::uint32_t count = reader.length();
  if (count > kLeaksMax) return false;
  report->leaks.resize(count);
  for (Leak& leak : report->leaks) {
    leak.object = reader.text();
    leak.verb = reader.text();
    leak.function = reader.text();
    leak.trouble = reader.text();
    leak.site = reader.wide_number();
    leak.count = reader.number();
  }
  return reader.over();
}

}  // namespace tasuki
