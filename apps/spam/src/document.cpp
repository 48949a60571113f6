// Where toml++ knows what is written and in which line, and errors are put into words.
#include "document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "error.hpp"

namespace spam {
namespace {

const toml::table kNothing;

/// Without what would end the line of an error, or write over it.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char letter) { return letter < ' '; }, ' ');
  return text;
}

/// A value as an error shows it.
std::string shown(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return '"' + *text + '"';
  if (const auto whole = node.value_exact<std::int64_t>()) return std::to_string(*whole);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  if (const auto truth = node.value_exact<bool>()) return *truth ? "true" : "false";
  if (node.is_table()) return "a table";
  return node.is_array() ? "an array" : "a date or time";
}

/// How many letters must be changed, added or left out (Levenshtein).
std::size_t letters_between(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t k = 0; k < other.size(); ++k) {
      const std::size_t changed = diagonal + (one[i] == other[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({row[k] + 1, row[k + 1] + 1, changed});
    }
  }
  return row.back();
}

std::string expected(Bounds bounds) {
  std::string words = "a number";
  if (std::isfinite(bounds.low))
    words += (bounds.above_low ? " above " : " of at least ") + fmt::format("{}", bounds.low);
  if (std::isfinite(bounds.high))
    words += fmt::format("{} at most {}", std::isfinite(bounds.low) ? " and" : " of", bounds.high);
  return words;
}

}  // namespace

Document::Document(const std::string& text, std::string file, const std::vector<Override>& overrides)
    : file_(std::move(file)) {
  try {
    root_ = toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw Error(one_line(
        fmt::format("{}:{}: this is not TOML: {}", file_, error.source().begin.line, error.description())));
  }
  for (const Override& over : overrides) {
    const std::size_t dot = over.key.find('.');
    const std::string table = over.key.substr(0, dot), key = over.key.substr(dot + 1);
    root_.insert(table, toml::table{});
    toml::table* place = root_[table].as_table();
    if (place == nullptr) continue;  // what is there instead will be refused
    std::visit([&](const auto& value) { place->insert_or_assign(key, value); }, over.value);
    options_[over.key] = over.option;
  }
}

void Document::fail(const toml::node& node, const std::string& path, const std::string& what) const {
  const auto option = options_.find(path);
  if (option != options_.end()) throw Error(one_line(option->second + ": " + what));
  const auto line = std::max<toml::source_index>(1, node.source().begin.line);
  throw Error(one_line(fmt::format("{}:{}: {}: {}", file_, line, path, what)));
}

Table::Table(const Document& document, Keys known) : document_(&document), table_(&document.root()) {
  refuse_unknown(known);
}

Table::Table(const Document& document, const toml::table& table, std::string path, Keys known)
    : document_(&document), table_(&table), path_(std::move(path)) {
  refuse_unknown(known);
}

/// The first one in the file; tables have their keys by name.
void Table::refuse_unknown(Keys known) const {
  const toml::node* first = nullptr;
  std::string name;
  for (const auto& [key, node] : *table_) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    if (first != nullptr && first->source().begin.line <= node.source().begin.line) continue;
    first = &node;
    name = key.str();
  }
  if (first == nullptr) return;
  const std::string nearest =
      *std::min_element(known.begin(), known.end(), [&](const char* one, const char* other) {
        return letters_between(name, one) < letters_between(name, other);
      });
  const bool near = letters_between(name, nearest) <= 1 + name.size() / 3;
  const std::string instead =
      near ? fmt::format("did you mean {}?", nearest) : fmt::format("expected {}", fmt::join(known, ", "));
  document_->fail(*first, path_of(name.c_str()),
                  fmt::format("unknown {}; {}", first->is_table() ? "table" : "key", instead));
}

const toml::node& Table::get(const char* key) const {
  const toml::node* node = table_->get(key);
  if (node == nullptr) document_->fail(*table_, path_of(key), "missing");
  return *node;
}

void Table::fail(const char* key, const std::string& what) const {
  const toml::node* node = table_->get(key);
  document_->fail(node == nullptr ? *table_ : *node, path_of(key), what);
}

double Table::number(const char* key, Bounds bounds, std::optional<double> fallback) const {
  if (fallback && !has(key)) return *fallback;
  const toml::node& node = get(key);
  const std::optional<double> value = node.is_number() ? node.value<double>() : std::nullopt;
  if (!value || !std::isfinite(*value) || *value < bounds.low || *value > bounds.high ||
      (bounds.above_low && *value == bounds.low))
    fail(key, fmt::format("{}; expected {}", shown(node), expected(bounds)));
  return *value;
}

std::int64_t Table::integer(const char* key, std::int64_t low, std::int64_t high,
                            std::optional<std::int64_t> fallback) const {
  if (fallback && !has(key)) return *fallback;
  const toml::node& node = get(key);
  const std::optional<std::int64_t> value = node.value_exact<std::int64_t>();
  if (!value || *value < low || *value > high)
    fail(key, fmt::format("{}; expected a whole number from {} to {}", shown(node), low, high));
  return *value;
}

std::string Table::text(const char* key, const std::string& fallback) const {
  if (!has(key)) return fallback;
  const toml::node& node = get(key);
  const std::optional<std::string> value = node.value_exact<std::string>();
  if (!value) fail(key, fmt::format("{}; expected a text in quotes", shown(node)));
  return *value;
}

std::size_t Table::index_of(const toml::node& node, const char* key,
                            std::span<const char* const> words) const {
  const std::optional<std::string> value = node.value_exact<std::string>();
  for (std::size_t i = 0; value && i < words.size(); ++i)
    if (*value == words[i]) return i;
  fail(key, fmt::format("{}; expected {}", shown(node), fmt::join(words, ", ")));
}

Edges Table::edges(const char* key) const {
  const toml::node& node = get(key);
  const toml::array* both = node.as_array();
  if (both != nullptr && both->size() != 2)
    fail(key, fmt::format("{} ends; expected two, or one word for both", both->size()));
  const auto edge = [&](std::size_t end) {
    return static_cast<Boundary>(
        index_of(both == nullptr ? node : *both->get(end), key, Words<Boundary>::kAll));
  };
  const Edges edges{edge(0), edge(1)};
  if ((edges.low == Boundary::kPeriodic) != (edges.high == Boundary::kPeriodic))
    fail(key, "periodic at one end alone; expected both ends periodic, or none");
  return edges;
}

Table Table::table(const char* key, bool needed, Keys known) const {
  if (!needed && !has(key)) return Table(*document_, kNothing, path_of(key), known);
  const toml::node& node = get(key);
  if (!node.is_table()) fail(key, fmt::format("{}; expected a table", shown(node)));
  return Table(*document_, *node.as_table(), path_of(key), known);
}

std::vector<Table> Table::tables(const char* key, Keys known) const {
  const toml::node& node = get(key);
  const toml::array* array = node.as_array();
  if (array == nullptr) fail(key, fmt::format("{}; expected an array of tables", shown(node)));
  std::vector<Table> tables;
  for (std::size_t i = 0; i < array->size(); ++i) {
    const toml::table* table = array->get(i)->as_table();
    const std::string path = fmt::format("{}[{}]", path_of(key), i);
    if (table == nullptr) document_->fail(*array->get(i), path, shown(*array->get(i)) + "; expected a table");
    tables.push_back(Table(*document_, *table, path, known));
  }
  return tables;
}

}  // namespace spam
