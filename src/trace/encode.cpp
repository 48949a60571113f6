// Writes columns, varints and blocks.
#include "trace/encode.hpp"

#include <algorithm>
#include <cstring>

namespace tasuki::trace {
namespace {

using Column = std::vector<std::uint64_t>;

constexpr std::size_t kVarintBytesMax = 10;
constexpr std::uint64_t kFurtherColumns = 7;

/// Writes a varint; returns the place behind it.
char* put_varint(char* place, std::uint64_t value) {
  while (value >= 0x80) {
    *place++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *place++ = static_cast<char>(value);
  return place;
}

void append_column(std::string* text, const Column& values) {
  const auto differs = [&](std::uint64_t value) { return value != values.front(); };
  if (values.empty() || std::none_of(values.begin(), values.end(), differs)) {
    text->push_back(0);
    append_varint(text, values.empty() ? 0 : values.front());
    return;
  }
  std::vector<char> stream(values.size() * kVarintBytesMax);
  char* place = stream.data();
  for (const std::uint64_t value : values) place = put_varint(place, value);
  text->push_back(1);
  append_varint(text, static_cast<std::uint64_t>(place - stream.data()));
  text->append(stream.data(), place);
}

template <class Value>
void append_field(std::string* text, const std::vector<Record>& records, Column* column, Value value) {
  for (std::size_t i = 0; i < records.size(); ++i) (*column)[i] = value(records[i]);
  append_column(text, *column);
}

/// Begin as the distance from the end before it (the first one's: from 0), and how long it took.
void append_times(std::string* text, const Calls& calls, const TickLine& line, Column* column) {
  std::int64_t before = 0;
  Column lengths(calls.records.size());
  for (std::size_t i = 0; i < calls.records.size(); ++i) {
    const std::int64_t begin = line.ns_of(calls.records[i].begin);
    const std::int64_t end = line.ns_of(calls.records[i].end);
    (*column)[i] = zigzag(begin - before);
    lengths[i] = static_cast<std::uint64_t>(end > begin ? end - begin : 0);
    before = begin + static_cast<std::int64_t>(lengths[i]);
  }
  append_column(text, *column);
  append_column(text, lengths);
}

void append_requests(std::string* text, const Calls& calls) {
  Column started, serials, sources, bytes;
  std::int64_t made = calls.requests_before;
  std::size_t next_started = 0, next_done = 0;
  for (const Record& record : calls.records) {
    if ((record.flags & kStarts) != 0) {
      for (std::uint32_t i = 0; i < record.made; ++i)
        started.push_back(zigzag(made - calls.started[next_started++]));
    }
    made += record.made;
    for (std::uint32_t i = 0; i < record.done; ++i) {
      const Done& done = calls.done[next_done++];
      serials.push_back(zigzag(made - done.serial));
      sources.push_back(zigzag(done.source));
      bytes.push_back(static_cast<std::uint64_t>(done.bytes + 1));
    }
  }
  for (const Column* column : {&started, &serials, &sources, &bytes}) {
    append_varint(text, column->size());
    append_column(text, *column);
  }
}

void append_name(std::string* text, const char* name) {
  append_varint(text, std::strlen(name));
  *text += name;
}

void append_word(std::string* text, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) text->push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

}  // namespace

void append_varint(std::string* text, std::uint64_t value) {
  char bytes[kVarintBytesMax];
  text->append(bytes, put_varint(bytes, value));
}

std::string encode(const Calls& calls, const TickLine& line) {
  const std::vector<Record>& records = calls.records;
  std::string text;
  append_varint(&text, records.size());
  append_varint(&text, static_cast<std::uint64_t>(calls.requests_before));
  std::uint64_t sent = 0, times = 0;
  for (const Record& record : records) {
    sent += static_cast<std::uint64_t>(record.sent);
    times += 1 + record.repeats;
  }
  append_varint(&text, times - calls.own_records);
  append_varint(&text, sent);
  append_varint(&text, calls.definitions.size());
  for (const std::string& definition : calls.definitions) {
    append_varint(&text, definition.size());
    text += definition;
  }
  Column column(records.size());
  append_times(&text, calls, line, &column);
  const auto add = [&](auto value) { append_field(&text, records, &column, value); };
  add([&](const Record& record) { return static_cast<std::uint64_t>(line.span_ns(record.outside)); });
  add([](const Record& record) { return std::uint64_t{record.function}; });
  add([](const Record& record) { return std::uint64_t{record.group}; });
  add([](const Record& record) { return zigzag(record.peer); });
  add([](const Record& record) { return zigzag(record.source); });
  add([](const Record& record) { return zigzag(record.tag); });
  add([](const Record& record) { return static_cast<std::uint64_t>(record.sent); });
  add([](const Record& record) { return static_cast<std::uint64_t>(record.received); });
  add([](const Record& record) { return static_cast<std::uint64_t>(record.block); });
  add([](const Record& record) { return std::uint64_t{record.phase}; });
  add([](const Record& record) { return std::uint64_t{record.thread}; });
  add([](const Record& record) { return std::uint64_t{record.repeats}; });
  add([](const Record& record) { return std::uint64_t{record.flags}; });
  add([](const Record& record) { return std::uint64_t{record.made}; });
  add([](const Record& record) { return std::uint64_t{record.done}; });
  append_requests(&text, calls);
  // Further columns, each with its name: a reader leaves out those that it does not know.
  const auto add_named = [&](const char* name, auto value) {
    append_name(&text, name);
    add(value);
  };
  append_varint(&text, kFurtherColumns);
  add_named("site", [](const Record& record) { return std::uint64_t{record.site}; });
  add_named("queue", [](const Record& record) { return std::uint64_t{record.queue}; });
  add_named("way", [](const Record& record) { return std::uint64_t{record.way}; });
  add_named("algorithm", [](const Record& record) { return std::uint64_t{record.algorithm}; });
  add_named("runner_up", [](const Record& record) { return std::uint64_t{record.runner_up}; });
  add_named("predicted",
            [](const Record& record) { return static_cast<std::uint64_t>(record.predicted_ns); });
  add_named("runner_up_predicted",
            [](const Record& record) { return static_cast<std::uint64_t>(record.runner_up_ns); });
  return text;
}

std::uint64_t checksum(const char* bytes, std::size_t size) {
  std::uint64_t sum = size;
  for (std::size_t at = 0, number = 1; at < size; at += 8, number += 2) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, size - at < 8 ? size - at : 8);
    sum += word * number;
  }
  return sum;
}

std::string block(const char kind[4], const std::string& payload) {
  std::string text(kind, 4);
  append_word(&text, payload.size(), 4);
  append_word(&text, checksum(payload.data(), payload.size()), 8);
  return text + payload;
}

std::string file_head() {
  std::string text(kMagic, 8);
  append_word(&text, kVersion, 4);
  return text;
}

}  // namespace tasuki::trace
