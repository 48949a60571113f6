// What mbl writes (see rows.hpp).
#include "rows.hpp"

#include <cmath>

#include "statistics.hpp"

namespace mbl {

namespace {

std::string number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return text;
}

/// "mode=send,memory=malloc" as an object.
std::string variant_object(const std::string& variant) {
  std::string made;
  for (std::size_t begin = 0; begin < variant.size();) {
    const std::size_t end = std::min(variant.find(',', begin), variant.size());
    const std::size_t equals = std::min(variant.find('=', begin), end);
    const std::string value = equals < end ? variant.substr(equals + 1, end - equals - 1) : "";
    if (!made.empty()) made += ", ";
    made += quoted(variant.substr(begin, equals - begin)) + ": " + quoted(value);
    begin = end + 1;
  }
  return "{" + made + "}";
}

template <class Item, class Text>
std::string joined(const std::vector<Item>& items, Text text) {
  std::string made;
  for (const Item& item : items) made += (made.empty() ? "" : ", ") + text(item);
  return made;
}

}  // namespace

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      made += '\\';
      made += letter;
    } else if (static_cast<unsigned char>(letter) < 0x20) {
      made += ' ';
    } else {
      made += letter;
    }
  }
  return made + '"';
}

std::string Case::name() const {
  return benchmark->id() + " " + std::to_string(bytes);
}

bool Out::open(const std::string& path) {
  file_ = path.empty() ? stdout : std::fopen(path.c_str(), "a");
  return file_ != nullptr;
}

Out::~Out() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}

void Out::line(const std::string& text) {
  if (file_ == nullptr) return;
  std::fprintf(file_, "%s\n", text.c_str());
  std::fflush(file_);
}

void Out::list(const Case& item) {
  line("{\"id\": " + quoted(item.benchmark->id()) + ", \"bytes\": " + std::to_string(item.bytes) +
       ", \"ranks\": " + std::to_string(item.ranks) + ", \"doc\": " + quoted(item.benchmark->doc) + "}");
}

void Out::begin(const Case& item) {
  line("{\"begin\": " + quoted(item.name()) + "}");
}

void Out::unsupported(const Case& item, const std::string& why) {
  line("{\"unsupported\": " + quoted(item.name()) + ", \"why\": " + quoted(why) + "}");
}

void Out::end() {
  line("{\"end\": true}");
}

void Out::row(const Case& item, const Measurement& made) {
  const Benchmark& benchmark = *item.benchmark;
  const Summary summary = summarise(made.seconds);
  std::string text = "{\"id\": " + quoted(benchmark.id()) + ", \"group\": " + quoted(benchmark.group) +
                     ", \"benchmark\": " + quoted(benchmark.name) +
                     ", \"variant\": " + variant_object(benchmark.variant);
  text += ", \"ranks\": " + std::to_string(item.ranks) + ", \"bytes\": " + std::to_string(item.bytes) +
          ", \"factor\": " + number(benchmark.factor(item.ranks)) +
          ", \"rounds\": " + std::to_string(made.rounds);
  text += ", \"seconds\": [" + joined(made.seconds, number) + "], \"outliers\": [" +
          joined(summary.outliers, [](int index) { return std::to_string(index); }) + "]";
  text += ", \"median_seconds\": " + number(summary.median) + ", \"low_seconds\": " + number(summary.low) +
          ", \"high_seconds\": " + number(summary.high);
  text += std::string(", \"settled\": ") + (made.settled ? "true" : "false") +
          ", \"checked\": " + (made.checked == Checked::kRight ? "true" : "null") +
          ", \"late\": " + std::to_string(made.late) +
          ", \"clock_error_seconds\": " + number(made.clock_error_seconds) + ", \"line_seconds\": [" +
          joined(made.line_seconds, number) + "]";
  text += ", \"notes\": {" +
          joined(made.notes,
                 [](const std::pair<std::string, double>& note) {
                   return quoted(note.first) + ": " + number(note.second);
                 }) +
          "}}";
  line(text);
}

}  // namespace mbl
