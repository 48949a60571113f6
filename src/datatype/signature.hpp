// Signature: which basic types one element consists of, in type-map order, without places (MPI 5.1). It
// answers MPI_Get_elements and drives external32.
//
// Like a layout it is a tree as small as the type's description. Invariants: either `basic` names a
// predefined type that is not a pair, and there are no parts; or the parts follow each other, each `count` >
// 0 copies of a signature with elements > 0. An empty signature has neither.
//
// Immutable once made; any thread may read it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/types.hpp"
#include "datatype/predefined.hpp"

namespace tasuki {

struct Signature;
using SignatureRef = std::shared_ptr<const Signature>;

struct Signature {
  struct Part {
    Count count;
    SignatureRef child;
    Count size_begin;      // bytes before it
    Count elements_begin;  // basic elements before it
  };

  std::uint16_t basic = 0;
  Count size = 0;           // bytes in the native packed form
  Count external_size = 0;  // bytes in external32
  Count elements = 0;       // basic elements
  std::vector<Part> parts;
};

SignatureRef signature_basic(const BasicInfo& info);
SignatureRef signature_repeat(Count count, const SignatureRef& child);

/// finish() gives null where there is no memory for so many parts.
class SignatureBuilder {
 public:
  void add(Count count, const SignatureRef& child);
  SignatureRef finish();

 private:
  std::vector<Signature::Part> parts_;
  bool failed_ = false;
};

/// How many basic elements the first `bytes` of endless copies of `signature` hold, or kUndefined when the
/// last one would be cut.
Count elements_in_bytes(const Signature& signature, Count bytes);

/// The bytes that the first `elements` basic elements of endless copies take. REQUIRES: signature.elements >
/// 0, and that the result fits (see api::status_set_elements).
Count bytes_of_elements(const Signature& signature, Count elements);

/// Calls visit(const BasicInfo&, Count n) for each sequence of n equal basic elements, in order, of `count`
/// copies.
template <class Visit>
void visit_basics(const Signature& signature, Count count, Visit& visit) {
  if (signature.basic != 0) return visit(*basic_info(signature.basic), count);
  if (signature.parts.size() == 1) {
    const Signature::Part& only = signature.parts[0];
    return visit_basics(*only.child, count * only.count, visit);
  }
  for (Count i = 0; i < count; ++i) {
    for (const Signature::Part& part : signature.parts) visit_basics(*part.child, part.count, visit);
  }
}

}  // namespace tasuki
