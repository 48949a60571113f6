// An HDF5 file that is being written, as far as snapshots need it: groups, attributes, arrays.
//
// HDF5's C interface tells errors by negative numbers and a stack of its own, which it prints. Here they
// become Errors that name the file and say what HDF5 says last, where it knows best.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace spam {

class Hdf5File {
 public:
  /// A new file, in the place of one that is there. Throws Error, as do all the others.
  explicit Hdf5File(std::string name);
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;
  ~Hdf5File();

  void make_group(const char* path);
  void write_attribute(const char* group, const char* name, const char* ascii);
  void write_attribute(const char* group, const char* name, const std::vector<std::int64_t>& values);

  /// Arrays of one dimension, or of rows of `width` values.
  void write(const char* path, const std::vector<double>& values, hsize_t width = 1);
  void write(const char* path, const std::vector<std::int64_t>& values);
  void write(const char* path, const std::vector<std::uint8_t>& values);

  /// The file is whole when this returns.
  void close();

 private:
  hid_t checked(hid_t result, const char* what) const;
  void write_array(const char* path, hid_t type, const void* values, std::initializer_list<hsize_t> shape);
  void put_attribute(const char* group, const char* name, hid_t type, hid_t space, const void* value);

  std::string name_;
  hid_t file_ = -1;
};

}  // namespace spam
