// The group collectives: the patterns of collectives_calls.cpp's operations, and the catalogue. An operation
// is timed back to back, at the rank that took longest; its data are in use (Use), unless touched=no.
#include "collectives.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "overlap.hpp"

namespace mbl {
namespace collective {
namespace {

constexpr std::int64_t kBytesMin = 8, kBytesMax = 4 << 20;
constexpr int kGridDimensions = 2;
const std::vector<std::int64_t> kAloneQuick = {8, 16 << 10, 64 << 10, 1 << 20};
// Of which --quick has these forms, too: those that programs call most.
constexpr std::string_view kCalledMost[] = {"barrier",  "bcast",     "gatherv", "allgather",
                                            "alltoall", "alltoallv", "reduce",  "allreduce"};

// Those that are measured with buffers which nobody touches, too.
constexpr std::string_view kUntouched[] = {"bcast", "allgather", "alltoall", "reduce", "allreduce"};
const std::vector<std::int64_t> kUntouchedQuick = {64 << 10, 1 << 20};

Member member_of(const Setting& setting, bool grid) {
  Member member{setting.comm, setting.rank, setting.size, {}};
  if (!grid) return member;
  int dimensions[kGridDimensions] = {}, periodic[kGridDimensions] = {1, 1};
  MPI_Dims_create(setting.size, kGridDimensions, dimensions);
  MPI_Cart_create(setting.comm, kGridDimensions, dimensions, periodic, 0, &member.comm);
  for (int dimension = 0; dimension < kGridDimensions; ++dimension) {
    int below = 0, above = 0;
    MPI_Cart_shift(member.comm, dimension, 1, &below, &above);
    member.neighbors.push_back(below);
    member.neighbors.push_back(above);
  }
  return member;
}

std::vector<Route> routes_of(Shape shape, bool takes_part, Route (*route)(const Member&, int),
                             const Member& member) {
  std::vector<Route> routes;
  const int each = member.neighbors.empty() ? member.size : static_cast<int>(member.neighbors.size());
  const int blocks = !takes_part || shape == Shape::kNone ? 0 : shape == Shape::kOne ? 1 : each;
  for (int block = 0; block < blocks; ++block) routes.push_back(route(member, block));
  return routes;
}

template <class Offset>
std::vector<Offset> bytes_of(const std::vector<int>& words) {
  std::vector<Offset> bytes;
  for (const int offset : words)
    bytes.push_back(static_cast<Offset>(offset) * static_cast<Offset>(kWordBytes));
  return bytes;
}

struct Variant {
  Form form = Form::kBlocking;
  Lengths lengths = Lengths::kEven;
  bool in_place = false;
  bool grid = false;
};

Arguments arguments_of(const Setting& setting, const Flow& flow, const Variant& variant) {
  const Member member = member_of(setting, variant.grid);
  const bool root = member.rank == 0;
  const int words = static_cast<int>(setting.bytes / static_cast<std::int64_t>(kWordBytes));
  Blocks out(routes_of(flow.out, root || !flow.root_sends, flow.sends, member), words, variant.lengths);
  Blocks in(routes_of(flow.in, root || !flow.root_receives, flow.receives, member), words, variant.lengths);
  Arguments at(member, std::move(out), std::move(in));
  at.words = words;
  at.in_place = variant.in_place;
  at.out_bytes = bytes_of<int>(at.out.offsets());
  at.in_bytes = bytes_of<int>(at.in.offsets());
  at.out_addresses = bytes_of<MPI_Aint>(at.out.offsets());
  at.in_addresses = bytes_of<MPI_Aint>(at.in.offsets());
  at.types.assign(at.out.counts().size(), MPI_DOUBLE);
  return at;
}

class Collective : public Pattern {
 public:
  Collective(const Setting& setting, const Operation& operation, const Variant& variant)
      : operation_(operation), variant_(variant), at_(arguments_of(setting, operation.flow, variant)) {
    fill();
    name_buffers();
    if (variant_.form == Form::kPersistent) start();
    if (variant_.form == Form::kOverlap) {
      overlap_ = std::make_unique<Overlap>(
          at_.comm(), [this] { start(); }, &at_.request, use_);
    }
  }
  ~Collective() override {
    if (at_.request != MPI_REQUEST_NULL) MPI_Request_free(&at_.request);
    if (variant_.grid) MPI_Comm_free(&at_.member.comm);
  }

  /// As a program between two calls: it reads what it got, writes what it sends next, and has other data.
  void prepare(int) override {
    if (!is_alone(variant_.form)) return;
    use_.turn(true);
    use_.read();
    use_.write();
    use_.turn(false);
    if (variant_.form == Form::kCold) flush_caches(at_.member.size);
    if (variant_.form == Form::kUsed) displace_caches();
  }

  void run(int rounds) override {
    if (variant_.form == Form::kOverlap) {
      overlap_->run(rounds);
      return;
    }
    const bool waits = variant_.form == Form::kNonblocking || variant_.form == Form::kPersistent;
    for (int i = 0; i < rounds; ++i) {
      use_.write();
      if (variant_.form == Form::kPersistent) {
        MPI_Start(&at_.request);
      } else {
        start();
      }
      if (waits) MPI_Wait(&at_.request, MPI_STATUS_IGNORE);
      use_.read();
    }
  }

  void settle() override {
    if (overlap_) overlap_->settle();
  }

  std::string check() override {
    fill();
    run(1);
    const Flow& flow = operation_.flow;
    if (flow.in == Shape::kNone) return kNotChecked;
    std::string wrong = flow.sum == Sum::kNone ? wrong_blocks(flow) : wrong_sums(flow);
    // Sums of sums in place would grow beyond all bounds; those of zeros do not.
    if (flow.sum != Sum::kNone) at_.in.clear();
    return wrong;
  }

  Notes notes() override {
    Notes notes = overlap_ ? overlap_->notes() : Notes{};
    if (swapped_) notes.emplace_back("directions_swapped", 1);
    return notes;
  }

 private:
  /// What goes out, which in place is a part of what comes in; a root that sends from there gets nothing.
  void name_buffers() {
    constexpr auto kBytes = static_cast<std::int64_t>(kWordBytes);
    const Flow& flow = operation_.flow;
    const bool root_gives = flow.out == Shape::kNone && at_.member.rank == 0;
    if (at_.in_place && flow.out == Shape::kOne && flow.sum == Sum::kNone) {
      const auto own = static_cast<std::size_t>(at_.member.rank);
      use_.gives(at_.in.block(at_.member.rank), at_.in.counts()[own] * kBytes);
    } else {
      Blocks& given = at_.in_place || root_gives ? at_.in : at_.out;
      use_.gives(given.data(), given.words() * kBytes);
    }
    if (!root_gives) use_.gets(at_.in.data(), at_.in.words() * kBytes);
  }

  void start() { operation_.call(variant_.form, at_); }

  void fill() {
    const Flow& flow = operation_.flow;
    at_.in.poison();
    if (flow.sum != Sum::kNone) {
      (at_.in_place ? at_.in : at_.out).fill_numbers(at_.member.rank);
      return;
    }
    at_.out.fill();
    if (flow.out == Shape::kNone) {
      if (at_.member.rank == 0) at_.in.fill();  // the root's buffer is where others receive
    } else if (at_.in_place && flow.out == Shape::kOne) {
      at_.in.fill(flow.sends(at_.member, 0), at_.member.rank);
    } else if (at_.in_place) {
      for (int block = 0; block < at_.in.size(); ++block) at_.in.fill(flow.sends(at_.member, block), block);
    }
  }

  /// Where one rank is both neighbours, the standard (MPI-4.1, 8.6) takes a message that was sent up as the
  /// one from below. Open MPI 5 takes it as the one from above: that is told, and measured all the same.
  std::string wrong_blocks(const Flow& flow) {
    std::string wrong = at_.in.wrong();
    if (wrong.empty() || flow.receives_swapped == nullptr) return wrong;
    swapped_ = at_.in.wrong(routes_of(flow.in, true, flow.receives_swapped, at_.member)).empty();
    return swapped_ ? "" : wrong;
  }

  std::string wrong_sums(const Flow& flow) const {
    const int rank = at_.member.rank;
    if (at_.in.size() == 0) return "";
    if (flow.sum == Sum::kUpToThis) return at_.in.wrong_sums(rank + 1, 0);
    if (flow.sum == Sum::kBelowThis) return rank == 0 ? "" : at_.in.wrong_sums(rank, 0);
    const bool scattered = flow.out == Shape::kEach;
    const auto first =
        scattered ? static_cast<std::size_t>(at_.out.offsets()[static_cast<std::size_t>(rank)]) : 0;
    return at_.in.wrong_sums(at_.member.size, first);
  }

  const Operation& operation_;
  const Variant variant_;
  Arguments at_;
  std::unique_ptr<Overlap> overlap_;
  bool swapped_ = false;
};

std::string doc_of(const Operation& operation, const Variant& variant) {
  std::string doc = operation.doc;
  if (variant.lengths == Lengths::kRising) doc += ", M the mean: the blocks' lengths rise from 0 to 2M";
  if (variant.in_place) doc += ", in place";
  switch (variant.form) {
    case Form::kBlocking:
      break;
    case Form::kUsed:
      return doc + ": one call, of buffers that the ranks used before";
    case Form::kCold:
      return doc + ": one call, of buffers that are in no cache";
    case Form::kNonblocking:
      return doc + ": the nonblocking call and MPI_Wait";
    case Form::kOverlap:
      return doc + ": the nonblocking call, computing for as long as it takes alone, MPI_Wait";
    case Form::kPersistent:
      return doc + ": MPI_Start and MPI_Wait of the persistent request";
  }
  return doc;
}

std::vector<std::int64_t> sizes_of(const Operation& operation, const Variant& variant) {
  if (operation.flow.in == Shape::kNone) return {0};
  std::vector<std::int64_t> all = powers_of_two(kBytesMin, kBytesMax);
  if (variant.form == Form::kBlocking && variant.lengths == Lengths::kEven && !variant.in_place) return all;
  std::vector<std::int64_t> every_other;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 2 == 1 || i == 0) every_other.push_back(all[i]);
  }
  return every_other;
}

void add(Catalogue& catalogue, const Operation& operation, const Variant& variant) {
  const bool even_lengths = variant.lengths == Lengths::kEven;
  Benchmark benchmark;
  benchmark.group = "collectives";
  benchmark.name = operation.name;
  benchmark.variant = std::string("form=") + name_of(variant.form);
  if (operation.also == Also::kUneven)
    benchmark.variant += even_lengths ? ",lengths=even" : ",lengths=rising";
  if (operation.also == Also::kInPlace)
    benchmark.variant += variant.in_place ? ",buffers=one" : ",buffers=two";
  benchmark.doc = doc_of(operation, variant);
  benchmark.bytes = sizes_of(operation, variant);
  const bool plain = !variant.in_place && even_lengths;
  if (is_alone(variant.form)) {
    benchmark.rounds_max = 1;
    const bool most = std::ranges::find(kCalledMost, operation.name) != std::end(kCalledMost);
    if (most) benchmark.quick_bytes = operation.flow.in == Shape::kNone ? benchmark.bytes : kAloneQuick;
  } else if (variant.form != Form::kBlocking) {
    benchmark.quick_bytes = operation.quick_bytes_others;
  } else if (plain) {
    benchmark.quick_bytes = operation.quick_bytes;
  } else {
    benchmark.quick_bytes = {64 << 10};
  }
  benchmark.unit = kWordBytes;
  benchmark.factor = operation.factor;
  benchmark.make = [&operation, variant](const Setting& setting) -> std::unique_ptr<Pattern> {
    if (variant.form == Form::kPersistent && !kPersistentCollectives) {
      return std::make_unique<Unsupported>("persistent collectives, which came with MPI 4");
    }
    // Rising lengths reach twice the mean; MPI_Alltoallw's places are bytes.
    const std::int64_t unit = std::string_view(operation.name) == "alltoallw" ? 1 : kWordBytes;
    if (!fits_int(setting, 2 * setting.size, unit)) return std::make_unique<Unsupported>(kTooLarge);
    return std::make_unique<Collective>(setting, operation, variant);
  };
  if (operation.flow.in == Shape::kNone || is_alone(variant.form)) {
    catalogue.push_back(std::move(benchmark));  // no data, or used as the form says
    return;
  }
  const bool base = plain && variant.form == Form::kBlocking;
  const bool untouched = base && std::ranges::find(kUntouched, operation.name) != std::end(kUntouched);
  add_in_use(catalogue, std::move(benchmark), untouched ? kUntouchedQuick : std::vector<std::int64_t>{});
}

void add_all(Catalogue& catalogue, const std::vector<Operation>& table, bool grid) {
  for (const Operation& operation : table) {
    for (const Form form : kForms) add(catalogue, operation, {form, Lengths::kEven, false, grid});
    if (operation.also == Also::kUneven) {
      add(catalogue, operation, {Form::kBlocking, Lengths::kRising, false, grid});
    } else if (operation.also == Also::kInPlace) {
      add(catalogue, operation, {Form::kBlocking, Lengths::kEven, true, grid});
    }
  }
}

}  // namespace

const char* name_of(Form form) {
  switch (form) {
    case Form::kBlocking:
      return "blocking";
    case Form::kUsed:
      return "used";
    case Form::kCold:
      return "cold";
    case Form::kNonblocking:
      return "nonblocking";
    case Form::kOverlap:
      return "overlap";
    case Form::kPersistent:
      return "persistent";
  }
  return "";
}

}  // namespace collective

void add_collectives(Catalogue& catalogue) {
  collective::add_all(catalogue, collective::operations(), false);
  collective::add_all(catalogue, collective::neighbor_operations(), true);
}

}  // namespace mbl
