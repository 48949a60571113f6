// Random sequences of collectives, blocking and nonblocking mixed, on real ranks (threads) against an oracle:
// with random roots, counts, datatypes with gaps that differ between ranks, MPI_IN_PLACE, operations that do
// not commute; on worlds of 1 to 8 ranks and both links. The wanted algorithms change on the way, so
// that all algorithms are met with little data.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/predefined.hpp"
#include "coll/api.hpp"
#include "coll/run/execution.hpp"
#include "datatype/call/api.hpp"
#include "object/objects.hpp"
#include "p2p/call/api.hpp"
#include "support/sanitized.hpp"
#include "support/world.hpp"

namespace tasuki::test {
namespace {

constexpr int kPrime = 10007;

/// A datatype of `ints` int32 in a row, and where element i has them.
struct Cell {
  Datatype* type;
  Count stride;  // in int32
  Count first;
  int ints;
};

/// Datatypes with and without gaps; freed by the end of the test.
struct Cells {
  explicit Cells(Process& rank_process) : process(rank_process) {
    for (int ints : {1, 2}) {
      Datatype* dense = static_cast<Datatype*>(process.objects->predefined[kMpiInt32T]);
      if (ints == 2)
        dense = keep([&](Datatype** made) { api::type_contiguous(process, 2, integer(), made, false); });
      cells.push_back({dense, ints, 0, ints});
      Datatype* gaps =
          keep([&](Datatype** made) { api::type_create_resized(process, dense, -4, 16, made, false); });
      cells.push_back({gaps, 4, 0, ints});
      const std::int64_t shift[] = {4};
      Datatype* shifted = nullptr;
      api::type_create_hindexed_block(process, 1, 1, CountArray(shift), dense, &shifted, false);
      Datatype* padded =
          keep([&](Datatype** made) { api::type_create_resized(process, shifted, 0, 12, made, false); });
      api::type_free(process, &shifted);
      cells.push_back({padded, 3, 1, ints});
    }
  }
  ~Cells() {
    for (Datatype* type : made_) api::type_free(process, &type);
  }
  Datatype* integer() const { return static_cast<Datatype*>(process.objects->predefined[kMpiInt32T]); }

  template <class Make>
  Datatype* keep(Make&& make) {
    Datatype* type = nullptr;
    make(&type);
    api::type_commit(process, &type);
    made_.push_back(type);
    return type;
  }

  /// One of the three with `ints` int32.
  const Cell& pick(int ints, int which) const {
    return cells[static_cast<std::size_t>(3 * (ints - 1) + which % 3)];
  }

  Process& process;
  std::vector<Cell> cells;

 private:
  std::vector<Datatype*> made_;
};

/// Elements of a cell, between margins that nobody may write.
struct Buffer {
  static constexpr std::int32_t kMargin = -77;
  Cell cell{};
  std::vector<std::int32_t> memory;

  void make(const Cell& of, Count count) {
    cell = of;
    memory.assign(static_cast<std::size_t>((count + 2) * cell.stride + 8), kMargin);
  }
  void* address() { return memory.data() + 4; }
  std::int32_t& at(Count element, int part = 0) {
    return memory[static_cast<std::size_t>(4 + element * cell.stride + cell.first + part)];
  }
};

/// The affine map x -> a x + b (mod kPrime). `then` is associative and does not commute.
struct Map {
  std::int32_t a, b;
  Map then(Map next) const { return {a * next.a % kPrime, (b * next.a + next.b) % kPrime}; }
};

void compose(const void* in, void* inout, Count count, Datatype* datatype) {
  for (Count i = 0; i < count; ++i) {
    const Count offset = i * datatype->extent + datatype->true_lb;
    const auto* left = reinterpret_cast<const std::int32_t*>(static_cast<const char*>(in) + offset);
    auto* right = reinterpret_cast<std::int32_t*>(static_cast<char*>(inout) + offset);
    const Map map = Map{left[0], left[1]}.then({right[0], right[1]});
    right[0] = map.a;
    right[1] = map.b;
  }
}

void add_pairs(const void* in, void* inout, Count count, Datatype* datatype) {
  for (Count i = 0; i < count; ++i) {
    const Count offset = i * datatype->extent + datatype->true_lb;
    const auto* left = reinterpret_cast<const std::int32_t*>(static_cast<const char*>(in) + offset);
    auto* right = reinterpret_cast<std::int32_t*>(static_cast<char*>(inout) + offset);
    right[0] = (left[0] + right[0]) % kPrime;
    right[1] = (left[1] + right[1]) % kPrime;
  }
}

std::int32_t value_of(int step, int from, int to, Count i) {
  return static_cast<std::int32_t>((step * 7919 + from * 613 + to * 89 + i) % kPrime);
}

/// One collective under way.
struct Call {
  Buffer send, receive;
  std::vector<std::int64_t> send_counts, send_displacements, receive_counts, receive_displacements;
  std::vector<Datatype*> send_types, receive_types;
  Request* request = nullptr;
  std::function<void(Call&)> check;
};

class Sequence {
 public:
  Sequence(Process& process, unsigned seed)
      : process_(process), comm_(process.objects->world), random_(seed), cells_(process) {
    for (Op* op : {&compose_, &add_})
      op->function = reinterpret_cast<AnyFunction>(op == &add_ ? add_pairs : compose);
    compose_.commutative = false;
  }

  void run(int steps) {
    for (step_ = 0; step_ < steps; ++step_) {
      choose();
      auto call = std::make_unique<Call>();
      static constexpr void (Sequence::*kOperations[])(Call&) = {
          &Sequence::barrier,   &Sequence::bcast,
          &Sequence::gather,    &Sequence::gatherv,
          &Sequence::scatter,   &Sequence::scatterv,
          &Sequence::allgather, &Sequence::allgatherv,
          &Sequence::alltoall,  &Sequence::alltoallv,
          &Sequence::alltoallw, &Sequence::reduce,
          &Sequence::reduce,    &Sequence::allreduce,
          &Sequence::allreduce, &Sequence::reduce_scatter_block,
          &Sequence::scan,      &Sequence::reduce_scatter,
          &Sequence::exscan};
      (this->*kOperations[draw(std::size(kOperations))])(*call);
      if (testing::Test::HasFatalFailure()) return;
      if (nonblocking_) {
        under_way_.push_back(std::move(call));
        while (under_way_.size() > 4) finish(draw(under_way_.size()));
      } else {
        call->check(*call);
      }
      if (testing::Test::HasFailure()) return;
    }
    while (!under_way_.empty()) finish(draw(under_way_.size()));
  }

 private:
  std::size_t draw(std::size_t below) { return random_() % below; }

  /// Draws what the next call is like: the same on all ranks.
  void choose() {
    static constexpr Count kCounts[] = {0, 1, 2, 3, 5, 17, 64, 600, 3000};
    count_ = kCounts[draw(std::size(kCounts))];
    root_ = static_cast<int>(draw(static_cast<std::size_t>(size())));
    type_ = static_cast<int>(draw(3));
    in_place_ = draw(4) == 0;
    nonblocking_ = draw(2) == 0;
    commutative_ = draw(2) == 0;
    for (const OperationRow& operation : operation_table()) {
      const auto algorithms = algorithms_of(static_cast<Operation>(&operation - operation_table().data()));
      process_.config.*operation.algorithm = static_cast<std::int64_t>(draw(algorithms.size() + 1));
    }
    static constexpr std::int64_t kSegments[] = {0, 64, 1000};
    process_.config.segment_bytes = kSegments[draw(std::size(kSegments))];
    process_.collectives->settings_changed();
  }

  void finish(std::size_t index) {
    const std::unique_ptr<Call> call = std::move(under_way_[index]);
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(index));
    Status status;
    if (draw(2) == 0) {
      bool done = false;
      while (!done) {
        ASSERT_EQ(api::test(process_, &call->request, &done, &status), 0);
        std::this_thread::yield();  // there are more ranks than processors
      }
    } else {
      ASSERT_EQ(api::wait(process_, &call->request, &status), 0);
    }
    ASSERT_EQ(call->request, nullptr);
    call->check(*call);
  }

  int rank() const { return comm_->rank; }
  int size() const { return comm_->size(); }
  bool at_root() const { return rank() == root_; }
  const Cell& cell(int ints, int shift = 0) const { return cells_.pick(ints, type_ + rank() + shift); }
  Op* op() { return commutative_ ? &add_ : &compose_; }

  /// Counts and displacements of a vector form; `count(peer)` elements each, in the reverse order, with gaps.
  template <class CountOf>
  Count lay_out(std::vector<std::int64_t>* counts, std::vector<std::int64_t>* displacements,
                CountOf&& count) {
    counts->resize(static_cast<std::size_t>(size()));
    displacements->resize(static_cast<std::size_t>(size()));
    Count elements = 0;
    for (int peer = size() - 1; peer >= 0; --peer) {
      (*counts)[static_cast<std::size_t>(peer)] = count(peer);
      (*displacements)[static_cast<std::size_t>(peer)] = elements;
      elements += count(peer) + 1;
    }
    return elements;
  }
  Count block_count(int of) const { return (count_ + of) % 7; }

  void barrier(Call& call) {
    call.check = [](Call&) {};
    if (nonblocking_) {
      ASSERT_EQ(api::ibarrier(process_, comm_, &call.request), 0);
    } else {
      ASSERT_EQ(api::barrier(process_, comm_), 0);
    }
  }

  void bcast(Call& call) {
    call.receive.make(cell(1), count_);
    for (Count i = 0; at_root() && i < count_; ++i) call.receive.at(i) = value_of(step_, root_, 0, i);
    call.check = [step = step_, root = root_, count = count_](Call& c) {
      for (Count i = 0; i < count; ++i) ASSERT_EQ(c.receive.at(i), value_of(step, root, 0, i));
    };
    void* buffer = call.receive.address();
    Datatype* type = call.receive.cell.type;
    ASSERT_EQ(nonblocking_ ? api::ibcast(process_, buffer, count_, type, root_, comm_, &call.request)
                           : api::bcast(process_, buffer, count_, type, root_, comm_),
              0);
  }

  void gather(Call& call) { gather_any(call, false); }
  void gatherv(Call& call) { gather_any(call, true); }

  void gather_any(Call& call, bool vector) {
    const auto count_of = [=, this](int peer) { return vector ? block_count(peer) : count_; };
    const Count own = count_of(rank());
    call.send.make(cell(1), own);
    for (Count i = 0; i < own; ++i) call.send.at(i) = value_of(step_, rank(), root_, i);
    call.check = [](Call&) {};
    const bool in_place = in_place_ && at_root();
    if (at_root()) {
      Count elements = lay_out(&call.receive_counts, &call.receive_displacements, count_of);
      if (!vector) elements = size() * count_;
      call.receive.make(cell(1, 1), elements);
      const auto place = [=](Call& c, int peer) {
        return vector ? c.receive_displacements[static_cast<std::size_t>(peer)] : peer * own;
      };
      for (Count i = 0; in_place && i < own; ++i)
        call.receive.at(place(call, rank()) + i) = value_of(step_, rank(), root_, i);
      call.check = [=, step = step_, root = root_, ranks = size()](Call& c) {
        for (int from = 0; from < ranks; ++from) {
          for (Count i = 0; i < c.receive_counts[static_cast<std::size_t>(from)]; ++i)
            ASSERT_EQ(c.receive.at(place(c, from) + i), value_of(step, from, root, i));
        }
      };
    }
    const void* send = in_place ? kInPlace : call.send.address();
    Datatype* send_type = in_place ? nullptr : call.send.cell.type;
    void* receive = at_root() ? call.receive.address() : nullptr;
    Datatype* type = at_root() ? call.receive.cell.type : nullptr;
    const CountArray counts(at_root() ? call.receive_counts.data() : nullptr);
    const CountArray displs(at_root() ? call.receive_displacements.data() : nullptr);
    Request** request = &call.request;
    if (vector) {
      ASSERT_EQ(nonblocking_ ? api::igatherv(process_, send, own, send_type, receive, counts, displs, type,
                                             root_, comm_, request)
                             : api::gatherv(process_, send, own, send_type, receive, counts, displs, type,
                                            root_, comm_),
                0);
    } else {
      ASSERT_EQ(
          nonblocking_
              ? api::igather(process_, send, own, send_type, receive, count_, type, root_, comm_, request)
              : api::gather(process_, send, own, send_type, receive, count_, type, root_, comm_),
          0);
    }
  }

  void scatter(Call& call) { scatter_any(call, false); }
  void scatterv(Call& call) { scatter_any(call, true); }

  void scatter_any(Call& call, bool vector) {
    const auto count_of = [=, this](int peer) { return vector ? block_count(peer) : count_; };
    const Count own = count_of(rank());
    const bool in_place = in_place_ && at_root();
    call.receive.make(cell(1), own);
    if (at_root()) {
      Count elements = lay_out(&call.send_counts, &call.send_displacements, count_of);
      if (!vector) elements = size() * count_;
      call.send.make(cell(1, 1), elements);
      for (int to = 0; to < size(); ++to) {
        const Count first = vector ? call.send_displacements[static_cast<std::size_t>(to)] : to * own;
        for (Count i = 0; i < count_of(to); ++i) call.send.at(first + i) = value_of(step_, root_, to, i);
      }
    }
    call.check = [=, step = step_, root = root_, me = rank()](Call& c) {
      for (Count i = 0; !in_place && i < own; ++i) ASSERT_EQ(c.receive.at(i), value_of(step, root, me, i));
    };
    const void* send = at_root() ? call.send.address() : nullptr;
    Datatype* type = at_root() ? call.send.cell.type : nullptr;
    const CountArray counts(at_root() ? call.send_counts.data() : nullptr);
    const CountArray displs(at_root() ? call.send_displacements.data() : nullptr);
    void* receive = in_place ? kInPlace : call.receive.address();
    Datatype* receive_type = in_place ? nullptr : call.receive.cell.type;
    Request** request = &call.request;
    if (vector) {
      ASSERT_EQ(nonblocking_ ? api::iscatterv(process_, send, counts, displs, type, receive, own,
                                              receive_type, root_, comm_, request)
                             : api::scatterv(process_, send, counts, displs, type, receive, own, receive_type,
                                             root_, comm_),
                0);
    } else {
      ASSERT_EQ(
          nonblocking_
              ? api::iscatter(process_, send, count_, type, receive, own, receive_type, root_, comm_, request)
              : api::scatter(process_, send, count_, type, receive, own, receive_type, root_, comm_),
          0);
    }
  }

  void allgather(Call& call) { allgather_any(call, false); }
  void allgatherv(Call& call) { allgather_any(call, true); }

  void allgather_any(Call& call, bool vector) {
    const auto count_of = [=, this](int peer) { return vector ? block_count(peer) : count_; };
    const Count own = count_of(rank());
    Count elements = lay_out(&call.receive_counts, &call.receive_displacements, count_of);
    if (!vector) elements = size() * count_;
    call.send.make(cell(1), own);
    call.receive.make(cell(1, 1), elements);
    const auto place = [=](Call& c, int peer) {
      return vector ? c.receive_displacements[static_cast<std::size_t>(peer)] : peer * own;
    };
    for (Count i = 0; i < own; ++i) {
      call.send.at(i) = value_of(step_, rank(), 0, i);
      if (in_place_) call.receive.at(place(call, rank()) + i) = value_of(step_, rank(), 0, i);
    }
    call.check = [=, step = step_, ranks = size()](Call& c) {
      for (int from = 0; from < ranks; ++from) {
        for (Count i = 0; i < c.receive_counts[static_cast<std::size_t>(from)]; ++i)
          ASSERT_EQ(c.receive.at(place(c, from) + i), value_of(step, from, 0, i));
      }
    };
    const void* send = in_place_ ? kInPlace : call.send.address();
    Datatype* send_type = in_place_ ? nullptr : call.send.cell.type;
    void* receive = call.receive.address();
    Datatype* type = call.receive.cell.type;
    const CountArray counts(call.receive_counts.data());
    const CountArray displs(call.receive_displacements.data());
    Request** request = &call.request;
    if (vector) {
      ASSERT_EQ(nonblocking_
                    ? api::iallgatherv(process_, send, own, send_type, receive, counts, displs, type, comm_,
                                       request)
                    : api::allgatherv(process_, send, own, send_type, receive, counts, displs, type, comm_),
                0);
    } else {
      ASSERT_EQ(nonblocking_
                    ? api::iallgather(process_, send, own, send_type, receive, count_, type, comm_, request)
                    : api::allgather(process_, send, own, send_type, receive, count_, type, comm_),
                0);
    }
  }

  void alltoall(Call& call) {
    const Count count = count_ % 100;
    call.send.make(cell(1), size() * count);
    call.receive.make(cell(1, 1), size() * count);
    for (int to = 0; to < size(); ++to) {
      for (Count i = 0; i < count; ++i)
        (in_place_ ? call.receive : call.send).at(to * count + i) = value_of(step_, rank(), to, i);
    }
    call.check = [=, step = step_, me = rank(), ranks = size()](Call& c) {
      for (int from = 0; from < ranks; ++from) {
        for (Count i = 0; i < count; ++i)
          ASSERT_EQ(c.receive.at(from * count + i), value_of(step, from, me, i));
      }
    };
    const void* send = in_place_ ? kInPlace : call.send.address();
    Datatype* send_type = in_place_ ? nullptr : call.send.cell.type;
    void* receive = call.receive.address();
    Datatype* type = call.receive.cell.type;
    ASSERT_EQ(nonblocking_ ? api::ialltoall(process_, send, count, send_type, receive, count, type, comm_,
                                            &call.request)
                           : api::alltoall(process_, send, count, send_type, receive, count, type, comm_),
              0);
  }

  /// Fills the arrays of MPI_Alltoallv: from i to j go (i + j + count) % 5 elements.
  void lay_out_pairs(Call& call) {
    const auto count = [this](int peer) { return (rank() + peer + count_) % 5; };
    const Count out = lay_out(&call.send_counts, &call.send_displacements, count);
    const Count in = lay_out(&call.receive_counts, &call.receive_displacements, count);
    call.send.make(cell(1), out);
    call.receive.make(cell(1, 1), in);
    for (int peer = 0; peer < size(); ++peer) {
      const auto p = static_cast<std::size_t>(peer);
      for (Count i = 0; i < call.send_counts[p]; ++i) {
        Buffer& from = in_place_ ? call.receive : call.send;
        from.at(call.send_displacements[p] + i) = value_of(step_, rank(), peer, i);
      }
    }
    call.check = [step = step_, me = rank(), displacements = call.receive_displacements](Call& c) {
      for (std::size_t from = 0; from < displacements.size(); ++from) {
        for (Count i = 0; i < c.receive_counts[from]; ++i)
          ASSERT_EQ(c.receive.at(displacements[from] + i), value_of(step, static_cast<int>(from), me, i));
      }
    };
  }

  void alltoallv(Call& call) {
    lay_out_pairs(call);
    const CountArray out_counts(call.send_counts.data()), out_displs(call.send_displacements.data());
    const CountArray in_counts(call.receive_counts.data()), in_displs(call.receive_displacements.data());
    const void* send = in_place_ ? kInPlace : call.send.address();
    Datatype* send_type = in_place_ ? nullptr : call.send.cell.type;
    void* receive = call.receive.address();
    Datatype* type = call.receive.cell.type;
    ASSERT_EQ(nonblocking_ ? api::ialltoallv(process_, send, out_counts, out_displs, send_type, receive,
                                             in_counts, in_displs, type, comm_, &call.request)
                           : api::alltoallv(process_, send, out_counts, out_displs, send_type, receive,
                                            in_counts, in_displs, type, comm_),
              0);
  }

  void alltoallw(Call& call) {
    lay_out_pairs(call);
    // Displacements in bytes now; the datatypes are made for this call and freed while it is under way.
    const auto n = static_cast<std::size_t>(size());
    for (std::size_t peer = 0; peer < n; ++peer) {
      call.send_displacements[peer] *= call.send.cell.type->extent;
      call.receive_displacements[peer] *= call.receive.cell.type->extent;
      Datatype *out = nullptr, *in = nullptr;
      api::type_dup(process_, call.send.cell.type, &out);
      api::type_dup(process_, call.receive.cell.type, &in);
      call.send_types.push_back(out);
      call.receive_types.push_back(in);
    }
    const CountArray out_counts(call.send_counts.data()), out_displs(call.send_displacements.data());
    const CountArray in_counts(call.receive_counts.data()), in_displs(call.receive_displacements.data());
    const void* send = in_place_ ? kInPlace : call.send.address();
    Datatype* const* out_types = in_place_ ? nullptr : call.send_types.data();
    void* receive = call.receive.address();
    Datatype* const* in_types = call.receive_types.data();
    ASSERT_EQ(nonblocking_ ? api::ialltoallw(process_, send, out_counts, out_displs, out_types, receive,
                                             in_counts, in_displs, in_types, comm_, &call.request)
                           : api::alltoallw(process_, send, out_counts, out_displs, out_types, receive,
                                            in_counts, in_displs, in_types, comm_),
              0);
    for (std::size_t peer = 0; peer < n; ++peer) {
      api::type_free(process_, &call.send_types[peer]);
      api::type_free(process_, &call.receive_types[peer]);
    }
  }

  Map map_of(int from, Count i) const {
    return {1 + value_of(step_, from, 1, i) % 100, value_of(step_, from, 2, i)};
  }

  /// The reduction of element i over the ranks [0, end).
  Map reduced(int end, Count i) const {
    Map sum = map_of(0, i);
    for (int from = 1; from < end; ++from) {
      const Map next = map_of(from, i);
      sum = commutative_ ? Map{(sum.a + next.a) % kPrime, (sum.b + next.b) % kPrime} : sum.then(next);
    }
    return sum;
  }

  /// All ranks reduce the same datatype.
  void fill_reduction(Call& call, Count count, bool in_place) {
    call.send.make(cells_.pick(2, type_), count);
    call.receive.make(cells_.pick(2, type_), count);
    Buffer& input = in_place ? call.receive : call.send;
    for (Count i = 0; i < count; ++i) {
      input.at(i, 0) = map_of(rank(), i).a;
      input.at(i, 1) = map_of(rank(), i).b;
    }
  }

  /// The receive buffer must have `count` elements, from `first` on in the vector, over the ranks [0, end).
  void expect_reduced(Call& call, Count first, Count count, int end) {
    std::vector<Map> expected;
    for (Count i = 0; i < count; ++i) expected.push_back(reduced(end, first + i));
    call.check = [expected](Call& c) {
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(c.receive.at(static_cast<Count>(i), 0), expected[i].a) << "element " << i;
        ASSERT_EQ(c.receive.at(static_cast<Count>(i), 1), expected[i].b) << "element " << i;
      }
    };
  }

  void reduce(Call& call) {
    const bool in_place = in_place_ && at_root();
    fill_reduction(call, count_, in_place);
    call.check = [](Call&) {};
    if (at_root()) expect_reduced(call, 0, count_, size());
    const void* send = in_place ? kInPlace : call.send.address();
    void* receive = at_root() ? call.receive.address() : nullptr;
    Datatype* type = call.send.cell.type;
    ASSERT_EQ(nonblocking_
                  ? api::ireduce(process_, send, receive, count_, type, op(), root_, comm_, &call.request)
                  : api::reduce(process_, send, receive, count_, type, op(), root_, comm_),
              0);
  }

  void allreduce(Call& call) {
    fill_reduction(call, count_, in_place_);
    expect_reduced(call, 0, count_, size());
    const void* send = in_place_ ? kInPlace : call.send.address();
    void* receive = call.receive.address();
    Datatype* type = call.send.cell.type;
    ASSERT_EQ(nonblocking_
                  ? api::iallreduce(process_, send, receive, count_, type, op(), comm_, &call.request)
                  : api::allreduce(process_, send, receive, count_, type, op(), comm_),
              0);
  }

  void reduce_scatter_block(Call& call) {
    const Count count = count_ % 200;
    fill_reduction(call, size() * count, in_place_);
    expect_reduced(call, rank() * count, count, size());
    const void* send = in_place_ ? kInPlace : call.send.address();
    void* receive = call.receive.address();
    Datatype* type = call.send.cell.type;
    ASSERT_EQ(nonblocking_ ? api::ireduce_scatter_block(process_, send, receive, count, type, op(), comm_,
                                                        &call.request)
                           : api::reduce_scatter_block(process_, send, receive, count, type, op(), comm_),
              0);
  }

  void reduce_scatter(Call& call) {
    Count total = 0, first = 0;
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) first = total;
      call.receive_counts.push_back(block_count(peer) * (1 + count_ % 9));
      total += call.receive_counts.back();
    }
    fill_reduction(call, total, in_place_);
    expect_reduced(call, first, call.receive_counts[static_cast<std::size_t>(rank())], size());
    const void* send = in_place_ ? kInPlace : call.send.address();
    void* receive = call.receive.address();
    Datatype* type = call.send.cell.type;
    const CountArray counts(call.receive_counts.data());
    ASSERT_EQ(nonblocking_
                  ? api::ireduce_scatter(process_, send, receive, counts, type, op(), comm_, &call.request)
                  : api::reduce_scatter(process_, send, receive, counts, type, op(), comm_),
              0);
  }

  void scan(Call& call) {
    fill_reduction(call, count_, in_place_);
    expect_reduced(call, 0, count_, rank() + 1);
    const void* send = in_place_ ? kInPlace : call.send.address();
    void* receive = call.receive.address();
    Datatype* type = call.send.cell.type;
    ASSERT_EQ(nonblocking_ ? api::iscan(process_, send, receive, count_, type, op(), comm_, &call.request)
                           : api::scan(process_, send, receive, count_, type, op(), comm_),
              0);
  }

  void exscan(Call& call) {
    fill_reduction(call, count_, in_place_);
    call.check = [](Call&) {};
    if (rank() > 0) expect_reduced(call, 0, count_, rank());
    const void* send = in_place_ ? kInPlace : call.send.address();
    void* receive = call.receive.address();
    Datatype* type = call.send.cell.type;
    ASSERT_EQ(nonblocking_ ? api::iexscan(process_, send, receive, count_, type, op(), comm_, &call.request)
                           : api::exscan(process_, send, receive, count_, type, op(), comm_),
              0);
  }

  Process& process_;
  Comm* comm_;
  std::mt19937 random_;
  Cells cells_;
  Op compose_, add_;
  std::vector<std::unique_ptr<Call>> under_way_;

  // The call that is made next.
  int step_ = 0;
  int root_ = 0;
  int type_ = 0;
  Count count_ = 0;
  bool in_place_ = false;
  bool nonblocking_ = false;
  bool commutative_ = false;
};

class Collectives : public testing::TestWithParam<int> {};

TEST_P(Collectives, RandomSequence) {
  run_ranks(GetParam(),
            [](Process& process) { Sequence(process, static_cast<unsigned>(process.size)).run(250); });
}

TEST_P(Collectives, RandomSequenceOnTheToyNetwork) {
  run_ranks(GetParam(),
            [](Process& process) { Sequence(process, static_cast<unsigned>(100 + process.size)).run(100); },
            {.network = Network::kInproc});
}

TEST_P(Collectives, RandomSequenceWithEveryOtherHeapPrivate) {
  run_ranks(GetParam(),
            [](Process& process) { Sequence(process, static_cast<unsigned>(300 + process.size)).run(200); },
            {.odd_heaps_private = true});
}

TEST_P(Collectives, RandomSequenceWithLocks) {
  run_ranks(GetParam(),
            [](Process& process) {
              const std::lock_guard lock(process.mutex);  // the binding's part
              Sequence(process, static_cast<unsigned>(200 + process.size)).run(100);
            },
            {.thread_level = ThreadLevel::kMultiple});
}

TEST_P(Collectives, RandomSequenceOnSeveralNodes) {
  constexpr int kCalls = kSanitized ? 100 : 300;
  for (const bool interleaved : {false, true}) {
    std::vector<int> nodes;
    for (int rank = 0; rank < GetParam(); ++rank)
      nodes.push_back(interleaved ? (2 * rank + 1) % 3 : rank / 3);
    run_ranks(
        GetParam(),
        [](Process& process) { Sequence(process, static_cast<unsigned>(300 + process.size)).run(kCalls); },
        {.nodes = nodes});
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, Collectives, testing::Values(1, 2, 3, 4, 5, 7, 8));

}  // namespace
}  // namespace tasuki::test
