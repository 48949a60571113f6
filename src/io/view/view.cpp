// Views: their making, and where their data lies.
#include "io/view/view.hpp"

#include <algorithm>

#include "datatype/layout.hpp"

namespace tasuki {
namespace {

__extension__ typedef __int128 Wide;

PlacedElements tiles_of(const View& view) {
  const Datatype& tile = *view.filetype_in_file;
  return {static_cast<std::uintptr_t>(view.displacement), INT64_MAX / std::max<Count>(tile.size, 1),
          tile.extent, *tile.layout};
}

Code check_order(Process& process, const char* argument, const Datatype& type, bool writable) {
  if (type.size == 0) return kSuccess;
  const RunOrder order = run_order(*type.layout);
  if (order.first < 0 || type.true_lb < 0)
    return process.fail(kErrType, "%s has data at displacement %lld, expected nonnegative ones", argument,
                        static_cast<long long>(std::min(order.first, type.true_lb)));
  if (!order.ascending)
    return process.fail(kErrType, "%s has displacements that descend, expected nondecreasing ones", argument);
  if (writable && !order.disjoint)
    return process.fail(kErrType, "%s has parts that overlap, which a file that can be written may not have",
                        argument);
  if (type.extent < 0)
    return process.fail(kErrType, "%s has extent %lld, expected a nonnegative one", argument,
                        static_cast<long long>(type.extent));
  return kSuccess;
}

Code check_type(Process& process, const char* argument, const Datatype& type) {
  if (type.committed) return kSuccess;
  return process.fail(kErrType,
                      "%s = %s, which is not committed, expected one that MPI_Type_commit was called for",
                      argument, type.name.empty() ? "a derived datatype" : type.name.c_str());
}

}  // namespace

FileRun View::run_at(Count position) const {
  const Run run = tasuki::run_at(tiles_of(*this), position);
  return {static_cast<Offset>(run.place), run.bytes};
}

bool View::reaches(Count position) const {
  const Datatype& tile = *filetype_in_file;
  if (position == 0) return true;
  if (position < 0 || tile.size == 0) return false;
  const Wide last_tile = (position - 1) / tile.size;
  return last_tile * tile.extent + tile.true_lb + tile.true_extent + displacement <= INT64_MAX;
}

Offset View::byte_offset(Offset etypes) const {
  if (filetype_in_file->size == 0) return displacement;
  return run_at(etypes * etype_in_file->size).offset;
}

Offset View::end_in_etypes(Offset file_bytes) const {
  const Datatype& tile = *filetype_in_file;
  const Offset seen = file_bytes - displacement;
  if (tile.size == 0 || tile.extent == 0 || seen <= 0) return 0;
  // Places ascend: the first etype at or behind the end is found by halving.
  const Count per_tile = tile.size / etype_in_file->size;
  Offset low = seen / tile.extent * per_tile;
  Offset high = low + per_tile;  // begins behind a whole tile more
  if (low > 0) low -= per_tile;  // the first data of a tile may lie beyond its extent
  while (low < high) {
    const Offset middle = low + (high - low) / 2;
    if (byte_offset(middle) >= file_bytes) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

Code make_view(Process& process, Offset displacement, Datatype* etype, Datatype* filetype,
               std::shared_ptr<DataRepresentation> representation, bool writable, View* view) {
  if (displacement < 0)
    return process.fail(kErrArg, "disp = %lld, expected 0 or more", static_cast<long long>(displacement));
  if (const Code code = check_type(process, "etype", *etype)) return code;
  if (const Code code = check_type(process, "filetype", *filetype)) return code;
  View made;
  made.displacement = displacement;
  made.etype = Ref<Datatype>::share(etype);
  made.filetype = Ref<Datatype>::share(filetype);
  if (const Code code = type_in_file(process, *representation, etype, &made.etype_in_file)) return code;
  if (const Code code = type_in_file(process, *representation, filetype, &made.filetype_in_file)) return code;
  made.representation = std::move(representation);
  const Datatype& unit = *made.etype_in_file;
  const Datatype& tile = *made.filetype_in_file;
  if (unit.size == 0) return process.fail(kErrType, "etype has no data, expected a datatype of some bytes");
  if (tile.size % unit.size != 0)
    return process.fail(kErrType, "filetype has %lld bytes of data, expected a multiple of etype's %lld",
                        static_cast<long long>(tile.size), static_cast<long long>(unit.size));
  if (const Code code = check_order(process, "etype", unit, writable)) return code;
  if (const Code code = check_order(process, "filetype", tile, writable)) return code;
  *view = std::move(made);
  return kSuccess;
}

}  // namespace tasuki
