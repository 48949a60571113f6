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

/// Orders and distributions of array types (MPI 5.1.3, 5.1.4) and type classes (MPI 19.1.9).
enum ArrayOrder : int { kOrderC = 12, kOrderFortran = 15 };
enum ArrayDistribution : int {
  kDistributeNone = 16,
  kDistributeBlock = 17,
  kDistributeCyclic = 18,
  // MPI_DISTRIBUTE_DFLT_DARG: unlike the ABIs' values (19 is one), never a block size.
  kDistributeDefaultArg = -0x7fffffff - 1,
};
enum TypeClass : int { kTypeclassInteger = 192, kTypeclassReal = 193, kTypeclassComplex = 194 };

struct Layout;     // datatype/layout.hpp: where the bytes are
struct Signature;  // datatype/signature.hpp: which basic types they are

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
  bool bounds_marked = false;  // lb and extent were set by a constructor (MPI 5.1.7), not by the type map
  std::shared_ptr<const Layout> layout;
  std::shared_ptr<const Signature> signature;

  // How it was made (MPI 5.1.13): what MPI_Type_get_contents gives.
  Combiner combiner = Combiner::kNamed;
  bool wide = false;  // made by a large-count (`_c`) form: has large_counts
  std::vector<int> integers;
  std::vector<Aint> addresses;
  std::vector<Count> large_counts;
  std::vector<Datatype*> types;  // retained

  std::string name;
  Attributes attributes;
};

/// A new object that is equal to `datatype` but for name, attributes and origin.
Datatype* clone(const Datatype& datatype);
/// Gives `to` the origin of `from`. False, when there is no memory for its lists: `to` has none then.
bool copy_origin(const Datatype& from, Datatype* to);
/// One that is equal in its origin, too, or null when there is no memory for it.
Datatype* clone_with_origin(const Datatype& datatype);

/// Walks through the packed form of `count` elements. Cheap to make; holds no reference.
class PackCursor {
 public:
  PackCursor(const Datatype& datatype, Count count)
      : datatype_(&datatype), count_(count), total_bytes_(datatype.size * count) {}

  Count count() const { return count_; }                           // elements
  Count total_bytes() const { return total_bytes_; }               // of the whole packed form
  Count position() const { return position_; }                     // bytes done
  void seek(Count position_bytes) { position_ = position_bytes; }  // REQUIRES: in 0..total_bytes()

  /// Moves up to `bytes_max` bytes from the user's buffer to `out`, advances, returns how many.
  std::size_t pack(const void* buffer, void* out, std::size_t bytes_max);
  /// Moves up to `bytes_max` bytes from `in` to the user's buffer, advances, returns how many.
  std::size_t unpack(void* buffer, const void* in, std::size_t bytes_max);

 private:
  const Datatype* datatype_;
  Count count_;
  Count total_bytes_;
  Count position_ = 0;
};

/// Packs `count` elements for the call that runs; where they are large, without the process lock.
void pack_all(Process& process, const void* buffer, Count count, const Datatype& datatype, void* to);

/// Copies `count` elements of `from_type` at `from` to `to` as `to_count` of `to_type`; as many bytes as both
/// hold. The fast way for contiguous and for equal types.
void copy_typed(const void* from, Count from_count, const Datatype& from_type, void* to, Count to_count,
                const Datatype& to_type);

}  // namespace tasuki
