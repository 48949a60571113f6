// Settings of the library that a test changes while it runs.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// A control variable of MPI_T.
class Setting {
 public:
  explicit Setting(const std::string& name) {
    int index;
    if (MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS) return;
    int name_length = 0, verbosity, description_length = 0, bind, scope, count;
    MPI_T_cvar_get_info(index, nullptr, &name_length, &verbosity, &type_, &enumeration_, nullptr,
                        &description_length, &bind, &scope);
    MPI_T_cvar_handle_alloc(index, nullptr, &handle_, &count);
  }
  bool exists() const { return handle_ != MPI_T_CVAR_HANDLE_NULL; }

  /// The names of its values; the value is what MPI_T_enum_get_item says.
  std::vector<std::pair<std::string, int>> items() const {
    std::vector<std::pair<std::string, int>> all;
    if (!exists() || enumeration_ == MPI_T_ENUM_NULL) return all;
    int count = 0, length = 0, value = 0;
    MPI_T_enum_get_info(enumeration_, &count, nullptr, &length);
    for (int i = 0; i < count; ++i) {
      char name[64];
      length = sizeof name;
      MPI_T_enum_get_item(enumeration_, i, &value, name, &length);
      all.emplace_back(name, value);
    }
    return all;
  }
  void set(long value) {
    if (!exists()) return;
    int narrow = static_cast<int>(value), size = 0;
    std::int64_t wide = value;
    MPI_Type_size(type_, &size);
    MPI_T_cvar_write(handle_, size == sizeof narrow ? static_cast<void*>(&narrow) : &wide);
  }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_T_enum enumeration_ = MPI_T_ENUM_NULL;
  MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
};
