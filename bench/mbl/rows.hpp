// What mbl writes: a line of JSON for each case, and one before it, as docs/results.md and docs/mbl.md have
// it. Rank 0 alone has an Out that is open.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "method.hpp"
#include "suite.hpp"

namespace mbl {

/// A case: a benchmark at one of its sizes, among so many ranks.
struct Case {
  const Benchmark* benchmark = nullptr;
  std::int64_t bytes = 0;
  int ranks = 1;

  /// "ID BYTES"
  std::string name() const;
};

class Out {
 public:
  /// Opens `path` to add to it; standard output if it is empty. Returns false if that cannot be.
  bool open(const std::string& path);
  ~Out();

  void list(const Case& item);
  void begin(const Case& item);
  void row(const Case& item, const Measurement& made);
  void unsupported(const Case& item, const std::string& why);
  void end();

 private:
  void line(const std::string& text);

  std::FILE* file_ = nullptr;
};

/// `text` as a JSON string, with its quotes.
std::string quoted(const std::string& text);

}  // namespace mbl
