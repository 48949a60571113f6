// Control variables (MPI 15.3.6): the settings of base/variables/settings.hpp.
#include <cstring>

#include "base/error.hpp"
#include "base/variables/former_names.hpp"
#include "base/variables/settings.hpp"
#include "object/objects.hpp"
#include "tool/api.hpp"
#include "tool/tool.hpp"

namespace tasuki::api {
namespace {

const Setting* setting_at(int index) {
  const auto all = settings();
  return index >= 0 && static_cast<std::size_t>(index) < all.size() ? &all[static_cast<std::size_t>(index)]
                                                                    : nullptr;
}

bool is_wide(const Setting& setting) {
  return setting.type == SettingType::kBytes;
}

}  // namespace

Code t_cvar_get_num(Process&, int* num_cvar) {
  *num_cvar = static_cast<int>(settings().size());
  return kSuccess;
}

Code t_cvar_get_info(Process& process, int cvar_index, std::string* name, int* verbosity, Datatype** datatype,
                     ToolHandle* enumtype, std::string* desc, int* bind, int* scope) {
  const Setting* setting = setting_at(cvar_index);
  if (setting == nullptr) return kTErrInvalidIndex;
  *name = setting->name;
  *verbosity = static_cast<int>(setting->verbosity);
  *datatype = predefined_object<Datatype>(*process.objects, is_wide(*setting) ? kMpiUnsignedLong : kMpiInt);
  *enumtype = enum_handle(*process.tool, setting->choices);
  *desc = setting->description;
  *bind = static_cast<int>(Bind::kNoObject);
  *scope = static_cast<int>(setting->scope);
  return kSuccess;
}

Code t_cvar_get_index(Process&, const char* name, int* cvar_index) {
  name = present_name(name);
  for (const Setting& setting : settings()) {
    if (std::strcmp(name, setting.name) != 0) continue;
    *cvar_index = static_cast<int>(&setting - settings().data());
    return kSuccess;
  }
  return kTErrInvalidName;
}

Code t_cvar_handle_alloc(Process& process, int cvar_index, ToolHandle* handle, int* count) {
  if (setting_at(cvar_index) == nullptr) return kTErrInvalidIndex;
  *handle = process.tool->controls.make({cvar_index});
  *count = 1;
  return *handle != kNoToolHandle ? kSuccess : kTErrOutOfHandles;
}

Code t_cvar_handle_free(Process& process, ToolHandle* handle) {
  if (process.tool->controls.find(*handle) == nullptr) return kTErrInvalidHandle;
  process.tool->controls.free(*handle);
  *handle = kNoToolHandle;
  return kSuccess;
}

Code t_cvar_read(Process& process, ToolHandle handle, void* buf) {
  const ControlHandle* control = process.tool->controls.find(handle);
  if (control == nullptr) return kTErrInvalidHandle;
  const Setting& setting = *setting_at(control->setting);
  const std::int64_t value = process.config.*setting.value;
  if (is_wide(setting)) {
    const auto wide = static_cast<unsigned long>(value);
    std::memcpy(buf, &wide, sizeof wide);
  } else {
    const int narrow = static_cast<int>(value);
    std::memcpy(buf, &narrow, sizeof narrow);
  }
  return kSuccess;
}

Code t_cvar_write(Process& process, ToolHandle handle, const void* buf) {
  const ControlHandle* control = process.tool->controls.find(handle);
  if (control == nullptr) return kTErrInvalidHandle;
  const Setting& setting = *setting_at(control->setting);
  std::int64_t value = 0;
  if (is_wide(setting)) {
    unsigned long wide;
    std::memcpy(&wide, buf, sizeof wide);
    value = static_cast<std::int64_t>(wide);
  } else {
    int narrow;
    std::memcpy(&narrow, buf, sizeof narrow);
    value = narrow;
  }
  if (value == process.config.*setting.value) return kSuccess;  // a tool puts back what it has read
  const bool running = process.p2p != nullptr;
  if (running && setting.change == Change::kBeforeInit) return kTErrCvarSetNotNow;
  // The default may lie outside of the range: it means "automatic". How long to spin is found out once, when
  // MPI starts.
  const bool is_default = value == Config{}.*setting.value;
  const bool stays_automatic = !running || setting.value != &Config::spin_count;
  if (!is_valid_setting(setting, value) && !(is_default && stays_automatic)) return kTErrInvalid;
  process.config.*setting.value = value;
  process.tool->written |= std::uint64_t{1} << control->setting;
  apply_setting(process, setting);
  return kSuccess;
}

}  // namespace tasuki::api
