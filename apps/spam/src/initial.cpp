// Places from the inverse of the cumulated profile; random numbers from a hash of seed and id.
#include "initial.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace spam {
namespace {

/// A bijection of 64 bits in which every bit of the result depends on every bit of the number: the last step
/// of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
std::uint64_t mix(std::uint64_t bits) {
  bits += 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

enum class Stream : std::uint64_t { kX, kY, kVx, kVy };

/// Evenly distributed in [-1, 1): the same for the same particle wherever it is made.
double fluctuation(std::uint64_t seed, std::int64_t id, Stream stream) {
  const std::uint64_t counter = static_cast<std::uint64_t>(id) * 4 + static_cast<std::uint64_t>(stream);
  const std::uint64_t bits = mix(mix(seed) ^ mix(counter));
  return static_cast<double>(bits >> 11) * 0x1p-52 - 1;
}

/// The profile's density, cumulated: piecewise quadratic, and inverted piece by piece.
class Spread {
 public:
  explicit Spread(const std::vector<ProfilePoint>& profile) : profile_(profile), below_(profile.size(), 0.0) {
    for (std::size_t i = 1; i < profile.size(); ++i)
      below_[i] = below_[i - 1] +
                  (profile[i].density + profile[i - 1].density) / 2 * (profile[i].x - profile[i - 1].x);
  }

  /// The profile where `share` of all particles, in [0, 1], lie further left.
  ProfilePoint at(double share) const {
    const double wanted = share * below_.back();
    std::size_t piece = 1;
    while (piece + 1 < below_.size() && below_[piece] < wanted) ++piece;
    const ProfilePoint &low = profile_[piece - 1], &high = profile_[piece];
    const double width = high.x - low.x, slope = (high.density - low.density) / width;
    const double rest = wanted - below_[piece - 1];
    // rest = density d + slope d^2 / 2 for the distance d, in the form that slope 0 does not hurt.
    const double root = std::sqrt(std::max(0.0, low.density * low.density + 2 * slope * rest));
    const double part = std::min(1.0, 2 * rest / (low.density + root) / width);
    return {low.x + part * width, low.density + part * (high.density - low.density),
            low.velocity + part * (high.velocity - low.velocity)};
  }
  double number(double density, std::int64_t particles, double height) const {
    return density * static_cast<double>(particles) / (below_.back() * height);
  }

 private:
  const std::vector<ProfilePoint>& profile_;
  std::vector<double> below_;  // by point
};

GivenParticle spread_particle(const Settings& settings, const Spread& spread, std::int64_t id) {
  const Initial& initial = settings.initial;
  const ProfilePoint point =
      spread.at((static_cast<double>(id) + 0.5) / static_cast<double>(initial.particles));
  const double turns = static_cast<double>(id) * (1 / std::numbers::phi);
  const double distance =
      1 / std::sqrt(spread.number(point.density, initial.particles, settings.space.height));
  const double shift = initial.position_fluctuation * distance;
  GivenParticle particle;
  particle.x = point.x + shift * fluctuation(initial.seed, id, Stream::kX);
  particle.y =
      settings.space.height * (turns - std::floor(turns)) + shift * fluctuation(initial.seed, id, Stream::kY);
  particle.vx = point.velocity + initial.velocity_fluctuation * fluctuation(initial.seed, id, Stream::kVx);
  particle.vy = initial.velocity_fluctuation * fluctuation(initial.seed, id, Stream::kVy);
  fold_into_space(settings.space, &particle.x, &particle.y, &particle.vx, &particle.vy);
  return particle;
}

void append(const GivenParticle& particle, std::int64_t id, Particles* particles) {
  particles->id.push_back(id);
  particles->x.push_back(particle.x);
  particles->y.push_back(particle.y);
  particles->vx.push_back(particle.vx);
  particles->vy.push_back(particle.vy);
  particles->heat.push_back(0);
}

void fold(const Edges& edges, double size, double* at, double* velocity) {
  if (edges.periodic()) {
    if (*at >= 0 && *at < size) return;
    *at -= size * std::floor(*at / size);
    if (*at >= size) *at = 0;  // a little below 0 is rounded to the upper end, which is the lower one
    return;
  }
  if (*at < 0 && edges.low == Boundary::kMirror) {
    *at = -*at;
    *velocity = -*velocity;
  }
  if (*at > size && edges.high == Boundary::kMirror) {
    *at = 2 * size - *at;
    *velocity = -*velocity;
  }
}

}  // namespace

void make_initial_state(const Settings& settings, Domain* domain) {
  const Initial& initial = settings.initial;
  Particles& particles = domain->particles;
  particles.resize(0);
  const auto keep = [&](const GivenParticle& particle, std::int64_t id) {
    const int column = domain->grid().column_of(particle.x);
    if (domain->owned_number(column) >= 0) append(particle, id, &particles);
  };
  if (!initial.given.empty()) {
    for (std::size_t i = 0; i < initial.given.size(); ++i) {
      GivenParticle given = initial.given[i];
      fold_into_space(settings.space, &given.x, &given.y, &given.vx, &given.vy);
      keep(given, static_cast<std::int64_t>(i));
    }
    return;
  }
  const Spread spread(initial.profile);
  for (std::int64_t id = 0; id < initial.particles; ++id) keep(spread_particle(settings, spread, id), id);
}

void fold_into_space(const Space& space, double* x, double* y, double* vx, double* vy) {
  fold(space.x, space.width, x, vx);
  fold(space.y, space.height, y, vy);
}

}  // namespace spam
