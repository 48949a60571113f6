// Particles as a structure of arrays, one entry for each, all of the same length.
#pragma once

#include <cstdint>

#include "aligned.hpp"

namespace spam {

struct Particles {
  Array<std::int64_t> id;  // 0 … N - 1, for good
  Array<double> x, y;      // in space, but for open ends
  Array<double> vx, vy;
  Array<double> heat;  // energy that its friction made (Material::viscosity)

  int size() const { return static_cast<int>(id.size()); }
  void resize(int count) {
    const auto length = static_cast<std::size_t>(count);
    id.resize(length);
    for (auto* values : doubles()) values->resize(length);
  }
  /// What a particle is besides its id: the order in which restart files and messages have it.
  static constexpr int kDoubles = 5;
  struct DoubleArrays {
    Array<double>* arrays[kDoubles];
    Array<double>** begin() { return arrays; }
    Array<double>** end() { return arrays + kDoubles; }
  };
  DoubleArrays doubles() { return {{&x, &y, &vx, &vy, &heat}}; }
};

/// A particle on its way between ranks.
struct ParticleRecord {
  std::int64_t id;
  double values[Particles::kDoubles];
};

}  // namespace spam
