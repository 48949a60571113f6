// ViewTable: what every rank of a file knows of all ranks' views. Collective access rests on it: which rank
// holds which bytes of the file is looked up, and never sent, call by call.
//
// Ranks describe their views to each other once after the views were set, at the first call that wants to
// know. A description is as large as the filetype's layout (datatype/layout.hpp): a few words where it is
// regular, two for each block where it is not. What is larger than a bound is not sent, so that the memory
// for it is bounded whatever the views; all ranks know alike whose is not.
//
// Immutable once made. Thread safety: the process lock.
#pragma once

#include <cstddef>
#include <vector>

#include "base/types.hpp"
#include "io/course/course.hpp"
#include "io/course/task.hpp"
#include "io/view/file_map.hpp"
#include "object/comm.hpp"

namespace tasuki {

struct File;

class ViewTable {
 public:
  /// Where `rank` has its data; null: not known.
  const FileMap* map_of(int rank) const {
    const FileMap& map = maps_[maps_.size() > 1 ? static_cast<std::size_t>(rank) : 0];
    return map.layout() != nullptr ? &map : nullptr;
  }
  bool are_all_told() const { return are_all_told_; }
  /// Whether what a rank accesses is one run of bytes in the file, whichever rank and access.
  bool are_all_dense() const { return are_all_dense_; }

 private:
  friend Task tell_views(Course& course, File& file, const ViewTable** table);

  std::vector<FileMap> maps_;  // by rank, or one for all of them; equal layouts are one
  bool are_all_told_ = true;
  bool are_all_dense_ = true;
};

/// Where the file's own view has its data; stays until another view is set.
const FileMap& map_of_view(File& file);

/// Collective on the file: gives what all ranks know of the views that are set, and tells each other first
/// where that was not done since. `*table` stays until the next view is set.
Task tell_views(Course& course, File& file, const ViewTable** table);

}  // namespace tasuki
