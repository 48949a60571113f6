// The calls that ask a window for its properties and set them: group, attributes, name, hints, error handler.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "object/errhandler.hpp"
#include "object/objects.hpp"
#include "rma/api.hpp"

namespace tasuki {
namespace rma {
namespace {

constexpr std::size_t kNameMax = 127;  // MPI_MAX_OBJECT_NAME of the ABIs, without the final NUL

void take_flag(const Info* info, const char* key, bool* flag) {
  const std::string* value = find_info(info, key);
  if (value != nullptr && (*value == "true" || *value == "false")) *flag = *value == "true";
}

/// "none", or a list of rar, raw, war, waw (MPI 12.7.2).
bool is_ordering(std::string_view text) {
  if (text == "none") return true;
  constexpr std::array<std::string_view, 4> kOrders = {"rar", "raw", "war", "waw"};
  for (;;) {
    const std::size_t comma = text.find(',');
    if (std::find(kOrders.begin(), kOrders.end(), text.substr(0, comma)) == kOrders.end()) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

void take_hints(Hints* hints, const Info* info) {
  take_flag(info, "no_locks", &hints->no_locks);
  take_flag(info, "same_size", &hints->same_size);
  take_flag(info, "same_disp_unit", &hints->same_disp_unit);
  take_flag(info, "alloc_shared_noncontig", &hints->noncontiguous);
  const std::string* value = find_info(info, "accumulate_ordering");
  if (value != nullptr && is_ordering(*value)) hints->accumulate_ordering = *value;
  value = find_info(info, "accumulate_ops");
  if (value != nullptr && (*value == "same_op" || *value == "same_op_no_op")) hints->accumulate_ops = *value;
  value = find_info(info, "mpi_accumulate_granularity");
  if (value != nullptr && is_number(*value)) hints->accumulate_granularity = *value;
}

}  // namespace rma

namespace api {

Code win_get_group(Process&, Win* win, Group** group) {
  *group = group_of(*win->comm, win->comm->group.get());
  return kSuccess;
}

Code win_set_attr(Process& process, Win* win, int win_keyval, void* attribute_val) {
  return set_attribute(process, win, &win->attributes, win_keyval, attribute_val);
}

Code win_get_attr(Process& process, Win* win, int win_keyval, void** attribute_val, bool* flag) {
  *flag = true;
  switch (win_keyval) {
    case kWinBase:
      *attribute_val = win->part(win->rank()).base;
      return kSuccess;
    case kWinSize:
      *attribute_val = &win->size_attribute;
      return kSuccess;
    case kWinDispUnit:
      *attribute_val = &win->unit_attribute;
      return kSuccess;
    case kWinCreateFlavor:
      *attribute_val = &win->flavor_attribute;
      return kSuccess;
    case kWinModel:
      *attribute_val = &win->model_attribute;
      return kSuccess;
    default:
      return get_attribute(process, win, win->attributes, win_keyval, attribute_val, flag);
  }
}

Code win_delete_attr(Process& process, Win* win, int win_keyval) {
  return delete_attribute(process, win, &win->attributes, win_keyval);
}

Code win_set_name(Process& process, Win* win, const char* win_name) {
  if (win_name == nullptr) return process.fail(kErrArg, "win_name is null, expected a string");
  win->name.assign(win_name, strnlen(win_name, rma::kNameMax));
  return kSuccess;
}

Code win_get_name(Process&, Win* win, std::string* win_name) {
  *win_name = win != nullptr ? win->name : "MPI_WIN_NULL";
  return kSuccess;
}

Code win_set_info(Process&, Win* win, Info* info) {
  // Where the memory lies and whether locks are legal is settled when the window is made.
  const bool noncontiguous = win->hints.noncontiguous;
  rma::take_hints(&win->hints, info);
  win->hints.noncontiguous = noncontiguous;
  return kSuccess;
}

Code win_get_info(Process&, Win* win, Info** info_used) {
  const rma::Hints& hints = win->hints;
  const auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
  Info* made = new Info;
  set_info(made, "no_locks", flag(hints.no_locks));
  set_info(made, "accumulate_ordering", hints.accumulate_ordering);
  set_info(made, "accumulate_ops", hints.accumulate_ops);
  set_info(made, "mpi_accumulate_granularity", hints.accumulate_granularity);
  set_info(made, "same_size", flag(hints.same_size));
  set_info(made, "same_disp_unit", flag(hints.same_disp_unit));
  if (win->flavor == rma::kShared) set_info(made, "alloc_shared_noncontig", flag(hints.noncontiguous));
  *info_used = made;
  return kSuccess;
}

Code win_set_errhandler(Process& process, Win* win, Errhandler* errhandler) {
  return set_errhandler(process, *win, Kind::kWin, errhandler);
}

Code win_get_errhandler(Process&, Win* win, Errhandler** errhandler) {
  *errhandler = get_errhandler(*win);
  return kSuccess;
}

Code win_call_errhandler(Process& process, Win* win, int errorcode) {
  const Ref<Win> alive = Ref<Win>::share(win);
  call_errhandler(process, *win->errhandler, win, errorcode);
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
