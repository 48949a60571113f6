// How ranks exchange their views: see view_table.hpp.
//
// One allgather of records of fixed size, in which a description of some levels has room; where some rank's
// has not, another one of as many words as the longest has. What the records say decides alike at all ranks.
#include "io/file/view_table.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "datatype/layout.hpp"
#include "datatype/wire_type.hpp"
#include "io/file/file.hpp"
#include "job/launcher.hpp"

namespace tasuki {
namespace {

using Words = std::vector<std::int64_t>;

constexpr std::size_t kShortWords = 46;                     // four levels
constexpr std::size_t kWordsMax = std::size_t{1} << 17;     // of one description: 1 MiB
constexpr std::size_t kAllWordsMax = std::size_t{1} << 21;  // of all of them: 16 MiB

/// What every rank says of its view.
struct Record {
  std::int64_t displacement = 0;
  std::int64_t words = 0;                      // of the description; 0: it is too long to be sent
  std::int64_t description[kShortWords] = {};  // if it has room
};

struct Less {
  bool operator()(std::span<const std::int64_t> left, std::span<const std::int64_t> right) const {
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end());
  }
};

/// The layouts and extents that were described, each once.
class Descriptions {
 public:
  /// A map of no layout for what describes nothing.
  FileMap map_of(Offset displacement, std::span<const std::int64_t> words) {
    auto known = types_.find(words);
    if (known == types_.end()) known = types_.emplace(words, decode_type(words.data(), words.size())).first;
    const Ref<Datatype>& type = known->second;
    return type ? FileMap(displacement, type->extent, type->layout) : FileMap();
  }

 private:
  std::map<std::span<const std::int64_t>, Ref<Datatype>, Less> types_;
};

/// What others say lay in shared memory: it must be possible.
void check(const Record& record, std::size_t words_max, Comm& comm, std::size_t rank) {
  if (record.displacement >= 0 && record.words >= 0 && record.words <= static_cast<std::int64_t>(words_max))
    return;
  comm.process.launcher.end_damaged(comm.endpoint(static_cast<int>(rank)), "the description of its view");
}

/// Gives the maps of all ranks' views; those whose description is too long have no layout.
Task exchange_views(Course& course, const View& view, Comm& comm, std::vector<FileMap>* maps) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::size_t words_max = std::min(kWordsMax, kAllWordsMax / ranks);
  Words own = encode_type(*view.filetype_in_file, words_max);
  Record mine{view.displacement, static_cast<std::int64_t>(own.size()), {}};
  if (own.size() <= kShortWords) std::copy(own.begin(), own.end(), mine.description);
  std::vector<Record> records(ranks);
  if (const Code code = co_await gather_bytes(course, comm, &mine, records.data(), sizeof mine))
    co_return code;

  std::size_t longest = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    check(records[rank], words_max, comm, rank);
    longest = std::max(longest, static_cast<std::size_t>(records[rank].words));
  }
  Words all;
  if (longest > kShortWords) {
    own.resize(longest);
    all.resize(longest * ranks);
    const auto bytes = static_cast<Count>(longest * sizeof(std::int64_t));
    if (const Code code = co_await gather_bytes(course, comm, own.data(), all.data(), bytes)) co_return code;
  }
  Descriptions descriptions;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const Record& record = records[rank];
    const std::int64_t* words = longest > kShortWords ? &all[rank * longest] : record.description;
    maps->push_back(
        descriptions.map_of(record.displacement, {words, static_cast<std::size_t>(record.words)}));
  }
  co_return kSuccess;
}

}  // namespace

const FileMap& map_of_view(File& file) {
  if (file.map == nullptr) {
    const Datatype& tile = *file.view.filetype_in_file;
    file.map = std::make_unique<const FileMap>(file.view.displacement, tile.extent, tile.layout);
  }
  return *file.map;
}

Task tell_views(Course& course, File& file, const ViewTable** table) {
  if (file.views == nullptr) {
    auto made = std::make_unique<ViewTable>();
    if (file.has_first_view || file.comm->size() == 1) {  // which all ranks know
      made->maps_ = {map_of_view(file)};
    } else if (const Code code = co_await exchange_views(course, file.view, *file.comm, &made->maps_)) {
      co_return code;
    }
    for (const FileMap& map : made->maps_) {
      if (map.layout() == nullptr) made->are_all_told_ = false;
      if (map.layout() == nullptr || map.run_bytes() != INT64_MAX) made->are_all_dense_ = false;
    }
    file.views = std::move(made);
  }
  *table = file.views.get();
  co_return kSuccess;
}

}  // namespace tasuki
