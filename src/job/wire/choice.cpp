// The cases: of several launchers around each other the nearest one counts.
#include "job/wire/choice.hpp"

#include <strings.h>

#include <climits>
#include <cstdlib>
#include <cstring>

#include "job/local/job_segment.hpp"

namespace tasuki::wire {
namespace {

bool is_switched_on(const char* text) {
  if (text == nullptr) return false;
  for (const char* no : {"", "0", "no", "false", "off"}) {
    if (strcasecmp(text, no) == 0) return false;
  }
  return true;
}

struct Reader {
  GetVariable get;
  bool has(const char* name) const { return get(name) != nullptr && *get(name) != '\0'; }
  /// "PMI_FD=9"
  std::string shown(const char* name) const {
    return std::string(name) + "=" + (get(name) != nullptr ? get(name) : "");
  }
  long number(const char* name) const { return has(name) ? std::strtol(get(name), nullptr, 10) : 0; }
  /// A variable of that kind that says where PMIx' server is; null: none.
  const char* pmix_server() const {
    for (const char* name : {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI21",
                             "PMIX_SERVER_URI2", "PMIX_SERVER_URI"}) {
      if (has(name)) return name;
    }
    return nullptr;
  }
};

constexpr const char* kAloneHint = " (TASUKI_SINGLETON=1 makes each process a job of its own)";

/// What stands in the way of a job whose launcher offers no wire.
std::string refusal(const Reader& read, const std::string& launcher) {
  if (read.number("SLURM_STEP_NUM_TASKS") > 1 && read.has("SLURM_PROCID")) {
    return "srun started this program as " + read.shown("SLURM_PROCID") + " of " +
           read.shown("SLURM_STEP_NUM_TASKS") +
           " without a way to find the others (PMI or PMIx); type srun --mpi=pmi2" + kAloneHint;
  }
  return "this program was started by " + launcher +
         ", which offers neither PMI-1 (PMI_FD, PMI_PORT) nor PMIx (PMIX_SERVER_URI) to join its job; start "
         "it by Tasuki's own mpiexec" +
         kAloneHint;
}

bool has_pmi_fd(const Reader& read) {
  return read.has("PMI_FD") && read.has("PMI_RANK") && read.has("PMI_SIZE");
}

/// Of the wires that are offered, and to no ancestor, the one of the nearest launcher; kRefused: none.
WireChoice nearest_wire(const WireFacts& facts, const Reader& read) {
  WireChoice nearest{Joining::kRefused, {}};
  int least_steps = INT_MAX;
  const auto offer = [&](const Lineage& lineage, Joining joining, const std::string& reason) {
    const int steps = lineage.steps > 0 ? lineage.steps : INT_MAX;
    if (lineage.taken || (nearest.joining != Joining::kRefused && steps >= least_steps)) return;
    nearest = {joining, reason};
    least_steps = steps;
  };
  if (has_pmi_fd(read) && (facts.pmi_fd_is_open || facts.pmi_fd_holder != 0)) {
    offer(facts.pmi_fd, Joining::kPmiFd,
          read.shown("PMI_FD") + ", " + read.shown("PMI_RANK") + ", " + read.shown("PMI_SIZE") +
              (facts.pmi_fd_is_open ? ", and the descriptor is a socket"
                                    : "; the descriptor was closed on the way here, and process " +
                                          std::to_string(facts.pmi_fd_holder) + " has it"));
  }
  const char* const server = read.pmix_server();
  if (server != nullptr && read.has("PMIX_NAMESPACE") && read.has("PMIX_RANK")) {
    offer(facts.pmix, Joining::kPmix,
          read.shown("PMIX_NAMESPACE") + ", " + read.shown("PMIX_RANK") + ", and " + server + " is set");
  }
  if (read.has("PMI_PORT") && read.has("PMI_ID"))
    offer(facts.pmi_port, Joining::kPmiPort, read.shown("PMI_PORT") + ", " + read.shown("PMI_ID"));
  return nearest;
}

}  // namespace

WireChoice choose_wire(const WireFacts& facts) {
  const Reader read{facts.get};
  if (is_switched_on(read.get("TASUKI_SINGLETON")))
    return {Joining::kAlone, read.shown("TASUKI_SINGLETON") + " says so"};
  const WireChoice wire = nearest_wire(facts, read);
  if (wire.joining != Joining::kRefused) return wire;
  if (facts.pmi_fd.taken || facts.pmi_port.taken || facts.pmix.taken)
    return {Joining::kAlone,
            "the process that started this one is a rank, and its variables are no one else's"};
  if (read.get(local::kJobIdName) != nullptr || read.get(local::kJobFdName) != nullptr)
    return {Joining::kOwnJob, std::string(local::kJobIdName) + " is set"};
  if (has_pmi_fd(read) && read.number("PMI_SIZE") > 1) {
    return {Joining::kRefused,
            "the launcher's " + read.shown("PMI_FD") + " (" + read.shown("PMI_RANK") + ", " +
                read.shown("PMI_SIZE") +
                ") is no socket of this process: a program on the way here closed it, or the variables are "
                "left over from a rank that has ended" +
                kAloneHint};
  }
  const std::string launcher = other_launcher(read.get);
  if (!launcher.empty()) return {Joining::kRefused, refusal(read, launcher)};
  return {Joining::kAlone, "no variable of a launcher is set"};
}

const char* joining_text(Joining joining) {
  switch (joining) {
    case Joining::kAlone:
      return "a job of its own";
    case Joining::kOwnJob:
      return "a rank of the job of Tasuki's mpiexec";
    case Joining::kPmiFd:
      return "a rank of another launcher's job, by PMI-1 over PMI_FD";
    case Joining::kPmiPort:
      return "a rank of another launcher's job, by PMI-1 over PMI_PORT";
    case Joining::kPmix:
      return "a rank of another launcher's job, by PMIx";
    case Joining::kRefused:
      break;
  }
  return "none";
}

}  // namespace tasuki::wire
