// The keys of an input file: their types, bounds and what must hold between them.
#include "input.hpp"

#include <fmt/format.h>

#include "document.hpp"
#include "error.hpp"
#include "mapping.hpp"

namespace spam {
namespace {

constexpr std::int64_t kMany = std::int64_t{1} << 52;  // a double still counts so far
constexpr std::int64_t kParticlesMax = 2'000'000'000;  // which an int counts
constexpr double kCellsMax = 1e9;                      // which an int counts
constexpr Bounds kAny{};
constexpr Bounds kAtLeastZero{.low = 0};
constexpr Bounds kAboveZero{.low = 0, .above_low = true};
constexpr Bounds kDensity{.low = 0, .high = 1e100, .above_low = true};  // whose sums are finite

Material read_material(const Table& table) {
  Material material;
  material.mass = table.number("mass", kAboveZero, material.mass);
  material.beta = table.number("beta", kAtLeastZero, material.beta);
  material.range = table.number("range", kAboveZero);
  material.viscosity = table.number("viscosity", kAtLeastZero, material.viscosity);
  return material;
}

/// Cells as large as the range are what the force loops rest on (grid.hpp).
Space read_space(const Table& table, double range) {
  Space space;
  space.width = table.number("width", kAboveZero);
  space.height = table.number("height", kAboveZero);
  space.cell_size = table.number("cell_size", kAboveZero);
  space.x = table.edges("boundary_x");
  space.y = table.edges("boundary_y");
  if (space.cell_size < range)
    table.fail("cell_size", fmt::format("{}; expected at least material.range, {}", space.cell_size, range));
  if (space.width < space.cell_size)
    table.fail("width", fmt::format("{}; expected at least cell_size, {}", space.width, space.cell_size));
  if (space.height < range)
    table.fail("height", fmt::format("{}; expected at least material.range, {}", space.height, range));
  const double cells = space.width / space.cell_size * (space.height / space.cell_size + 1);
  if (!(cells <= kCellsMax))
    table.fail("cell_size", fmt::format("{} makes {:.3g} cells; expected at most {:.3g}", space.cell_size,
                                        cells, kCellsMax));
  return space;
}

std::vector<ProfilePoint> read_profile(const Table& initial, const Space& space) {
  std::vector<ProfilePoint> profile;
  for (const Table& table : initial.tables("profile", {"x", "density", "velocity"})) {
    const ProfilePoint point{table.number("x", {.low = 0, .high = space.width}),
                             table.number("density", kDensity), table.number("velocity", kAny)};
    if (!profile.empty() && point.x <= profile.back().x)
      table.fail(
          "x", fmt::format("{}; expected more than that of the point before, {}", point.x, profile.back().x));
    profile.push_back(point);
  }
  if (profile.size() < 2)
    initial.fail("profile", fmt::format("{} points; expected at least 2", profile.size()));
  return profile;
}

std::vector<GivenParticle> read_particles(const Table& initial, const Space& space) {
  for (const char* key : {"particles", "profile", "velocity_fluctuation", "position_fluctuation"})
    if (initial.has(key)) initial.fail(key, "beside initial.particle; expected either of them");
  std::vector<GivenParticle> given;
  for (const Table& table : initial.tables("particle", {"x", "y", "vx", "vy"}))
    given.push_back({table.number("x", {.low = 0, .high = space.width}),
                     table.number("y", {.low = 0, .high = space.height}), table.number("vx", kAny, 0.0),
                     table.number("vy", kAny, 0.0)});
  if (given.empty()) initial.fail("particle", "0 particles; expected at least 1");
  return given;
}

Initial read_initial(const Table& table, const Space& space) {
  Initial initial;
  initial.seed = static_cast<std::uint64_t>(table.integer("seed", 0, INT64_MAX, 1));
  if (table.has("particle")) {
    initial.given = read_particles(table, space);
    initial.particles = static_cast<std::int64_t>(initial.given.size());
    return initial;
  }
  initial.particles = table.integer("particles", 1, kParticlesMax);
  initial.profile = read_profile(table, space);
  initial.velocity_fluctuation = table.number("velocity_fluctuation", kAtLeastZero, 0.0);
  initial.position_fluctuation = table.number("position_fluctuation", {.low = 0, .high = 1}, 0.0);
  return initial;
}

Parallel read_parallel(const Table& table, bool unsafe) {
  Parallel parallel;
  parallel.mapping = table.text("mapping", parallel.mapping);
  try {
    parse_mapping(parallel.mapping);
  } catch (const Error& error) {
    table.fail("mapping", error.what());
  }
  parallel.remap_interval = table.integer("remap_interval", 0, kMany, parallel.remap_interval);
  parallel.engine = table.choice("engine", parallel.engine);
  parallel.halo = table.choice("halo", parallel.halo);
  parallel.threads = static_cast<int>(table.integer("threads", 0, 4096, parallel.threads));
  parallel.schedule = table.choice("schedule", parallel.schedule);
  parallel.update = table.choice("update", parallel.update);
  if (parallel.engine == Engine::kList && parallel.update == Update::kNone && !unsafe)
    table.fail("update",
               "\"none\" loses forces where threads meet; expected critical, reduction, or --unsafe");
  parallel.sorting = table.choice("sorting", parallel.sorting);
  parallel.chunks_per_thread =
      static_cast<int>(table.integer("chunks_per_thread", 1, 1 << 20, parallel.chunks_per_thread));
  return parallel;
}

Output read_output(const Table& table) {
  Output output;
  output.snapshot_interval = table.integer("snapshot_interval", 0, kMany, output.snapshot_interval);
  output.restart_interval = table.integer("restart_interval", 0, kMany, output.restart_interval);
  output.check_interval = table.integer("check_interval", 0, kMany, output.check_interval);
  output.energy_tolerance = table.number("energy_tolerance", kAboveZero, output.energy_tolerance);
  output.momentum_tolerance = table.number("momentum_tolerance", kAboveZero, output.momentum_tolerance);
  return output;
}

}  // namespace

Settings parse_input(const std::string& text, const std::string& file, const std::vector<Override>& overrides,
                     bool unsafe) {
  const Document document(text, file, overrides);
  const Table root(document, {"space", "material", "initial", "integration", "parallel", "output"});
  const Table space = root.table("space", true, {"width", "height", "cell_size", "boundary_x", "boundary_y"});
  const Table material = root.table("material", true, {"mass", "beta", "range", "viscosity"});
  const Table initial = root.table(
      "initial", true,
      {"particles", "seed", "profile", "velocity_fluctuation", "position_fluctuation", "particle"});
  const Table integration = root.table("integration", true, {"time_step", "steps"});
  const Table parallel = root.table("parallel", false,
                                    {"mapping", "remap_interval", "engine", "halo", "threads", "schedule",
                                     "update", "sorting", "chunks_per_thread"});
  const Table output = root.table(
      "output", false,
      {"snapshot_interval", "restart_interval", "check_interval", "energy_tolerance", "momentum_tolerance"});
  Settings settings;
  settings.file = file;
  settings.material = read_material(material);
  settings.space = read_space(space, settings.material.range);
  settings.initial = read_initial(initial, settings.space);
  settings.integration.time_step = integration.number("time_step", kAboveZero);
  settings.integration.steps = integration.integer("steps", 0, kMany);
  settings.parallel = read_parallel(parallel, unsafe);
  settings.output = read_output(output);
  return settings;
}

}  // namespace spam
