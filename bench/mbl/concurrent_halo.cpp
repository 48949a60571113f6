// The exchange of halos: an array of 1, 2 or 3 dimensions is cut among the ranks of a periodic grid of as
// many dimensions, and each rank gets the faces of its neighbours' parts into the halo around its own. All
// faces have M bytes; they are subarray datatypes: contiguous in one dimension, in two and three also
// strided. No corners. Two and three dimensions have halos one element wide; in one, it is as wide as M
// tells.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "buffers.hpp"
#include "concurrent.hpp"
#include "suite.hpp"

namespace mbl {
namespace {

enum class HaloWay { kIsend, kSendrecv, kPersistent, kAlltoallw, kPutPscw, kPutFence };

constexpr int kDimensionsMax = 3;
constexpr std::int64_t kFaceBytesMax[kDimensionsMax] = {64 << 20, 32 << 10, 1 << 20};
constexpr double kPoison = -1;

/// A rank's part: `inner` elements in each dimension, and around them a halo of `width`.
struct Extent {
  int dimensions = 1, inner = 1, width = 1;

  int words_of_face() const { return dimensions == 1 ? width : dimensions == 2 ? inner : inner * inner; }
  int outer() const { return inner + 2 * width; }
  std::int64_t elements() const {
    std::int64_t product = 1;
    for (int i = 0; i < dimensions; ++i) product *= outer();
    return product;
  }
};

/// The part whose faces have `words`, if there is one (words_of_face()).
Extent extent_of(int dimensions, int words) {
  const int at_least_one = std::max(1, words);
  if (dimensions == 1) return {1, 2 * at_least_one, at_least_one};
  if (dimensions == 2) return {2, at_least_one, 1};
  return {3, static_cast<int>(std::lround(std::sqrt(at_least_one))), 1};
}

/// Two neighbours in each dimension: 2 * dimension is below, 2 * dimension + 1 above. A message's tag is the
/// direction in which it goes.
class Halo : public Pattern {
 public:
  Halo(const Setting& setting, HaloWay way, int dimensions)
      : way_(way),
        words_(static_cast<int>(setting.bytes / static_cast<std::int64_t>(kWordBytes))),
        extent_(extent_of(dimensions, words_)),
        directions_(2 * dimensions),
        memory_(extent_.elements() * static_cast<std::int64_t>(kWordBytes)),
        array_(reinterpret_cast<double*>(memory_.data())) {
    make_grid(setting);
    for (int direction = 0; direction < directions_; ++direction) {
      send_types_[at(direction)] = face(direction, false);
      receive_types_[at(direction)] = face(direction, true);
    }
    counts_.fill(1);
    name_faces();
    if (way == HaloWay::kPersistent) make_requests();
    if (way == HaloWay::kPutPscw || way == HaloWay::kPutFence) make_window();
  }

  ~Halo() override {
    if (way_ == HaloWay::kPersistent) {
      for (int i = 0; i < 2 * directions_; ++i) MPI_Request_free(&requests_[at(i)]);
    }
    if (way_ == HaloWay::kPutFence) MPI_Win_fence(0, window_);
    if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
    if (group_ != MPI_GROUP_NULL) MPI_Group_free(&group_);
    for (int direction = 0; direction < directions_; ++direction) {
      MPI_Type_free(&send_types_[at(direction)]);
      MPI_Type_free(&receive_types_[at(direction)]);
    }
    MPI_Comm_free(&grid_);
  }

  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) {
      use_.write();
      switch (way_) {
        case HaloWay::kIsend:
          exchange_at_once();
          break;
        case HaloWay::kSendrecv:
          exchange_by_dimension();
          break;
        case HaloWay::kPersistent:
          MPI_Startall(2 * directions_, requests_.data());
          MPI_Waitall(2 * directions_, requests_.data(), MPI_STATUSES_IGNORE);
          break;
        case HaloWay::kAlltoallw:
          MPI_Neighbor_alltoallw(array_, counts_.data(), places_.data(), send_types_.data(), array_,
                                 counts_.data(), places_.data(), receive_types_.data(), grid_);
          break;
        case HaloWay::kPutPscw:
          MPI_Win_post(group_, 0, window_);
          MPI_Win_start(group_, 0, window_);
          put_faces();
          MPI_Win_complete(window_);
          MPI_Win_wait(window_);
          break;
        case HaloWay::kPutFence:
          if (use_.is_on()) MPI_Win_fence(0, window_);  // no rank puts before we have read
          put_faces();
          MPI_Win_fence(0, window_);
          break;
      }
      use_.read();
    }
  }

  std::string check() override {
    for (std::int64_t i = 0; i < extent_.elements(); ++i) {
      array_[i] = is_inside(i) ? known(rank_, i) : kPoison;
    }
    if (way_ == HaloWay::kPutFence) MPI_Win_fence(0, window_);  // no rank puts before we have written
    run(1);
    const std::string wrong = difference(false);
    swapped_ = !wrong.empty() && way_ == HaloWay::kAlltoallw && difference(true).empty();
    return swapped_ ? "" : wrong;
  }

  /// 1 where MPI_Neighbor_alltoallw has the two messages of one neighbour the wrong way round
  /// (collectives.cpp).
  Notes notes() override { return swapped_ ? Notes{{"directions_swapped", 1}} : Notes{}; }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static int opposite(int direction) { return direction ^ 1; }

  void make_grid(const Setting& setting) {
    int sizes[kDimensionsMax] = {}, periodic[kDimensionsMax] = {1, 1, 1};
    MPI_Dims_create(setting.size, extent_.dimensions, sizes);
    MPI_Cart_create(setting.comm, extent_.dimensions, sizes, periodic, 0, &grid_);
    MPI_Comm_rank(grid_, &rank_);
    for (int dimension = 0; dimension < extent_.dimensions; ++dimension) {
      MPI_Cart_shift(grid_, dimension, 1, &neighbors_[at(2 * dimension)], &neighbors_[at(2 * dimension + 1)]);
    }
  }

  /// What is sent in a direction; or what comes from there.
  MPI_Datatype face(int direction, bool halo) const {
    int sizes[kDimensionsMax], parts[kDimensionsMax], starts[kDimensionsMax];
    for (int i = 0; i < extent_.dimensions; ++i) {
      sizes[i] = extent_.outer();
      parts[i] = extent_.inner;
      starts[i] = extent_.width;
    }
    const int dimension = direction / 2, below = halo ? 0 : extent_.width;
    parts[dimension] = extent_.width;
    starts[dimension] = direction % 2 == 0 ? below : extent_.outer() - extent_.width - below;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_subarray(extent_.dimensions, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
  }

  /// What lies at an edge goes out, what lies outside in one direction comes in; what is contiguous at once.
  void name_faces() {
    std::int64_t given = 0, got = 0;
    for (std::int64_t i = 0; i <= extent_.elements(); ++i) {
      const bool gives = i < extent_.elements() && is_at_edge(i);
      const bool gets = i < extent_.elements() && outside(i).count == 1;
      if (!gives && given > 0) use_.gives(array_ + i - given, given * std::int64_t{kWordBytes});
      if (!gets && got > 0) use_.gets(array_ + i - got, got * std::int64_t{kWordBytes});
      given = gives ? given + 1 : 0;
      got = gets ? got + 1 : 0;
    }
  }

  void make_requests() {
    for (int i = 0; i < directions_; ++i) {
      MPI_Recv_init(array_, 1, receive_types_[at(i)], neighbors_[at(i)], opposite(i), grid_,
                    &requests_[at(i)]);
      MPI_Send_init(array_, 1, send_types_[at(i)], neighbors_[at(i)], i, grid_,
                    &requests_[at(directions_ + i)]);
    }
  }

  void make_window() {
    MPI_Win_create(array_, memory_.size(), static_cast<int>(kWordBytes), MPI_INFO_NULL, grid_, &window_);
    if (way_ == HaloWay::kPutFence) MPI_Win_fence(0, window_);
    std::vector<int> different;
    for (int i = 0; i < directions_; ++i) {
      bool known = false;
      for (const int rank : different) known = known || rank == neighbors_[at(i)];
      if (!known) different.push_back(neighbors_[at(i)]);
    }
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Comm_group(grid_, &all);
    MPI_Group_incl(all, static_cast<int>(different.size()), different.data(), &group_);
    MPI_Group_free(&all);
  }

  void exchange_at_once() {
    for (int i = 0; i < directions_; ++i) {
      MPI_Irecv(array_, 1, receive_types_[at(i)], neighbors_[at(i)], opposite(i), grid_, &requests_[at(i)]);
    }
    for (int i = 0; i < directions_; ++i) {
      MPI_Isend(array_, 1, send_types_[at(i)], neighbors_[at(i)], i, grid_, &requests_[at(directions_ + i)]);
    }
    MPI_Waitall(2 * directions_, requests_.data(), MPI_STATUSES_IGNORE);
  }

  /// In each dimension all send down, then all send up.
  void exchange_by_dimension() {
    for (int i = 0; i < directions_; ++i) {
      MPI_Sendrecv(array_, 1, send_types_[at(i)], neighbors_[at(i)], i, array_, 1,
                   receive_types_[at(opposite(i))], neighbors_[at(opposite(i))], i, grid_, MPI_STATUS_IGNORE);
    }
  }

  void put_faces() {
    for (int i = 0; i < directions_; ++i) {
      MPI_Put(array_, 1, send_types_[at(i)], neighbors_[at(i)], 0, 1, receive_types_[at(opposite(i))],
              window_);
    }
  }

  /// What a rank has at an element of its own.
  static double known(int rank, std::int64_t element) { return rank * 0x1p32 + static_cast<double>(element); }

  std::array<int, kDimensionsMax> coordinates(std::int64_t element) const {
    std::array<int, kDimensionsMax> found = {};
    for (int i = extent_.dimensions; i-- > 0; element /= extent_.outer()) {
      found[at(i)] = static_cast<int>(element % extent_.outer());
    }
    return found;
  }

  /// The directions in which an element lies outside of our own; -1: none.
  struct Outside {
    int count = 0, direction = -1;
  };
  Outside outside(std::int64_t element) const {
    Outside found;
    const auto where = coordinates(element);
    for (int i = 0; i < extent_.dimensions; ++i) {
      const bool below = where[at(i)] < extent_.width, above = where[at(i)] >= extent_.width + extent_.inner;
      if (!below && !above) continue;
      ++found.count;
      found.direction = 2 * i + above;
    }
    return found;
  }
  bool is_inside(std::int64_t element) const { return outside(element).count == 0; }
  bool is_at_edge(std::int64_t element) const {
    if (!is_inside(element)) return false;
    const auto where = coordinates(element);
    for (int i = 0; i < extent_.dimensions; ++i) {
      if (where[at(i)] < 2 * extent_.width || where[at(i)] >= extent_.inner) return true;
    }
    return false;
  }

  /// The element of the neighbour in `direction` that belongs at an element of our halo: the one that lies
  /// there if the parts are laid side by side. Swapped: the one at the neighbour's other end, if that
  /// neighbour is the one in the opposite direction, too.
  std::int64_t source_of(std::int64_t element, int direction, bool swapped) const {
    std::int64_t stride = 1;
    for (int i = extent_.dimensions - 1; i > direction / 2; --i) stride *= extent_.outer();
    const bool twins = neighbors_[at(direction)] == neighbors_[at(opposite(direction))];
    const int distance = swapped && twins ? extent_.width : extent_.inner;
    return element + (direction % 2 == 0 ? stride : -stride) * distance;
  }

  /// The first element that is not what it should be; empty: none.
  std::string difference(bool swapped) const {
    for (std::int64_t i = 0; i < extent_.elements(); ++i) {
      const auto [count, direction] = outside(i);
      double expected = kPoison;
      if (count == 0) expected = known(rank_, i);
      if (count == 1) expected = known(neighbors_[at(direction)], source_of(i, direction, swapped));
      if (array_[i] == expected) continue;
      return "element " + std::to_string(i) + (count == 1 ? ", of the halo" : "") + ": is " +
             std::to_string(array_[i]) + ", expected " + std::to_string(expected);
    }
    return "";
  }

  const HaloWay way_;
  const int words_;  // of a face
  const Extent extent_;
  const int directions_;
  Buffer memory_;
  double* array_;
  int rank_ = 0;
  MPI_Comm grid_ = MPI_COMM_NULL;
  std::array<int, 2 *kDimensionsMax> neighbors_ = {}, counts_ = {};
  std::array<MPI_Aint, 2 * kDimensionsMax> places_ = {};
  std::array<MPI_Datatype, 2 *kDimensionsMax> send_types_ = {}, receive_types_ = {};
  std::array<MPI_Request, 4 * kDimensionsMax> requests_ = {};
  MPI_Win window_ = MPI_WIN_NULL;
  MPI_Group group_ = MPI_GROUP_NULL;
  bool swapped_ = false;
};

/// Of a face. Beyond, the whole part of a rank would be large.
std::vector<std::int64_t> sizes_of(int dimensions) {
  if (dimensions == 1) return powers_of_two(8, 4 << 20);
  if (dimensions == 2) return powers_of_two(64, 8 << 10);
  std::vector<std::int64_t> sizes;
  for (std::int64_t edge = 4; edge <= 128; edge *= 2) sizes.push_back(edge * edge * std::int64_t{kWordBytes});
  return sizes;
}

void add(Catalogue& catalogue, HaloWay way, const char* way_name, const char* calls, int dimensions) {
  constexpr std::int64_t kQuickBytes[] = {64 << 10, 8 << 10, 32 << 10};
  Benchmark benchmark;
  benchmark.group = "concurrent";
  benchmark.name = "halo";
  benchmark.variant = std::string("way=") + way_name + ",dimensions=" + std::to_string(dimensions);
  benchmark.doc = "every rank gets a face of M bytes from each of " + std::to_string(2 * dimensions) +
                  " neighbours by " + calls;
  benchmark.bytes = sizes_of(dimensions);
  benchmark.quick_bytes = {kQuickBytes[dimensions - 1]};
  benchmark.unit = kWordBytes;
  benchmark.factor = [dimensions](int) { return 2.0 * dimensions; };
  benchmark.make = [way, dimensions](const Setting& setting) -> std::unique_ptr<Pattern> {
    // The whole part of a rank: few bytes of a face make many.
    if (setting.bytes > kFaceBytesMax[dimensions - 1]) {
      return std::make_unique<Unsupported>("faces of more than " +
                                           std::to_string(kFaceBytesMax[dimensions - 1]) + " bytes");
    }
    const int words = static_cast<int>(setting.bytes / static_cast<std::int64_t>(kWordBytes));
    if (extent_of(dimensions, words).words_of_face() != words) {
      return std::make_unique<Unsupported>(
          "faces of no doubles, or in three dimensions of no square number of them");
    }
    return std::make_unique<Halo>(setting, way, dimensions);
  };
  enter(catalogue, std::move(benchmark));
}

}  // namespace

void add_halos(Catalogue& catalogue) {
  for (int dimensions = 1; dimensions <= kDimensionsMax; ++dimensions) {
    add(catalogue, HaloWay::kIsend, "isend", "MPI_Irecv, MPI_Isend and one MPI_Waitall", dimensions);
    add(catalogue, HaloWay::kSendrecv, "sendrecv", "MPI_Sendrecv, one direction after the other", dimensions);
    add(catalogue, HaloWay::kPersistent, "persistent", "MPI_Startall and MPI_Waitall", dimensions);
    add(catalogue, HaloWay::kAlltoallw, "neighbor_alltoallw", "MPI_Neighbor_alltoallw", dimensions);
    add(catalogue, HaloWay::kPutPscw, "put_pscw", "MPI_Put between MPI_Win_post, start, complete and wait",
        dimensions);
    add(catalogue, HaloWay::kPutFence, "put_fence", "MPI_Put and MPI_Win_fence", dimensions);
  }
}

}  // namespace mbl
