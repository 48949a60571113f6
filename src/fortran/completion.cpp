// The table of requests that have copies of sections, by their handles.
#include "fortran/completion.hpp"

#include <map>
#include <mutex>

namespace tasuki::fortran {
namespace {

struct Kept {
  bool is_persistent;
  std::vector<Piece> pieces;
};

struct Table {
  std::mutex mutex;
  std::map<Fint, Kept> by_request;
  std::vector<Kept> freed;  // of requests that were freed: when they end nobody learns
};

Table& table() {
  static auto* const the_table = new Table;  // never destroyed: programs call MPI while they end
  return *the_table;
}

void end_request(Fint request) {
  const std::lock_guard lock(table().mutex);
  const auto found = table().by_request.find(request);
  if (found == table().by_request.end()) return;
  for (Piece& piece : found->second.pieces) piece.give_back();
  if (found->second.is_persistent) return;
  table().by_request.erase(found);
  kept_requests.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

std::atomic<int> kept_requests{0};

void keep_pieces(Fint request, bool is_persistent, std::vector<Piece> pieces) {
  const std::lock_guard lock(table().mutex);
  table().by_request.insert_or_assign(request, Kept{is_persistent, std::move(pieces)});
  kept_requests.fetch_add(1, std::memory_order_relaxed);
}

void Completion::end_all() {
  for (const Fint request : requests_) end_request(request);
}

void Completion::end(Fint index) {
  end_request(requests_[static_cast<std::size_t>(index)]);
}

void Completion::freed() {
  if (requests_.empty()) return;
  const std::lock_guard lock(table().mutex);
  const auto found = table().by_request.find(requests_[0]);
  if (found == table().by_request.end()) return;
  table().freed.push_back(std::move(found->second));
  table().by_request.erase(found);
  kept_requests.fetch_sub(1, std::memory_order_relaxed);
}

void fill_pieces(const Fint* requests, Fint count) {
  const std::lock_guard lock(table().mutex);
  for (Fint i = 0; i < count; ++i) {
    const auto found = table().by_request.find(requests[i]);
    if (found == table().by_request.end()) continue;
    for (Piece& piece : found->second.pieces) piece.fill();
  }
}

}  // namespace tasuki::fortran
