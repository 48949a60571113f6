// Files that cases are measured on, where in them which rank's data lie, and the calls that move data: what
// the patterns of io.cpp are put together from. One thread.
#pragma once

#include "suite.hpp"

namespace mbl {

/// The first error that calls of MPI-IO returned at this rank: they are told, and do not end the program.
class Failure {
 public:
  /// Keeps what is wrong, if it is the first. Returns whether the call went well.
  bool take(int code, const char* call);
  bool happened() const { return !text_.empty(); }
  /// As Pattern::check() says it: kUnsupported, the call and MPI's own words; or nothing.
  const std::string& text() const { return text_; }
  /// Whether there is one at some rank; this rank then has a text. Collective over `comm`.
  bool happened_anywhere(MPI_Comm comm);

 private:
  std::string text_;
};

/// Hints for collective access: none, two phases with one aggregator, or two phases switched off.
enum class Hints { kNone, kAggregate, kNoAggregate };
const char* name_of(Hints hints);

/// A file of a case, open at all ranks of the setting and deleted when it is closed. Making one and
/// destroying it is collective. Every call can fail, and then `failure` has it.
class File {
 public:
  File(const Setting& setting, Hints hints, Failure* failure);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  MPI_File handle() const { return file_; }
  MPI_File* address() { return &file_; }
  /// The same file, opened by this rank alone and without a view: to fill it, and to look what is in it.
  MPI_File plain() const { return plain_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
  MPI_File plain_ = MPI_FILE_NULL;
};

/// A name for a new file in the setting's folder, the same at all ranks. Collective.
std::string new_path(const Setting& setting);

/// Whose file pointer says where: the rank's own, none (offsets are given), or the one that all share, in the
/// order of arrival or in that of the ranks.
enum class Position { kOwn, kGiven, kShared, kOrdered };
enum class Completion { kBlocking, kNonblocking, kSplit };

/// A function of data access; MPI_File_read and MPI_File_write and so on are one.
struct Way {
  const char* name;  // of the writing one, without MPI_File_: "iwrite_at_all", "write_ordered_begin"
  Position position;
  bool collective;
  Completion completion;

  bool is_shared() const { return position == Position::kShared || position == Position::kOrdered; }
  std::string name_of(bool writes) const;
};

/// All of them.
const std::vector<Way>& ways();
const Way& way_named(const std::string& name);

/// Moves `count` of `type` from or to `buffer`, and returns when that is done. `offset` counts for
/// Position::kGiven. Returns MPI's code.
int move_data(MPI_File file, const Way& way, bool writes, MPI_Offset offset, void* buffer, int count,
              MPI_Datatype type);

/// Starts to, by a nonblocking way.
int start_data(MPI_File file, const Way& way, bool writes, MPI_Offset offset, void* buffer, int count,
               MPI_Datatype type, MPI_Request* request);

/// Where the data of ranks are, in memory and file. In a round every rank moves `bytes`; the file has room
/// for `laps` rounds, then the next begins at its begin again. The data are regions of `region` bytes with
/// `space` unused bytes behind each, where memory or file are in regions; in the file regions of all ranks
/// take turns.
class Layout {
 public:
  struct Shape {
    std::int64_t region = 0;  // 0: all in one piece, in memory and file
    std::int64_t space = 0;
    bool memory_regions = false;
    bool file_regions = false;
  };

  Layout(const Setting& setting, const Shape& shape, bool shared_pointer);
  ~Layout();
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;

  int laps() const { return laps_; }
  std::int64_t file_bytes() const;
  std::int64_t memory_bytes() const;
  /// Of this rank's data byte `index` in `lap`.
  std::int64_t file_position(std::int64_t lap, std::int64_t index) const;
  std::int64_t memory_position(std::int64_t index) const;
  /// The lap to which the byte at this place of the file belongs; -1: to none.
  std::int64_t lap_at(std::int64_t position) const;

  /// Sets the view with which the ranks' data come one after another.
  void set_view(MPI_File file, Failure* failure);
  int memory_count() const { return memory_type_ == MPI_BYTE ? static_cast<int>(bytes_) : 1; }
  MPI_Datatype memory_type() const { return memory_type_; }

 private:
  std::int64_t stride() const { return shape_.region + shape_.space; }

  std::int64_t bytes_, rank_, size_;
  Shape shape_;
  bool shared_pointer_;
  std::int64_t regions_ = 1;
  int laps_ = 1;
  MPI_Datatype memory_type_ = MPI_BYTE;
  MPI_Datatype file_type_ = MPI_BYTE;
};

}  // namespace mbl
