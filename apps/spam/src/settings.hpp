// What an input file and the command line say: plain data, the same on every rank. input.hpp reads it.
//
// Units are the simulation's own: the particles' mass, the length in which space and range are given, and a
// time in which both give velocities of order 1 (reference: Yoshikawa et al. 2002, section 2).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spam {

enum class Boundary { kOpen, kMirror, kPeriodic };

struct Edges {
  Boundary low = Boundary::kOpen;  // either both ends of a direction are periodic, or none
  Boundary high = Boundary::kOpen;

  bool periodic() const { return low == Boundary::kPeriodic; }
};

struct Space {
  double width = 0;      // x from 0 to width
  double height = 0;     // y from 0 to height
  double cell_size = 0;  // the least size of a cell in x and in y; at least the range
  Edges x, y;
};

/// Pairs within `range` R repel each other by the potential (beta / 60) w(r), w being Lucy's normalised
/// weight (lucy.hpp): a fluid of the pressure (beta / 60) (mass density)^2 / 2. With viscosity they also rub,
/// and the heat is kept for each particle.
struct Material {
  double mass = 1;
  double beta = 60;
  double range = 3;
  double viscosity = 0;
};

/// Between the points of a profile density and velocity are interpolated linearly.
struct ProfilePoint {
  double x = 0;
  double density = 0;   // relative: particles are spread so that all of them lie in the profile
  double velocity = 0;  // in x
};

struct GivenParticle {
  double x = 0, y = 0, vx = 0, vy = 0;
};

struct Initial {
  std::int64_t particles = 0;
  std::uint64_t seed = 1;
  std::vector<ProfilePoint> profile;
  double velocity_fluctuation = 0;   // half the width of the even distribution that is added in x and y
  double position_fluctuation = 0;   // the same, in units of the mean distance of particles
  std::vector<GivenParticle> given;  // instead of a profile: just these
};

struct Integration {
  double time_step = 0;
  std::int64_t steps = 0;
};

enum class Engine { kBlocked, kList };
enum class Schedule { kStatic, kCyclic, kDynamic };  // of the pair list among threads
enum class Update { kCritical, kReduction, kNone };  // of forces from the pair list
enum class Sorting { kSerial, kThreaded };           // making the pair list
enum class HaloKind { kMessages, kShared };          // kShared: windows of MPI among ranks of a node

struct Parallel {
  std::string mapping = "balanced";  // as mapping.hpp parses it
  std::int64_t remap_interval = 50;  // steps; 0: never again
  Engine engine = Engine::kBlocked;
  HaloKind halo = HaloKind::kMessages;
  int threads = 1;  // of each rank; where the input says 0, OMP_NUM_THREADS, or 1 without it
  // Of the engine kList, the paper's:
  Schedule schedule = Schedule::kDynamic;
  Update update = Update::kReduction;
  Sorting sorting = Sorting::kSerial;
  int chunks_per_thread = 4;  // of the schedules kCyclic and kDynamic
};

struct Output {
  std::string directory;
  std::int64_t snapshot_interval = 0;  // steps; 0: only the first and the last state
  std::int64_t restart_interval = 0;   // steps; 0: only the last state
  std::int64_t check_interval = 10;    // steps between checks of what is conserved; 0: only first and last
  double energy_tolerance = 1e-3;      // relative change of the energy at which a run stops with an error
  double momentum_tolerance = 1e-9;    // the same, relative to the sum of |m v|, of what walls do not change
};

struct Settings {
  std::string file;  // where they are from
  Space space;
  Material material;
  Initial initial;
  Integration integration;
  Parallel parallel;
  Output output;
};

}  // namespace spam
