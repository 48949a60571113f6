// MPI_T performance variables as notes: see variables.hpp.
#include "variables.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace mbl {
namespace {

/// "a,b" or "a_b" -> {"a", "b"}: what stands between signs, in lower case.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char letter : text) {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool is_summed(int kind) {
  return kind == MPI_T_PVAR_CLASS_COUNTER || kind == MPI_T_PVAR_CLASS_TIMER ||
         kind == MPI_T_PVAR_CLASS_AGGREGATE;
}

bool is_number(MPI_Datatype type) {
  return type == MPI_UNSIGNED || type == MPI_UNSIGNED_LONG || type == MPI_UNSIGNED_LONG_LONG ||
         type == MPI_DOUBLE;
}

}  // namespace

Variables::Variables(const std::vector<std::string>& words, MPI_File* file) : words_(words) {
  if (const char* wanted = std::getenv("MBL_VARIABLES"); wanted != nullptr) words_ = words_of(wanted);
  int level = 0, count = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &level) != MPI_SUCCESS) return;
  ready_ = true;
  if (MPI_T_pvar_session_create(&session_) != MPI_SUCCESS) return;
  if (MPI_T_pvar_get_num(&count) != MPI_SUCCESS) return;
  for (int index = 0; index < count; ++index) add(index, file);
}

void Variables::add(int index, MPI_File* file) {
  char name[256] = {};
  int length = sizeof name, level = 0, kind = 0, bind = 0, read_only = 0, continuous = 0, atomic = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum items = MPI_T_ENUM_NULL;
  if (MPI_T_pvar_get_info(index, name, &length, &level, &kind, &type, &items, nullptr, nullptr, &bind,
                          &read_only, &continuous, &atomic) != MPI_SUCCESS)
    return;
  const auto words = words_of(name);
  const bool wanted =
      std::find_first_of(words.begin(), words.end(), words_.begin(), words_.end()) != words.end();
  const bool of_file = bind == MPI_T_BIND_MPI_FILE && file != nullptr;
  if (!wanted || !is_summed(kind) || !is_number(type) || !(bind == MPI_T_BIND_NO_OBJECT || of_file)) return;
  MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
  int count = 0;
  if (MPI_T_pvar_handle_alloc(session_, index, of_file ? file : nullptr, &handle, &count) != MPI_SUCCESS)
    return;
  if (count != 1 || (continuous == 0 && MPI_T_pvar_start(session_, handle) != MPI_SUCCESS)) {
    MPI_T_pvar_handle_free(session_, &handle);
    return;
  }
  variables_.push_back({name, handle, type, 0, 0});
}

Variables::~Variables() {
  for (Variable& variable : variables_) MPI_T_pvar_handle_free(session_, &variable.handle);
  if (session_ != MPI_T_PVAR_SESSION_NULL) MPI_T_pvar_session_free(&session_);
  if (ready_) MPI_T_finalize();
}

double Variables::read(const Variable& variable) const {
  union {
    unsigned narrow;
    unsigned long usual;
    unsigned long long wide;
    double real;
  } value = {.wide = 0};
  if (MPI_T_pvar_read(session_, variable.handle, &value) != MPI_SUCCESS) return 0;
  if (variable.type == MPI_UNSIGNED) return value.narrow;
  if (variable.type == MPI_UNSIGNED_LONG) return static_cast<double>(value.usual);
  return variable.type == MPI_DOUBLE ? value.real : static_cast<double>(value.wide);
}

void Variables::begin() {
  for (Variable& variable : variables_) variable.before = read(variable);
}

void Variables::end(int rounds) {
  for (Variable& variable : variables_) variable.growth = (read(variable) - variable.before) / rounds;
}

Notes Variables::notes() const {
  Notes notes;
  for (const Variable& variable : variables_) notes.emplace_back("pvar_" + variable.name, variable.growth);
  return notes;
}

}  // namespace mbl
