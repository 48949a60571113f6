// Files, layouts and the calls that move data: see io_file.hpp.
#include "io_file.hpp"

#include <unistd.h>

#include <algorithm>

namespace mbl {
namespace {

constexpr std::int64_t kFileBytesAimed = 512 << 10;  // a file has so much, or one round
constexpr int kLapsMax = 64;

}  // namespace

// ------------------------------------------------------------------------------------------ errors, files

bool Failure::take(int code, const char* call) {
  if (code == MPI_SUCCESS) return true;
  if (!text_.empty()) return false;
  char words[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, words, &length);
  text_ = std::string(kUnsupported) + call + ": " + words;
  return false;
}

bool Failure::happened_anywhere(MPI_Comm comm) {
  int any = happened();
  require(MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, comm), "MPI_Allreduce");
  if (any != 0 && text_.empty()) text_ = std::string(kUnsupported) + "a call failed at another rank";
  return any != 0;
}

const char* name_of(Hints hints) {
  switch (hints) {
    case Hints::kNone:
      return "none";
    case Hints::kAggregate:
      return "aggregate";
    case Hints::kNoAggregate:
      return "no_aggregate";
  }
  return "";
}

namespace {

/// MPI's own hints, and ROMIO's. What a library does not know it ignores.
MPI_Info info_of(Hints hints) {
  if (hints == Hints::kNone) return MPI_INFO_NULL;
  const bool on = hints == Hints::kAggregate;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "collective_buffering", on ? "true" : "false");
  MPI_Info_set(info, "romio_cb_read", on ? "enable" : "disable");
  MPI_Info_set(info, "romio_cb_write", on ? "enable" : "disable");
  if (on) {
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_Info_set(info, "cb_buffer_size", "4194304");
  }
  return info;
}

}  // namespace

std::string new_path(const Setting& setting) {
  static int files = 0;
  int name[2] = {static_cast<int>(::getpid()), files++};
  require(MPI_Bcast(name, 2, MPI_INT, 0, setting.comm), "MPI_Bcast");
  return setting.folder + "/mbl-" + std::to_string(name[0]) + "-" + std::to_string(name[1]) + ".data";
}

File::File(const Setting& setting, Hints hints, Failure* failure) : path_(new_path(setting)) {
  MPI_Info info = info_of(hints);
  const int mode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
  if (!failure->take(MPI_File_open(setting.comm, path_.c_str(), mode, info, &file_), "MPI_File_open"))
    file_ = MPI_FILE_NULL;
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  if (failure->happened_anywhere(setting.comm)) return;
  if (!failure->take(MPI_File_open(MPI_COMM_SELF, path_.c_str(), MPI_MODE_RDWR, MPI_INFO_NULL, &plain_),
                     "MPI_File_open"))
    plain_ = MPI_FILE_NULL;
}

File::~File() {
  if (plain_ != MPI_FILE_NULL) MPI_File_close(&plain_);
  if (file_ != MPI_FILE_NULL) MPI_File_close(&file_);
}

// -------------------------------------------------------------------------------------------------- calls

std::string Way::name_of(bool writes) const {
  std::string text = name;
  if (!writes) text.replace(text.find("write"), 5, "read");
  return text;
}

const std::vector<Way>& ways() {
  static const std::vector<Way> all = {
      {"write", Position::kOwn, false, Completion::kBlocking},
      {"write_all", Position::kOwn, true, Completion::kBlocking},
      {"write_at", Position::kGiven, false, Completion::kBlocking},
      {"write_at_all", Position::kGiven, true, Completion::kBlocking},
      {"write_shared", Position::kShared, false, Completion::kBlocking},
      {"write_ordered", Position::kOrdered, true, Completion::kBlocking},
      {"iwrite", Position::kOwn, false, Completion::kNonblocking},
      {"iwrite_all", Position::kOwn, true, Completion::kNonblocking},
      {"iwrite_at", Position::kGiven, false, Completion::kNonblocking},
      {"iwrite_at_all", Position::kGiven, true, Completion::kNonblocking},
      {"iwrite_shared", Position::kShared, false, Completion::kNonblocking},
      {"write_all_begin", Position::kOwn, true, Completion::kSplit},
      {"write_at_all_begin", Position::kGiven, true, Completion::kSplit},
      {"write_ordered_begin", Position::kOrdered, true, Completion::kSplit},
  };
  return all;
}

const Way& way_named(const std::string& name) {
  return *std::find_if(ways().begin(), ways().end(), [&](const Way& way) { return name == way.name; });
}

namespace {

/// The functions of one direction; `Data` is const void* or void*.
template <class Data>
struct Functions {
  using Plain = int (*)(MPI_File, Data, int, MPI_Datatype, MPI_Status*);
  using At = int (*)(MPI_File, MPI_Offset, Data, int, MPI_Datatype, MPI_Status*);
  using Start = int (*)(MPI_File, Data, int, MPI_Datatype, MPI_Request*);
  using StartAt = int (*)(MPI_File, MPI_Offset, Data, int, MPI_Datatype, MPI_Request*);
  using Begin = int (*)(MPI_File, Data, int, MPI_Datatype);
  using BeginAt = int (*)(MPI_File, MPI_Offset, Data, int, MPI_Datatype);
  using End = int (*)(MPI_File, Data, MPI_Status*);

  Plain own, own_all, shared, ordered;
  At at, at_all;
  Start start, start_all, start_shared;
  StartAt start_at, start_at_all;
  Begin begin_all, begin_ordered;
  BeginAt begin_at_all;
  End end_all, end_ordered, end_at_all;
};

const Functions<void*> kReads = {MPI_File_read,
                                 MPI_File_read_all,
                                 MPI_File_read_shared,
                                 MPI_File_read_ordered,
                                 MPI_File_read_at,
                                 MPI_File_read_at_all,
                                 MPI_File_iread,
                                 MPI_File_iread_all,
                                 MPI_File_iread_shared,
                                 MPI_File_iread_at,
                                 MPI_File_iread_at_all,
                                 MPI_File_read_all_begin,
                                 MPI_File_read_ordered_begin,
                                 MPI_File_read_at_all_begin,
                                 MPI_File_read_all_end,
                                 MPI_File_read_ordered_end,
                                 MPI_File_read_at_all_end};

const Functions<const void*> kWrites = {MPI_File_write,
                                        MPI_File_write_all,
                                        MPI_File_write_shared,
                                        MPI_File_write_ordered,
                                        MPI_File_write_at,
                                        MPI_File_write_at_all,
                                        MPI_File_iwrite,
                                        MPI_File_iwrite_all,
                                        MPI_File_iwrite_shared,
                                        MPI_File_iwrite_at,
                                        MPI_File_iwrite_at_all,
                                        MPI_File_write_all_begin,
                                        MPI_File_write_ordered_begin,
                                        MPI_File_write_at_all_begin,
                                        MPI_File_write_all_end,
                                        MPI_File_write_ordered_end,
                                        MPI_File_write_at_all_end};

/// What is moved, whatever the call.
template <class Data>
struct Piece {
  MPI_File file;
  MPI_Offset offset;
  Data buffer;
  int count;
  MPI_Datatype type;
};

template <class Data>
int move_blocking(const Functions<Data>& call, const Way& way, const Piece<Data>& piece) {
  const auto& [file, offset, buffer, count, type] = piece;
  MPI_Status* const none = MPI_STATUS_IGNORE;
  switch (way.position) {
    case Position::kGiven:
      return (way.collective ? call.at_all : call.at)(file, offset, buffer, count, type, none);
    case Position::kShared:
      return call.shared(file, buffer, count, type, none);
    case Position::kOrdered:
      return call.ordered(file, buffer, count, type, none);
    case Position::kOwn:
      break;
  }
  return (way.collective ? call.own_all : call.own)(file, buffer, count, type, none);
}

template <class Data>
int start_by(const Functions<Data>& call, const Way& way, const Piece<Data>& piece, MPI_Request* request) {
  const auto& [file, offset, buffer, count, type] = piece;
  if (way.position == Position::kGiven)
    return (way.collective ? call.start_at_all : call.start_at)(file, offset, buffer, count, type, request);
  if (way.position == Position::kShared) return call.start_shared(file, buffer, count, type, request);
  return (way.collective ? call.start_all : call.start)(file, buffer, count, type, request);
}

template <class Data>
int move_nonblocking(const Functions<Data>& call, const Way& way, const Piece<Data>& piece) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = start_by(call, way, piece, &request);
  return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

template <class Data>
int move_split(const Functions<Data>& call, const Way& way, const Piece<Data>& piece) {
  const auto& [file, offset, buffer, count, type] = piece;
  int code = MPI_SUCCESS;
  auto end = call.end_all;
  if (way.position == Position::kGiven) {
    code = call.begin_at_all(file, offset, buffer, count, type);
    end = call.end_at_all;
  } else if (way.position == Position::kOrdered) {
    code = call.begin_ordered(file, buffer, count, type);
    end = call.end_ordered;
  } else {
    code = call.begin_all(file, buffer, count, type);
  }
  return code != MPI_SUCCESS ? code : end(file, buffer, MPI_STATUS_IGNORE);
}

template <class Data>
int move_by(const Functions<Data>& call, const Way& way, const Piece<Data>& piece) {
  if (way.completion == Completion::kNonblocking) return move_nonblocking(call, way, piece);
  if (way.completion == Completion::kSplit) return move_split(call, way, piece);
  return move_blocking(call, way, piece);
}

}  // namespace

int move_data(MPI_File file, const Way& way, bool writes, MPI_Offset offset, void* buffer, int count,
              MPI_Datatype type) {
  if (writes) return move_by<const void*>(kWrites, way, {file, offset, buffer, count, type});
  return move_by<void*>(kReads, way, {file, offset, buffer, count, type});
}

int start_data(MPI_File file, const Way& way, bool writes, MPI_Offset offset, void* buffer, int count,
               MPI_Datatype type, MPI_Request* request) {
  if (writes) return start_by<const void*>(kWrites, way, {file, offset, buffer, count, type}, request);
  return start_by<void*>(kReads, way, {file, offset, buffer, count, type}, request);
}

// ------------------------------------------------------------------------------------------------- layout

Layout::Layout(const Setting& setting, const Shape& shape, bool shared_pointer)
    : bytes_(setting.bytes),
      rank_(setting.rank),
      size_(setting.size),
      shape_(shape),
      shared_pointer_(shared_pointer) {
  if (shape_.region == 0) shape_.region = bytes_;
  shape_.region = std::min(shape_.region, bytes_);
  regions_ = bytes_ / shape_.region;
  const std::int64_t round_bytes = (shape_.file_regions ? regions_ * stride() : bytes_) * size_;
  laps_ = static_cast<int>(std::clamp<std::int64_t>(kFileBytesAimed / round_bytes, 1, kLapsMax));
  const int regions = static_cast<int>(regions_), region = static_cast<int>(shape_.region);
  if (shape_.memory_regions) {
    MPI_Type_create_hvector(regions, region, static_cast<MPI_Aint>(stride()), MPI_BYTE, &memory_type_);
    MPI_Type_commit(&memory_type_);
  }
  if (shape_.file_regions) {
    MPI_Datatype gaps = MPI_DATATYPE_NULL;
    const auto turn = static_cast<MPI_Aint>(stride() * size_);
    MPI_Type_create_hvector(regions, region, turn, MPI_BYTE, &gaps);
    MPI_Type_create_resized(gaps, 0, regions * turn, &file_type_);
    MPI_Type_commit(&file_type_);
    MPI_Type_free(&gaps);
  }
}

Layout::~Layout() {
  if (memory_type_ != MPI_BYTE) MPI_Type_free(&memory_type_);
  if (file_type_ != MPI_BYTE) MPI_Type_free(&file_type_);
}

std::int64_t Layout::file_bytes() const {
  return laps_ * size_ * (shape_.file_regions ? regions_ * stride() : bytes_);
}

std::int64_t Layout::memory_bytes() const {
  return shape_.memory_regions ? regions_ * stride() : bytes_;
}

std::int64_t Layout::file_position(std::int64_t lap, std::int64_t index) const {
  if (shape_.file_regions) {
    const std::int64_t turn = lap * regions_ + index / shape_.region;
    return (turn * size_ + rank_) * stride() + index % shape_.region;
  }
  return (shared_pointer_ ? lap * size_ + rank_ : rank_ * laps_ + lap) * bytes_ + index;
}

std::int64_t Layout::memory_position(std::int64_t index) const {
  if (!shape_.memory_regions) return index;
  return index / shape_.region * stride() + index % shape_.region;
}

std::int64_t Layout::lap_at(std::int64_t position) const {
  if (shape_.file_regions)
    return position % stride() < shape_.region ? position / stride() / size_ / regions_ : -1;
  return shared_pointer_ ? position / bytes_ / size_ : position / bytes_ % laps_;
}

void Layout::set_view(MPI_File file, Failure* failure) {
  std::int64_t begin = 0;
  if (!shared_pointer_) begin = shape_.file_regions ? rank_ * stride() : rank_ * laps_ * bytes_;
  failure->take(
      MPI_File_set_view(file, static_cast<MPI_Offset>(begin), MPI_BYTE, file_type_, "native", MPI_INFO_NULL),
      "MPI_File_set_view");
}

}  // namespace mbl
