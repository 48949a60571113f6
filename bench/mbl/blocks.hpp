// What the groups collectives and concurrent send: blocks of words whose values tell where they belong, so
// that a word of another rank, another block or another place is found out. One thread.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "buffers.hpp"
#include "suite.hpp"

namespace mbl {

/// All data are of this type, in multiples of its 8 bytes.
inline constexpr std::size_t kWordBytes = sizeof(double);

/// One message of a pattern, as both its ends name it: `to` is a rank or whatever tells the messages of one
/// sender apart. Where lengths are uneven they are an arithmetical progression of `steps` terms, and this
/// message has the length of term `step`.
struct Route {
  int from = 0, to = 0;
  int step = 0, steps = 1;
};

/// The word at `index` of a message: different for every route and index.
std::uint64_t word_of(const Route& route, std::size_t index);

/// What `rank` adds to place `index` of a vector: an integer, so that sums of doubles are exact.
double number_of(int rank, std::size_t index);

/// Lengths with the mean `words`: all the same, or rising from 0 to twice the mean.
enum class Lengths { kEven, kRising };
int length_of(const Route& route, int words, Lengths lengths);

/// A buffer of one block for each of its routes, one after the other.
class Blocks {
 public:
  /// `words` is the (mean) length of a block; each gets its length by its route.
  Blocks(std::vector<Route> routes, int words, Lengths lengths, Memory memory = Memory::kMalloc);

  double* data() const { return reinterpret_cast<double*>(memory_->data()); }
  double* block(int block) const { return data() + offsets_[static_cast<std::size_t>(block)]; }
  int size() const { return static_cast<int>(routes_.size()); }
  int words() const { return words_of_all_; }
  /// Of each block, in words.
  const std::vector<int>& counts() const { return counts_; }
  const std::vector<int>& offsets() const { return offsets_; }

  /// Writes all words, so that nothing looks right which did not come.
  void poison();
  void clear();
  void fill();
  void fill(const Route& route, int block);
  void fill_numbers(int rank);

  /// The first word that is not as its block's route tells; empty: none.
  std::string wrong() const { return wrong(routes_); }
  /// The same for other routes of the same lengths.
  std::string wrong(const std::vector<Route>& routes) const;
  /// The first word that is not the sum of the numbers of ranks 0 … ranks-1; the vector began `first` words
  /// before this buffer.
  std::string wrong_sums(int ranks, std::size_t first) const;

 private:
  std::vector<Route> routes_;
  std::vector<int> counts_, offsets_;
  int words_of_all_ = 0;
  std::unique_ptr<Buffer> memory_;
};

/// In place of a pattern that cannot be: says why.
class Unsupported : public Pattern {
 public:
  explicit Unsupported(std::string why) : why_(std::move(why)) {}
  void run(int) override {}
  std::string check() override { return kUnsupported + why_; }

 private:
  std::string why_;
};

/// Whether an int can count the units (of `unit` bytes) of so many blocks of the setting's size.
bool fits_int(const Setting& setting, std::int64_t blocks, std::int64_t unit);
inline const char kTooLarge[] = "so many bytes: its counts and places are ints";

}  // namespace mbl
