// Datatype: a type map (MPI 5.1), how it was made, and a compact description from which bytes are moved.
//
// The packed form of `count` elements is the concatenation of their basic elements in type-map order.
// Transfers cut it anywhere, so packing works on a byte range of it, through a cursor that remembers where it
// was.
//
// Datatypes are immutable once made, but for name, attributes and the committed flag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "object/attribute.hpp"
#include "object/object.hpp"

namespace tasuki {

enum class Combiner : int {
  kNamed = 101,
  kDup,
  kContiguous,
  kVector,
  kHvector,
  kIndexed,
  kHindexed,
  kIndexedBlock,
  kHindexedBlock,
  kStruct,
  kSubarray,
  kDarray,
  kF90Real,
  kF90Complex,
  kF90Integer,
  kResized,
  kValueIndex,
};

struct Layout;  // datatype/layout.hpp: the flattened description

struct Datatype : Object {
  Datatype() : Object(Kind::kDatatype) {}
  ~Datatype() override;

  Count size = 0;         // bytes of data in one element
  Count lb = 0;           // bytes; MPI 5.1.6
  Count extent = 0;       // bytes
  Count true_lb = 0;      // bytes
  Count true_extent = 0;  // bytes
  Count alignment = 1;    // bytes, of the strictest basic element
  bool committed = false;
  bool contiguous = false;  // `count` elements are one dense run of bytes that starts at the buffer (lb == 0)
  std::shared_ptr<const Layout> layout;

  // How it was made (MPI 5.1.13).
  Combiner combiner = Combiner::kNamed;
  bool wide = false;            // made by a large-count form (with counts that need 64 bits or a `_c` call)
  std::vector<Count> integers;  // MPI_Type_get_contents' integers, or the `_c` form's counts merged in order
  std::vector<Aint> addresses;
  std::vector<Count> large_counts;
  std::vector<Datatype*> types;  // retained

  std::string name;
  Attributes attributes;
};

/// Walks through the packed form of `count` elements. Cheap to make; holds no reference.
class PackCursor {
 public:
  PackCursor(const Datatype& datatype, Count count);

  Count total_bytes() const;        // of the whole packed form
  Count position() const;           // bytes done
  void seek(Count position_bytes);  // REQUIRES: 0 <= position_bytes <= total_bytes()

  /// Moves up to `bytes_max` bytes from the user's buffer to `out`, advances, returns how many.
  std::size_t pack(const void* buffer, void* out, std::size_t bytes_max);
  /// Moves up to `bytes_max` bytes from `in` to the user's buffer, advances, returns how many.
  std::size_t unpack(void* buffer, const void* in, std::size_t bytes_max);

 private:
  template <class Move>
  std::size_t walk(std::size_t bytes_max, Move&& move);

  const Datatype* datatype_;
  Count count_;
  Count position_ = 0;
  // The place in the layout that position_ stands for; the datatype's owner may change these.
  Count element_ = 0;
  std::size_t segment_ = 0;
  Count offset_ = 0;
};

/// Copies `count` elements of `from_type` at `from` to `to` as `to_count` of `to_type`; as many bytes as both
/// hold. The fast way for contiguous and for equal types.
void copy_typed(const void* from, Count from_count, const Datatype& from_type, void* to, Count to_count,
                const Datatype& to_type);

}  // namespace tasuki
