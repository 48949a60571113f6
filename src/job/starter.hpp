// Starter: what a rank is given by the one that started it: a Directory, a Launcher, a Node, the links to its
// peers, and the time it lives in. One implementation for each way to be started: job/local/ has that of our
// mpiexec and that of a program alone; the unit tests have one for ranks that are threads.
//
// Ownership: the starter owns what it gives by reference, and outlives the rank's Process.
// Thread safety: each method may be called from one thread of a rank at a time.
#pragma once

#include <memory>
#include <string>

#include "base/system/clock.hpp"
#include "base/variables/config.hpp"
#include "job/directory.hpp"
#include "job/launcher.hpp"
#include "link/link.hpp"
#include "link/waiter.hpp"
#include "node/node.hpp"

namespace tasuki {

class Starter {
 public:
  virtual ~Starter() = default;

  virtual Directory& directory() = 0;
  virtual Launcher& launcher() = 0;
  virtual Node& node() = 0;

  /// By which wire this rank joined its job, and why by that one, for TASUKI_EXPLAIN; empty: nothing is to be
  /// told.
  virtual std::string explanation() const { return {}; }

  /// Makes the link to the ranks of this job, and what the ranks of this node share besides. Called once,
  /// before anything else of the node but its call board is used.
  virtual std::unique_ptr<Link> make_link(const Config& config) = 0;

  /// Puts a link before `link`, which it takes, that reaches processes of other jobs on other hosts. Returns
  /// false, with one line in `error`, where there is no network; then nothing has happened.
  virtual bool add_network(const Config& /*config*/, std::unique_ptr<Link>* /*link*/, std::string* error) {
    *error = "ranks that were started this way have no network to other jobs";
    return false;
  }

  /// The clock of this rank's waits, and of its links.
  virtual const Clock& clock() const { return real_clock(); }
  /// How this rank waits for what `link` brings; null: in the usual way. Called once.
  virtual std::unique_ptr<Waiter> make_waiter(Link& /*link*/) { return nullptr; }
};

}  // namespace tasuki
