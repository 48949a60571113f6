// Copies of sections that nonblocking and persistent calls use: they live until the program has the request
// completed, and go back into the section then; a persistent one is filled again at each start.
//
// The requests of such calls are few, mostly none: then a completion costs one look at a counter.
//
// Thread safety: a lock guards the table.
#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include "fortran/section.hpp"

namespace tasuki::fortran {

/// How many requests have copies. relaxed: the thread that completes a request has seen its making.
extern std::atomic<int> kept_requests;

void keep_pieces(Fint request, bool is_persistent, std::vector<Piece> pieces);

template <class... Pieces>
[[gnu::noinline, gnu::cold]] void keep(Fint request, bool is_persistent, Pieces&&... pieces) {
  std::vector<Piece> all;
  (all.push_back(std::forward<Pieces>(pieces)), ...);
  keep_pieces(request, is_persistent, std::move(all));
}

/// Looks after the requests of one completion call: remembers which they were, and ends those that are over.
class Completion {
 public:
  Completion(const Fint* requests, Fint count) {
    if (kept_requests.load(std::memory_order_relaxed) != 0) [[unlikely]]
      requests_.assign(requests, requests + (count > 0 ? count : 0));
  }
  void all(bool flag = true) {
    if (flag && !requests_.empty()) [[unlikely]]
      end_all();
  }
  /// `index` from 0, or MPI_UNDEFINED.
  void one(Fint index, bool flag = true) {
    if (flag && !requests_.empty() && index != MPI_UNDEFINED) [[unlikely]]
      end(index);
  }
  void some(const Fint* indices, Fint count) {
    if (requests_.empty() || count == MPI_UNDEFINED) [[likely]]
      return;
    for (Fint i = 0; i < count; ++i) end(indices[i]);
  }
  /// The program has given the request away: what is under way may still use the copies, so they stay.
  void freed();

 private:
  [[gnu::noinline, gnu::cold]] void end_all();
  [[gnu::noinline, gnu::cold]] void end(Fint index);

  std::vector<Fint> requests_;
};

[[gnu::noinline, gnu::cold]] void fill_pieces(const Fint* requests, Fint count);

/// Before MPI_Start and MPI_Startall: what is in the sections now is what is sent.
[[gnu::always_inline]] inline void prepare_start(const Fint* requests, Fint count) {
  if (kept_requests.load(std::memory_order_relaxed) != 0) [[unlikely]]
    fill_pieces(requests, count);
}

}  // namespace tasuki::fortran
