// An HDF5 file that is made in memory, as far as snapshots need it: groups, attributes, arrays.
//
// In memory, because HDF5 1.10 does not survive a disk that is full: after a file that it could not close it
// crashes at the end of the program. So writing is left to text_file.hpp.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace spam {

class Hdf5Image {
 public:
  /// An empty file. Throws Error if memory lacks, as do all the others.
  Hdf5Image();
  Hdf5Image(const Hdf5Image&) = delete;
  Hdf5Image& operator=(const Hdf5Image&) = delete;
  ~Hdf5Image();

  void make_group(const char* path);
  void write_attribute(const char* group, const char* name, const char* ascii);
  void write_attribute(const char* group, const char* name, const std::vector<std::int64_t>& values);

  /// Arrays of one dimension, or of rows of `width` values.
  void write(const char* path, const std::vector<double>& values, hsize_t width = 1);
  void write(const char* path, const std::vector<std::int64_t>& values);
  void write(const char* path, const std::vector<std::uint8_t>& values);

  /// The bytes of the whole file.
  std::string bytes() const;

 private:
  void write_array(const char* path, hid_t type, const void* values, std::initializer_list<hsize_t> shape);
  void put_attribute(const char* group, const char* name, hid_t type, hid_t space, const void* value);

  hid_t file_ = -1;
};

}  // namespace spam
