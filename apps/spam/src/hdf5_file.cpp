// HDF5's C interface, with its handles released and its errors told (hdf5_file.hpp).
#include "hdf5_file.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "error.hpp"

namespace spam {
namespace {

/// A handle of HDF5, and how it is given back.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { close_(id_); }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// HDF5's stack of errors goes from the call of ours to the place that knows: the last text is kept.
herr_t keep_text(unsigned, const H5E_error2_t* error, void* text) {
  if (error->desc && *error->desc) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

}  // namespace

Hdf5File::Hdf5File(std::string name) : name_(std::move(name)) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  file_ = checked(H5Fcreate(name_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "made");
}

Hdf5File::~Hdf5File() {
  if (file_ >= 0) H5Fclose(file_);
}

hid_t Hdf5File::checked(hid_t result, const char* what) const {
  if (result >= 0) return result;
  std::string text = "HDF5 does not say why";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_text, &text);
  throw Error(fmt::format("{}: cannot be {}: {}", name_, what, text));
}

void Hdf5File::make_group(const char* path) {
  const Handle group(checked(H5Gcreate2(file_, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "written"),
                     H5Gclose);
}

void Hdf5File::put_attribute(const char* group, const char* name, hid_t type, hid_t space,
                             const void* value) {
  const Handle attribute(
      checked(H5Acreate_by_name(file_, group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
              "written"),
      H5Aclose);
  checked(H5Awrite(attribute, type, value), "written");
}

void Hdf5File::write_attribute(const char* group, const char* name, const char* ascii) {
  const Handle type(checked(H5Tcopy(H5T_C_S1), "written"), H5Tclose);
  checked(H5Tset_size(type, std::strlen(ascii)), "written");
  checked(H5Tset_strpad(type, H5T_STR_NULLPAD), "written");
  const Handle space(checked(H5Screate(H5S_SCALAR), "written"), H5Sclose);
  put_attribute(group, name, type, space, ascii);
}

void Hdf5File::write_attribute(const char* group, const char* name, const std::vector<std::int64_t>& values) {
  const hsize_t count = values.size();
  const Handle space(checked(H5Screate_simple(1, &count, nullptr), "written"), H5Sclose);
  put_attribute(group, name, H5T_NATIVE_INT64, space, values.data());
}

void Hdf5File::write_array(const char* path, hid_t type, const void* values,
                           std::initializer_list<hsize_t> shape) {
  const Handle space(
      checked(H5Screate_simple(static_cast<int>(shape.size()), shape.begin(), nullptr), "written"), H5Sclose);
  const Handle how(checked(H5Pcreate(H5P_DATASET_CREATE), "written"), H5Pclose);
  checked(H5Pset_obj_track_times(how, false), "written");  // the same state makes the same bytes at any time
  const Handle array(checked(H5Dcreate2(file_, path, type, space, H5P_DEFAULT, how, H5P_DEFAULT), "written"),
                     H5Dclose);
  checked(H5Dwrite(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "written");
}

void Hdf5File::write(const char* path, const std::vector<double>& values, hsize_t width) {
  if (width == 1)
    write_array(path, H5T_NATIVE_DOUBLE, values.data(), {values.size()});
  else
    write_array(path, H5T_NATIVE_DOUBLE, values.data(), {values.size() / width, width});
}

void Hdf5File::write(const char* path, const std::vector<std::int64_t>& values) {
  write_array(path, H5T_NATIVE_INT64, values.data(), {values.size()});
}

void Hdf5File::write(const char* path, const std::vector<std::uint8_t>& values) {
  write_array(path, H5T_NATIVE_UINT8, values.data(), {values.size()});
}

void Hdf5File::close() {
  checked(H5Fclose(std::exchange(file_, -1)), "written");
}

}  // namespace spam
