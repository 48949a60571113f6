// MPI_T's start and end (MPI 15.3.4), and what is handed on when MPI itself starts and ends.
#include <unistd.h>

#include "base/error.hpp"
#include "base/variables/settings.hpp"
#include "coll/run/execution.hpp"
#include "p2p/point_to_point.hpp"
#include "progress/progress.hpp"
#include "tool/api.hpp"
#include "tool/tool.hpp"

namespace tasuki {

Tool::Tool() {
  const auto note = [this](const EnumRow* row) {
    for (const EnumRow* known : enums) {
      if (known == row) return;
    }
    if (row != nullptr) enums.push_back(row);
  };
  for (const Setting& setting : settings()) note(setting.choices);
  for (const CounterRow& row : counter_table()) note(row.states);
  for (const EventRow& row : event_table()) note(row.elements);
}

ToolHandle enum_handle(const Tool& tool, const EnumRow* row) {
  for (std::size_t i = 0; i < tool.enums.size(); ++i) {
    if (tool.enums[i] == row) return tool_handle(ToolKind::kEnum, 0, static_cast<std::uint32_t>(i));
  }
  return kNoToolHandle;
}

void apply_setting(Process& process, const Setting& setting) {
  if (process.p2p == nullptr) return;  // before MPI_Init or after MPI_Finalize
  if (setting.part == Part::kProtocol) {
    process.p2p->read_settings();
  } else if (setting.value == &Config::spin_count) {
    process.progress->set_spin_count(process.config.spin_count);
  } else if (setting.part == Part::kCollectives) {
    process.collectives->settings_changed();
  } else if (setting.value == &Config::explain) {
    process.p2p->read_settings();
    process.collectives->settings_changed();
  }
}

void take_written_settings(const Process& before, Config* config) {
  std::size_t index = 0;
  for (const Setting& setting : settings()) {
    if ((before.tool->written >> index++ & 1) != 0) config->*setting.value = before.config.*setting.value;
  }
}

void hand_on_tool(Process& from, Process& to) {
  Tool& tool = *from.tool;
  const std::lock_guard lock(tool.mutex);
  if (from.p2p != nullptr) {  // MPI ends
    tool.release_communicators();
    to.config = from.config;
    tool.has_config = true;
    to.counters = {};
  }
  hand_on_counters(from.counters, &to.counters);
  to.tool = &tool;
  to.events = from.events;
}

namespace api {

Code t_init_thread(Process& process, int required, int* provided) {
  Tool& tool = *process.tool;
  const auto level = static_cast<ThreadLevel>(required);
  if (level != ThreadLevel::kSingle && level != ThreadLevel::kFunneled && level != ThreadLevel::kSerialized &&
      level != ThreadLevel::kMultiple) {
    return kTErrInvalid;
  }
  if (process.p2p == nullptr && !tool.has_config) {
    Config config;
    std::string error;
    std::string warning;
    if (!read_settings(environ, &config, &error, &warning)) return kTErrCannotInit;
    process.config = config;
    tool.has_config = true;
  }
  if (tool.initialized++ == 0) tool.thread_level = level;
  *provided = static_cast<int>(tool.thread_level);
  return kSuccess;
}

Code t_finalize(Process& process) {
  Tool& tool = *process.tool;
  if (--tool.initialized > 0) return kSuccess;
  tool.controls.clear();
  tool.performances.clear();
  tool.sessions.clear();
  tool.registrations.clear();
  process.events.wanted = 0;
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
