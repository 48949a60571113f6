// Categories (MPI 15.3.9), by the parts of the library, and enumerations (MPI 15.3.5).
#include <cstring>

#include "base/error.hpp"
#include "base/variables/settings.hpp"
#include "tool/api.hpp"
#include "tool/tool.hpp"

namespace tasuki::api {
namespace {

/// The variables do not come and go, so neither do the members of categories.
constexpr int kNeverChanged = 0;

bool is_part(int index) {
  return index >= 0 && index < kParts;
}

const EnumRow* enum_row(Tool& tool, ToolHandle handle) {
  for (const EnumRow* row : tool.enums) {
    if (enum_handle(tool, row) == handle) return row;
  }
  return nullptr;
}

/// Writes up to `len` indices of the rows that belong to the part; returns how many there are.
template <class Rows>
int members(const Rows& rows, int part, int len, int* indices) {
  int found = 0;
  int index = 0;
  for (const auto& row : rows) {
    if (row.part == static_cast<Part>(part)) {
      if (found < len) indices[found] = index;
      ++found;
    }
    ++index;
  }
  return found;
}

int children(int part, int len, int* indices) {
  int found = 0;
  for (int child = 0; child < kParts; ++child) {
    if (child == part || kPartTable[child].parent != static_cast<Part>(part)) continue;
    if (found < len) indices[found] = child;
    ++found;
  }
  return found;
}

Code check(int cat_index, int len) {
  if (!is_part(cat_index)) return kTErrInvalidIndex;
  return len >= 0 ? kSuccess : kTErrInvalid;
}

}  // namespace

Code t_enum_get_info(Process& process, ToolHandle enumtype, int* num, std::string* name) {
  const EnumRow* row = enum_row(*process.tool, enumtype);
  if (row == nullptr) return kTErrInvalidHandle;
  *num = row->size;
  *name = row->name;
  return kSuccess;
}

Code t_enum_get_item(Process& process, ToolHandle enumtype, int indx, int* value, std::string* name) {
  const EnumRow* row = enum_row(*process.tool, enumtype);
  if (row == nullptr) return kTErrInvalidHandle;
  if (indx < 0 || indx >= row->size) return kTErrInvalidIndex;
  *value = indx;
  *name = row->items[indx];
  return kSuccess;
}

Code t_category_get_num(Process&, int* num_cat) {
  *num_cat = kParts;
  return kSuccess;
}

Code t_category_get_info(Process&, int cat_index, std::string* name, std::string* desc, int* num_cvars,
                         int* num_pvars, int* num_categories) {
  if (!is_part(cat_index)) return kTErrInvalidIndex;
  *name = kPartTable[cat_index].name;
  *desc = kPartTable[cat_index].description;
  *num_cvars = members(settings(), cat_index, 0, nullptr);
  *num_pvars = members(counter_table(), cat_index, 0, nullptr);
  *num_categories = children(cat_index, 0, nullptr);
  return kSuccess;
}

Code t_category_get_num_events(Process&, int cat_index, int* num_events) {
  if (!is_part(cat_index)) return kTErrInvalidIndex;
  *num_events = members(event_table(), cat_index, 0, nullptr);
  return kSuccess;
}

Code t_category_get_index(Process&, const char* name, int* cat_index) {
  for (int index = 0; index < kParts; ++index) {
    if (std::strcmp(name, kPartTable[index].name) != 0) continue;
    *cat_index = index;
    return kSuccess;
  }
  return kTErrInvalidName;
}

Code t_category_get_cvars(Process&, int cat_index, int len, int* indices) {
  if (const Code code = check(cat_index, len); code != 0) return code;
  members(settings(), cat_index, len, indices);
  return kSuccess;
}

Code t_category_get_pvars(Process&, int cat_index, int len, int* indices) {
  if (const Code code = check(cat_index, len); code != 0) return code;
  members(counter_table(), cat_index, len, indices);
  return kSuccess;
}

Code t_category_get_events(Process&, int cat_index, int len, int* indices) {
  if (const Code code = check(cat_index, len); code != 0) return code;
  members(event_table(), cat_index, len, indices);
  return kSuccess;
}

Code t_category_get_categories(Process&, int cat_index, int len, int* indices) {
  if (const Code code = check(cat_index, len); code != 0) return code;
  children(cat_index, len, indices);
  return kSuccess;
}

Code t_category_changed(Process&, int* update_number) {
  *update_number = kNeverChanged;
  return kSuccess;
}

}  // namespace tasuki::api
