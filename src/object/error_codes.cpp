// Error classes, codes and strings, predefined and the user's (MPI 9.4, 9.5).
//
// A user's class or code is a number from kUserErrorFirst on, which fills the low half of an error code. Both
// take the number after the largest one in use, which is MPI_LASTUSEDCODE, or else one that was given back.
#include <map>
#include <string>

#include "object/api.hpp"
#include "object/errhandler.hpp"
#include "object/objects.hpp"

namespace tasuki {
namespace {

constexpr int kUserErrorLast = 0xffff;

UserError* find_user_error(Process& process, int number) {
  const auto found = process.objects->user_errors.find(number);
  return found == process.objects->user_errors.end() ? nullptr : &found->second;
}

bool is_class(int number, const UserError& error) {
  return error.error_class == number;
}

using UserErrors = std::map<int, UserError>;

/// A number that is not in use, or one beyond kUserErrorLast.
int free_number(const UserErrors& errors) {
  if (errors.empty()) return kUserErrorFirst;
  if (errors.rbegin()->first < kUserErrorLast) return errors.rbegin()->first + 1;
  int number = kUserErrorFirst;
  for (auto one = errors.begin(); one != errors.end() && one->first == number; ++one) ++number;
  return number;
}

void note_last(Objects& objects) {
  objects.attributes.lastusedcode =
      objects.user_errors.empty() ? int{kErrLastcode} : objects.user_errors.rbegin()->first;
}

Code add_number(Process& process, int error_class, int* number) {
  Objects& objects = *process.objects;
  const int next = free_number(objects.user_errors);
  if (next > kUserErrorLast)
    return process.fail(kErrOther, "no error class or code is left, expected at most %d of them",
                        kUserErrorLast - kUserErrorFirst + 1);
  objects.user_errors[next].error_class = error_class != 0 ? error_class : next;
  note_last(objects);
  *number = next;
  return kSuccess;
}

void give_back(Process& process, int number) {
  process.objects->user_errors.erase(number);
  note_last(*process.objects);
}

}  // namespace

std::string error_text(const Process& process, Code code) {
  const std::string& logged = process.errors.text(code);
  if (!logged.empty()) return logged;
  const int number = error_class_bits(code);
  if (code >= 0 && process.objects != nullptr) {
    const auto user = process.objects->user_errors.find(number);
    if (user != process.objects->user_errors.end()) return user->second.text;
  }
  const char* name = code >= 0 ? error_class_name(number) : nullptr;
  if (name == nullptr) return "unknown error code " + std::to_string(code);
  return std::string(name) + ": " + error_class_description(number);
}

namespace api {

Code error_class(Process& process, int errorcode, int* errorclass) {
  const int number = error_class_bits(errorcode);
  if (errorcode >= 0) {
    if (const UserError* user = find_user_error(process, number)) {
      *errorclass = user->error_class;
      return kSuccess;
    }
    if (error_class_name(number) != nullptr) {
      *errorclass = number;
      return kSuccess;
    }
  }
  return process.fail(kErrArg, "errorcode = %d, expected a code that MPI returned or that was added",
                      errorcode);
}

Code error_string(Process& process, int errorcode, std::string* string) {
  int error_class_of = kSuccess;
  if (const Code code = error_class(process, errorcode, &error_class_of)) return code;
  *string = error_text(process, errorcode);
  return kSuccess;
}

Code add_error_class(Process& process, int* errorclass) {
  return add_number(process, 0, errorclass);
}

Code add_error_code(Process& process, int errorclass, int* errorcode) {
  const UserError* user = find_user_error(process, errorclass);
  if (user != nullptr ? !is_class(errorclass, *user) : error_class_name(errorclass) == nullptr)
    return process.fail(kErrArg, "errorclass = %d, expected an error class", errorclass);
  if (const Code code = add_number(process, errorclass, errorcode)) return code;
  if (user != nullptr) ++find_user_error(process, errorclass)->codes;
  return kSuccess;
}

Code add_error_string(Process& process, int errorcode, const char* string) {
  UserError* user = find_user_error(process, errorcode);
  if (user == nullptr)
    return process.fail(kErrArg, "errorcode = %d, expected a class or code that was added", errorcode);
  user->text = string != nullptr ? string : "";
  return kSuccess;
}

Code remove_error_class(Process& process, int errorclass) {
  const UserError* user = find_user_error(process, errorclass);
  if (user == nullptr || !is_class(errorclass, *user))
    return process.fail(kErrArg, "errorclass = %d, expected a class that was added", errorclass);
  if (user->codes != 0)
    return process.fail(kErrArg, "errorclass = %d still has %d error code(s)", errorclass, user->codes);
  if (!user->text.empty())
    return process.fail(kErrArg, "errorclass = %d still has an error string", errorclass);
  give_back(process, errorclass);
  return kSuccess;
}

Code remove_error_code(Process& process, int errorcode) {
  const UserError* user = find_user_error(process, errorcode);
  if (user == nullptr || is_class(errorcode, *user))
    return process.fail(kErrArg, "errorcode = %d, expected a code that was added", errorcode);
  if (!user->text.empty())
    return process.fail(kErrArg, "errorcode = %d still has an error string", errorcode);
  if (UserError* owner = find_user_error(process, user->error_class)) --owner->codes;
  give_back(process, errorcode);
  return kSuccess;
}

Code remove_error_string(Process& process, int errorcode) {
  UserError* user = find_user_error(process, errorcode);
  if (user == nullptr || user->text.empty())
    return process.fail(kErrArg, "errorcode = %d, expected a class or code with an error string", errorcode);
  user->text.clear();
  return kSuccess;
}

}  // namespace api
}  // namespace tasuki
