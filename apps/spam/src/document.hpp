// An input file as checked tables: the reader of a key says what it must be, and every error names the file,
// the line and the key, or the option of the command line that the value is from. input.cpp says which keys
// there are.
#pragma once

#include <toml++/toml.h>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "input.hpp"
#include "words.hpp"

namespace spam {

/// What a number must be.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above_low = false;  // low itself is not allowed
};

class Document {
 public:
  /// Throws Error for what is not TOML. The overrides take the place of what the text says.
  Document(const std::string& text, std::string file, const std::vector<Override>& overrides);

  const toml::table& root() const { return root_; }
  /// Throws Error: `node` is what is wrong, or the table in which something is missing.
  [[noreturn]] void fail(const toml::node& node, const std::string& path, const std::string& what) const;

 private:
  toml::table root_;
  std::string file_;
  std::map<std::string, std::string> options_;  // by the path of the key that they override
};

class Table {
 public:
  using Keys = std::initializer_list<const char*>;

  /// The whole document.
  Table(const Document& document, Keys known);

  bool has(const char* key) const { return table_->contains(key); }
  /// Without a fallback the key must be there.
  double number(const char* key, Bounds bounds, std::optional<double> fallback = {}) const;
  std::int64_t integer(const char* key, std::int64_t low, std::int64_t high,
                       std::optional<std::int64_t> fallback = {}) const;
  std::string text(const char* key, const std::string& fallback) const;
  /// One of its words.
  template <class Choice>
  Choice choice(const char* key, Choice fallback) const {
    if (!has(key)) return fallback;
    return static_cast<Choice>(index_of(*table_->get(key), key, Words<Choice>::kAll));
  }
  /// A word for both ends of a direction, or an array of two.
  Edges edges(const char* key) const;
  /// An empty one where there is none and none is needed.
  Table table(const char* key, bool needed, Keys known) const;
  std::vector<Table> tables(const char* key, Keys known) const;

  [[noreturn]] void fail(const char* key, const std::string& what) const;

 private:
  Table(const Document& document, const toml::table& table, std::string path, Keys known);

  void refuse_unknown(Keys known) const;
  const toml::node& get(const char* key) const;
  std::size_t index_of(const toml::node& node, const char* key, std::span<const char* const> words) const;
  std::string path_of(const char* key) const { return path_.empty() ? key : path_ + "." + key; }

  const Document* document_;
  const toml::table* table_;
  std::string path_;
};

}  // namespace spam
