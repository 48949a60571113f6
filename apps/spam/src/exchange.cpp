// Particles on their way: after a step to bordering ranks, after a remapping to any.
#include "exchange.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "borders.hpp"
#include "error.hpp"

namespace spam {
namespace {

constexpr int kTag = 71;

/// Messages of particles count in particles.
class RecordType {
 public:
  RecordType() {
    MPI_Type_contiguous(static_cast<int>(sizeof(ParticleRecord)), MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
  }
  ~RecordType() { MPI_Type_free(&type_); }
  RecordType(const RecordType&) = delete;
  RecordType& operator=(const RecordType&) = delete;
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
};

using Records = std::vector<ParticleRecord>;

ParticleRecord record_of(Particles& particles, int i) {
  const auto at = static_cast<std::size_t>(i);
  ParticleRecord record{particles.id[at], {}};
  for (int k = 0; k < Particles::kDoubles; ++k) record.values[k] = (*particles.doubles().arrays[k])[at];
  return record;
}

void put_record(const ParticleRecord& record, int i, Particles* particles) {
  const auto at = static_cast<std::size_t>(i);
  particles->id[at] = record.id;
  for (int k = 0; k < Particles::kDoubles; ++k) (*particles->doubles().arrays[k])[at] = record.values[k];
}

/// The first of [begin, end) that is not finite, or `end`.
int find_lost(const Particles& particles, int begin, int end) {
  const double *x = particles.x.data(), *y = particles.y.data();
  const double *vx = particles.vx.data(), *vy = particles.vy.data();
  double poison = 0;
#pragma omp simd reduction(+ : poison)
  for (int i = begin; i < end; ++i)  // 0 * infinity is not a number
    poison += 0 * x[i] + 0 * y[i] + 0 * vx[i] + 0 * vy[i];
  if (poison == 0) return end;
  for (int i = begin; i < end; ++i)
    if (!std::isfinite(x[i]) || !std::isfinite(y[i]) || !std::isfinite(vx[i]) || !std::isfinite(vy[i]))
      return i;
  return end;
}

[[noreturn]] void tell(const Particles& particles, int i, std::int64_t step, const std::string& what) {
  const auto at = static_cast<std::size_t>(i);
  throw RankError(
      fmt::format("step {}: particle {} at ({}, {}) with velocity ({}, {}) {}: a smaller "
                  "integration.time_step is needed",
                  step + 1, particles.id[at], particles.x[at], particles.y[at], particles.vx[at],
                  particles.vy[at], what));
}

/// Particles in columns of others, ascending. Their threads find them.
std::vector<int> find_leavers(const Domain& domain, std::int64_t step) {
  const int threads = domain.threads();
  const Particles& particles = domain.particles;
  std::vector<std::vector<int>> found(static_cast<std::size_t>(threads));
  std::vector<int> lost(static_cast<std::size_t>(threads), particles.size());
#pragma omp parallel num_threads(threads)
  for (int t = omp_get_thread_num(); t < threads; t += omp_get_num_threads()) {
    const auto [begin, end] = domain.thread_particles(t);
    const int first_lost = find_lost(particles, begin, end);
    if (first_lost < end) {
      lost[static_cast<std::size_t>(t)] = first_lost;
      continue;
    }
    for (int i = begin; i < end; ++i)
      if (domain.owned_number(domain.grid().column_of(particles.x[static_cast<std::size_t>(i)])) < 0)
        found[static_cast<std::size_t>(t)].push_back(i);
  }
  const int first_lost = *std::min_element(lost.begin(), lost.end());
  if (first_lost < particles.size()) tell(particles, first_lost, step, "is not finite");
  std::vector<int> leavers;
  for (const std::vector<int>& of_thread : found)
    leavers.insert(leavers.end(), of_thread.begin(), of_thread.end());
  return leavers;
}

/// What goes to each of the partners.
std::vector<Records> pack(Domain* domain, const std::vector<int>& leavers, const std::vector<int>& partners,
                          std::int64_t step) {
  std::vector<Records> outgoing(partners.size());
  for (int i : leavers) {
    const int column = domain->grid().column_of(domain->particles.x[static_cast<std::size_t>(i)]);
    const int owner = domain->owners()[static_cast<std::size_t>(column)];
    const auto partner = std::lower_bound(partners.begin(), partners.end(), owner);
    if (partner == partners.end() || *partner != owner)
      tell(
          domain->particles, i, step,
          fmt::format("went in one step to column {} of rank {}, which does not border on those of this rank",
                      column, owner));
    outgoing[static_cast<std::size_t>(partner - partners.begin())].push_back(record_of(domain->particles, i));
  }
  return outgoing;
}

Records receive_all(MPI_Comm comm, const std::vector<int>& partners, MPI_Datatype type) {
  Records arrived;
  for (int partner : partners) {  // always in this order: a run repeats itself to the bit
    MPI_Message message;
    MPI_Status status;
    int count;
    MPI_Mprobe(partner, kTag, comm, &message, &status);
    MPI_Get_count(&status, type, &count);
    const std::size_t at = arrived.size();
    arrived.resize(at + static_cast<std::size_t>(count));
    MPI_Mrecv(arrived.data() + at, count, type, &message, MPI_STATUS_IGNORE);
  }
  return arrived;
}

/// Particles that come take the places of those that leave; then places left are filled from behind, or new
/// ones are made.
void replace(const std::vector<int>& leavers, const Records& arrived, Particles* particles) {
  const std::size_t both = std::min(leavers.size(), arrived.size());
  for (std::size_t k = 0; k < both; ++k) put_record(arrived[k], leavers[k], particles);
  int size = particles->size();
  for (std::size_t k = leavers.size(); k > both; --k) {
    const int last = --size;
    if (leavers[k - 1] != last) put_record(record_of(*particles, last), leavers[k - 1], particles);
  }
  size += static_cast<int>(arrived.size() - both);
  particles->resize(size);
  for (std::size_t k = both; k < arrived.size(); ++k)
    put_record(arrived[k], size - static_cast<int>(arrived.size() - k), particles);
}

std::vector<int> ends_before(const std::vector<int>& counts) {
  std::vector<int> begins(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), 0);
  return begins;
}

}  // namespace

std::vector<int> bordering_ranks(const Domain& domain, bool periodic_x) {
  std::vector<int> ranks;
  for (const Border& border : find_borders(domain.owners(), domain.rank(), periodic_x))
    ranks.push_back(border.rank);
  return ranks;
}

void exchange_particles(MPI_Comm comm, Domain* domain, bool periodic_x, std::int64_t step) {
  const std::vector<int> leavers = find_leavers(*domain, step);
  const std::vector<int> partners = bordering_ranks(*domain, periodic_x);
  const std::vector<Records> outgoing = pack(domain, leavers, partners, step);
  const RecordType type;
  std::vector<MPI_Request> requests(partners.size());
  for (std::size_t k = 0; k < partners.size(); ++k)
    MPI_Isend(outgoing[k].data(), static_cast<int>(outgoing[k].size()), type.get(), partners[k], kTag, comm,
              &requests[k]);
  const Records arrived = receive_all(comm, partners, type.get());
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  replace(leavers, arrived, &domain->particles);
}

void remap(MPI_Comm comm, Domain* domain, Owners owners) {
  domain->set_owners(std::move(owners));
  Particles& particles = domain->particles;
  const auto count = static_cast<std::size_t>(particles.size()),
             ranks = static_cast<std::size_t>(domain->ranks());
  std::vector<int> home(count), going(ranks), coming(ranks);
  for (std::size_t i = 0; i < count; ++i) {
    home[i] = domain->owners()[static_cast<std::size_t>(domain->grid().column_of(particles.x[i]))];
    ++going[static_cast<std::size_t>(home[i])];
  }
  MPI_Alltoall(going.data(), 1, MPI_INT, coming.data(), 1, MPI_INT, comm);
  const std::vector<int> going_begin = ends_before(going), coming_begin = ends_before(coming);
  Records outgoing(count), arrived(static_cast<std::size_t>(coming_begin.back() + coming.back()));
  std::vector<int> at = going_begin;
  for (std::size_t i = 0; i < count; ++i)
    outgoing[static_cast<std::size_t>(at[static_cast<std::size_t>(home[i])]++)] =
        record_of(particles, static_cast<int>(i));
  const RecordType type;
  MPI_Alltoallv(outgoing.data(), going.data(), going_begin.data(), type.get(), arrived.data(), coming.data(),
                coming_begin.data(), type.get(), comm);
  particles.resize(static_cast<int>(arrived.size()));
  for (std::size_t i = 0; i < arrived.size(); ++i) put_record(arrived[i], static_cast<int>(i), &particles);
}

std::vector<double> expected_costs(MPI_Comm comm, const Domain& domain) {
  const auto columns = static_cast<std::size_t>(domain.grid().columns);
  std::vector<std::int64_t> count(columns + 1);  // and none behind the last
  for (double x : domain.particles.x) ++count[static_cast<std::size_t>(domain.grid().column_of(x))];
  MPI_Allreduce(MPI_IN_PLACE, count.data(), static_cast<int>(columns), MPI_INT64_T, MPI_SUM, comm);
  std::vector<double> costs(columns);
  for (std::size_t column = 0; column < columns; ++column)
    costs[column] = 1 + static_cast<double>(count[column]) * (0.5 * static_cast<double>(count[column]) +
                                                              static_cast<double>(count[column + 1]));
  return costs;
}

}  // namespace spam
