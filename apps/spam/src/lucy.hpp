// Lucy's weight in two dimensions, the one from which all forces come (Lucy 1977; Hoover, "Smooth Particle
// Applied Mechanics", chapter 2), for distances r below the range R, with q = r / R:
//
//   w(r)  = 5 / (pi R^2) (1 + 3 q) (1 - q)^3      integral over the plane: 1
//   w'(r) = -60 / (pi R^3) q (1 - q)^2
//
// The paper's w_p (Yoshikawa et al. 2002, equation 1) is this w' with beta in the place of 60, so its pairs
// have the potential (beta / 60) w(r) and repel each other.
#pragma once

#include <cmath>
#include <numbers>

namespace spam {

struct Lucy {
  double range;
  double inverse_range;  // 1 / R
  double weight_scale;   // 5 / (pi R^2)

  explicit Lucy(double r) : range(r), inverse_range(1 / r), weight_scale(5 / (std::numbers::pi * r * r)) {}

  double weight(double r) const {
    const double q = r * inverse_range, rest = 1 - q;
    return q < 1 ? weight_scale * (1 + 3 * q) * rest * rest * rest : 0;
  }
  /// -w'(r) / r: times (x_i - x_j) it is the x part of the force on i for beta = 60.
  double push(double r) const {
    const double rest = 1 - r * inverse_range;
    return rest > 0 ? 12 * weight_scale * inverse_range * inverse_range * rest * rest : 0;
  }
};

}  // namespace spam
