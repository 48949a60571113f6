// HDF5's C interface, with its handles given back and its errors told (hdf5_image.hpp).
#include "hdf5_image.hpp"

#include <cstring>

#include "error.hpp"

namespace spam {
namespace {

constexpr std::size_t kIncrementBytes = std::size_t{1} << 20;  // by which the memory grows

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

std::string last_error() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_text, &text);
  return text;
}

/// HDF5 tells errors by negative numbers; nothing but memory can lack.
template <class Result>
Result checked(Result result) {
  if (result < 0) throw Error("no snapshot can be made: HDF5 says: " + last_error());
  return result;
}

}  // namespace

Hdf5Image::Hdf5Image() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // it would print what is thrown here
  const Handle how(checked(H5Pcreate(H5P_FILE_ACCESS)), H5Pclose);
  checked(H5Pset_fapl_core(how, kIncrementBytes, false));
  file_ = checked(H5Fcreate("snapshot in memory", H5F_ACC_TRUNC, H5P_DEFAULT, how));
}

Hdf5Image::~Hdf5Image() {
  H5Fclose(file_);
}

void Hdf5Image::make_group(const char* path) {
  const Handle group(checked(H5Gcreate2(file_, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)), H5Gclose);
}

void Hdf5Image::put_attribute(const char* group, const char* name, hid_t type, hid_t space,
                              const void* value) {
  const Handle attribute(
      checked(H5Acreate_by_name(file_, group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)),
      H5Aclose);
  checked(H5Awrite(attribute, type, value));
}

void Hdf5Image::write_attribute(const char* group, const char* name, const char* ascii) {
  const Handle type(checked(H5Tcopy(H5T_C_S1)), H5Tclose);
  checked(H5Tset_size(type, std::strlen(ascii)));
  checked(H5Tset_strpad(type, H5T_STR_NULLPAD));
  const Handle space(checked(H5Screate(H5S_SCALAR)), H5Sclose);
  put_attribute(group, name, type, space, ascii);
}

void Hdf5Image::write_attribute(const char* group, const char* name,
                                const std::vector<std::int64_t>& values) {
  const hsize_t count = values.size();
  const Handle space(checked(H5Screate_simple(1, &count, nullptr)), H5Sclose);
  put_attribute(group, name, H5T_NATIVE_INT64, space, values.data());
}

void Hdf5Image::write_array(const char* path, hid_t type, const void* values,
                            std::initializer_list<hsize_t> shape) {
  const Handle space(checked(H5Screate_simple(static_cast<int>(shape.size()), shape.begin(), nullptr)),
                     H5Sclose);
  const Handle how(checked(H5Pcreate(H5P_DATASET_CREATE)), H5Pclose);
  checked(H5Pset_obj_track_times(how, false));  // the same state makes the same bytes at any time
  const Handle array(checked(H5Dcreate2(file_, path, type, space, H5P_DEFAULT, how, H5P_DEFAULT)), H5Dclose);
  checked(H5Dwrite(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
}

void Hdf5Image::write(const char* path, const std::vector<double>& values, hsize_t width) {
  if (width == 1)
    write_array(path, H5T_NATIVE_DOUBLE, values.data(), {values.size()});
  else
    write_array(path, H5T_NATIVE_DOUBLE, values.data(), {values.size() / width, width});
}

void Hdf5Image::write(const char* path, const std::vector<std::int64_t>& values) {
  write_array(path, H5T_NATIVE_INT64, values.data(), {values.size()});
}

void Hdf5Image::write(const char* path, const std::vector<std::uint8_t>& values) {
  write_array(path, H5T_NATIVE_UINT8, values.data(), {values.size()});
}

std::string Hdf5Image::bytes() const {
  checked(H5Fflush(file_, H5F_SCOPE_GLOBAL));
  const ssize_t length = checked(H5Fget_file_image(file_, nullptr, 0));
  std::string image(static_cast<std::size_t>(length), '\0');
  checked(H5Fget_file_image(file_, image.data(), image.size()));
  return image;
}

}  // namespace spam
