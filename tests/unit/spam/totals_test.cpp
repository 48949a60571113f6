// What is compared: the energy always, momentum where no mirror stands, and what users read when it is not
// conserved.
#include "totals.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace spam {
namespace {

Settings between_mirrors() {
  Settings settings;
  settings.file = "case.toml";
  settings.space.x = {Boundary::kOpen, Boundary::kMirror};
  settings.space.y = {Boundary::kPeriodic, Boundary::kPeriodic};
  return settings;
}

Totals totals() {
  Totals all;
  all.particles = 10;
  all.kinetic = 3;
  all.potential = 2;
  all.momentum_x = 4;
  all.momentum_scale = 8;
  return all;
}

TEST(Totals, OfTheSameAreConserved) {
  EXPECT_EQ(compare_totals(totals(), totals(), between_mirrors(), 7), "");
  EXPECT_EQ(compare_totals(Totals{}, Totals{}, between_mirrors(), 7), "");
}

TEST(Totals, EnergyIsBoundedRelatively) {
  Totals now = totals();
  now.potential += 5 * 0.9e-3;
  EXPECT_EQ(compare_totals(totals(), now, between_mirrors(), 7), "");
  now.heat = 5 * 0.2e-3;
  const std::string broken = compare_totals(totals(), now, between_mirrors(), 7);
  for (const char* word : {"case.toml: ", "energy", "step 7", "0.0011", "output.energy_tolerance = 0.001"})
    EXPECT_NE(broken.find(word), std::string::npos) << broken;
}

TEST(Totals, EnergyThatIsNoNumberIsNotConserved) {
  Totals now = totals();
  now.kinetic = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(compare_totals(totals(), now, between_mirrors(), 7).find("no finite number"), std::string::npos);
  EXPECT_NE(compare_totals(now, now, between_mirrors(), 7).find("no finite number"), std::string::npos);
}

TEST(Totals, MirrorsChangeMomentumAcrossThem) {
  Totals now = totals();
  now.momentum_x = -4;
  EXPECT_EQ(compare_totals(totals(), now, between_mirrors(), 7), "");
  Settings open = between_mirrors();
  open.space.x = {};
  EXPECT_NE(compare_totals(totals(), now, open, 7).find("momentum in x"), std::string::npos);
  now.momentum_x = 4;
  now.momentum_y = 8e-8;
  EXPECT_NE(compare_totals(totals(), now, open, 7).find("momentum in y"), std::string::npos);
}

TEST(Totals, ParticlesAreCounted) {
  Totals now = totals();
  now.particles = 9;
  EXPECT_NE(compare_totals(totals(), now, between_mirrors(), 7).find("9 particles in step 7"),
            std::string::npos);
}

}  // namespace
}  // namespace spam
