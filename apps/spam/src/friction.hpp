// Friction between two particles in range, along the line between them, as of their approach: with
// d = x_i - x_j, q = |d| / R and u = (v_i - v_j) . d,
//
//   the force on i        -g (1 - q)^2 u d / R^2      (on j the opposite: momentum, also angular, is kept)
//   the heating of each    g (1 - q)^2 u^2 / (2 R^2)  (together what the motion loses)
//
// It needs no division and no root besides that of q. In a continuum of the number density n it acts as a
// viscosity: eta = (n^2 / 16) * integral over the plane of g (1 - q)^2 r^4 / R^2 = pi g n^2 R^4 / 1344 for
// shear, and three times that for compression in one direction (momentum's flux through a line is half the
// sum over pairs of force times distance, with u = r . grad v . r; the integral of q^5 (1 - q)^2 is 1 / 168).
#pragma once

namespace spam {

struct Friction {
  double coefficient;  // g / R^2
  double inverse_range;

  Friction(double viscosity, double range)
      : coefficient(viscosity / (range * range)), inverse_range(1 / range) {}

  /// REQUIRES: r below the range. Times -u d it is the force on i; times u^2 / 2 the heating of each.
  double rub(double r) const {
    const double rest = 1 - r * inverse_range;
    return coefficient * rest * rest;
  }
};

}  // namespace spam
