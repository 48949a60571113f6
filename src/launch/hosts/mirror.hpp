// Mirror: what the ranks of one host say in their job segment, carried over to the segments of the others.
//
// Each host of a job has a segment with a place for every rank (job/local/job_segment.hpp). A rank writes in
// that of its own host. Its values and fences, and where it is in its life, are carried to all other hosts,
// where ranks look for them; its call board to mpiexec, where the doctor and --top look. So both, and the
// ranks, read memory only, wherever a rank is.
//
// One thread. Invariants: only the mirror writes the places of ranks that are elsewhere, but for
// CallBoard::asked, which mpiexec writes, and which is carried the other way.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/hosts/channel.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

class Mirror {
 public:
  using Tell = std::function<void(Frame, const std::string&)>;

  /// `world` is prepared, and outlives this object.
  explicit Mirror(World& world);

  /// Tells what has changed of the ranks here since the last call.
  void tell_values(const Tell& tell);
  void tell_states(const Tell& tell);
  void tell_boards(const Tell& tell);
  /// What the doctor of this host has asked ranks elsewhere since the last call.
  void tell_questions(const Tell& tell);

  /// Writes what another host has told. Returns false, and has changed nothing, when it cannot be right.
  bool take(Frame frame, std::string_view payload);

  World& world() const { return world_; }
  /// The number of the world that a frame is of.
  static std::uint32_t world_of(std::string_view payload);
  /// The rank that a frame is of; -1: none of this world.
  int rank_of(std::string_view payload) const;

 private:
  struct Told {
    std::string values;
    std::string state;
    std::string line;
    std::uint64_t report = 0;  // version
    bool files = false;
    std::uint64_t asked = 0;
    std::optional<std::int64_t> clock_ahead_ns;  // of this host's clock, of a rank elsewhere
  };
  std::string of_rank(int rank, const std::string& text) const;
  std::string board_part(int rank, std::uint32_t part, const std::string& text) const;
  template <class Each>
  void for_each(bool here, Each&& each);
  std::byte* values() { return local::values_of(&world_.segment.header(), world_.size()); }

  World& world_;
  std::vector<Told> told_;  // by rank
};

}  // namespace tasuki::launch
