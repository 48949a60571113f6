// SharedCopy: the word of claims.
#include "rma/control/shared_copy.hpp"

#include <algorithm>

namespace tasuki::rma {
namespace {

constexpr std::int64_t kPieceBytesMin = 32 * 1024;
constexpr std::uint64_t kPiecesMax = 1 << 15;  // each of the two counts has 16 bits
constexpr int kBackAt = 16;
constexpr int kNumberAt = 32;
constexpr std::uint64_t kOpen = std::uint64_t{1} << 63;

std::uint64_t front_of(std::uint64_t claims) {
  return claims & 0xffff;
}
std::uint64_t back_of(std::uint64_t claims) {
  return claims >> kBackAt & 0xffff;
}

std::int64_t piece_bytes(std::int64_t bytes) {
  std::int64_t piece = kPieceBytesMin;
  while (bytes / piece >= static_cast<std::int64_t>(kPiecesMax)) piece *= 2;
  return piece;
}

std::uint64_t pieces_of(std::int64_t bytes) {
  const std::int64_t piece = piece_bytes(bytes);
  return static_cast<std::uint64_t>((bytes + piece - 1) / piece);
}

/// The `index`th piece.
Piece piece_at(std::int64_t bytes, std::uint64_t index) {
  const std::int64_t begin = static_cast<std::int64_t>(index) * piece_bytes(bytes);
  return {begin, std::min(bytes, begin + piece_bytes(bytes))};
}

}  // namespace

bool begin_copy(SharedCopy& copy, const CopyJob& job) {
  std::uint32_t free = 0;
  if (!copy.taken.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed))
    return false;
  copy.copied.store(0, std::memory_order_relaxed);
  // release: who reads any of it knows that the job before is closed.
  copy.origin_address.store(job.origin_address, std::memory_order_release);
  copy.offset.store(job.offset, std::memory_order_release);
  copy.bytes.store(job.bytes, std::memory_order_release);
  copy.origin.store(job.origin, std::memory_order_release);
  copy.is_put.store(job.is_put ? 1 : 0, std::memory_order_release);
  const std::uint64_t number = (copy.claims.load(std::memory_order_relaxed) >> kNumberAt) + 1;
  // seq_cst: a target may be about to sleep (Transport::wake).
  copy.claims.store(kOpen | number << kNumberAt, std::memory_order_seq_cst);
  return true;
}

Piece claim_front(SharedCopy& copy, std::int64_t bytes) {
  std::uint64_t claims = copy.claims.load(std::memory_order_relaxed);
  do {
    if (front_of(claims) + back_of(claims) >= pieces_of(bytes)) return {};
  } while (!copy.claims.compare_exchange_weak(claims, claims + 1, std::memory_order_acq_rel,
                                              std::memory_order_relaxed));
  return piece_at(bytes, front_of(claims));
}

bool is_copied(const SharedCopy& copy) {
  return copy.copied.load(std::memory_order_seq_cst) == back_of(copy.claims.load(std::memory_order_relaxed));
}

bool is_sound(const SharedCopy& copy) {
  return copy.copied.load(std::memory_order_seq_cst) <= back_of(copy.claims.load(std::memory_order_relaxed));
}

void end_copy(SharedCopy& copy) {
  const std::uint64_t closed = copy.claims.load(std::memory_order_relaxed) & ~kOpen;
  copy.claims.store(closed >> kNumberAt << kNumberAt, std::memory_order_relaxed);
  copy.taken.store(0, std::memory_order_release);
}

std::uint64_t read_job(const SharedCopy& copy, CopyJob* job) {
  const std::uint64_t claims = copy.claims.load(std::memory_order_acquire);
  job->origin_address = copy.origin_address.load(std::memory_order_acquire);
  job->offset = copy.offset.load(std::memory_order_acquire);
  job->bytes = copy.bytes.load(std::memory_order_acquire);
  job->origin = copy.origin.load(std::memory_order_acquire);
  job->is_put = copy.is_put.load(std::memory_order_acquire) != 0;
  return claims;
}

bool has_work(std::uint64_t claims, const CopyJob& job) {
  return (claims & kOpen) != 0 && job.bytes > 0 && job.bytes <= INT64_MAX / 2 &&
         front_of(claims) + back_of(claims) < pieces_of(job.bytes);
}

bool try_claim_back(SharedCopy& copy, std::uint64_t claims, const CopyJob& job, Piece* piece) {
  if (!copy.claims.compare_exchange_strong(claims, claims + (std::uint64_t{1} << kBackAt),
                                           std::memory_order_acq_rel, std::memory_order_relaxed))
    return false;
  *piece = piece_at(job.bytes, pieces_of(job.bytes) - 1 - back_of(claims));
  return true;
}

void add_copied(SharedCopy& copy) {
  copy.copied.fetch_add(1, std::memory_order_seq_cst);
}

}  // namespace tasuki::rma
