// Combination: which one a type and an operation make.
#include "rma/combination.hpp"

#include "datatype/signature.hpp"

namespace tasuki::rma {
namespace {

/// The predefined types at the leaves of how a type was made: the same everywhere, else null. Pairs are
/// leaves: a signature would tell only their members.
const BasicInfo* leaf_of(const Datatype& datatype) {
  if (const BasicInfo* info = basic_info(datatype)) return info;
  const BasicInfo* found = nullptr;
  for (const Datatype* part : datatype.types) {
    if (part->size == 0) continue;
    const BasicInfo* leaf = leaf_of(*part);
    if (leaf == nullptr || (found != nullptr && found != leaf)) return nullptr;
    found = leaf;
  }
  return found;
}

const BasicInfo* basic_of(const Signature& signature) {
  if (signature.basic != 0) return basic_info(signature.basic);
  const BasicInfo* found = nullptr;
  for (const Signature::Part& part : signature.parts) {
    const BasicInfo* basic = basic_of(*part.child);
    if (basic == nullptr || (found != nullptr && found != basic)) return nullptr;
    found = basic;
  }
  return found;
}

bool is_fetch(const BasicInfo& type, std::uint16_t op) {
  const bool is_integer =
      type.representation == Representation::kSigned || type.representation == Representation::kUnsigned;
  return is_integer && type.group != ReductionGroup::kNone && (type.size == 4 || type.size == 8) &&
         (op == kMpiSum || op == kMpiReplace || op == kMpiNoOp);
}

}  // namespace

const BasicInfo* basic_type_of(const Datatype& datatype) {
  if (const BasicInfo* info = basic_info(datatype)) return info;
  const BasicInfo* basic = basic_of(*datatype.signature);
  return basic != nullptr ? basic : leaf_of(datatype);
}

bool make_combination(std::uint16_t op, std::uint16_t basic, Combination* combination) {
  const BasicInfo* type = basic_info(basic);
  if (type == nullptr || type->size == 0 || type->size > kElementBytesMax) return false;
  *combination = {type, op, nullptr, is_fetch(*type, op)};
  if (op == kMpiReplace || op == kMpiNoOp) return true;
  combination->kernel = find_reduction_kernel(op, *type);
  return combination->kernel != nullptr;
}

Code make_combination(Process& process, const Op& op, const Datatype& datatype, bool fetches,
                      Combination* combination) {
  if (op.predefined == 0)
    return process.fail(kErrOp, "op is a user's operation, expected a predefined one or MPI_REPLACE");
  if (op.predefined == kMpiNoOp && !fetches)
    return process.fail(kErrOp, "op = MPI_NO_OP, expected an operation that changes the target");
  const BasicInfo* type = basic_type_of(datatype);
  if (type == nullptr)
    return process.fail(kErrType,
                        "target_datatype is made of different basic types, expected one predefined type "
                        "throughout");
  if (make_combination(op.predefined, type->predefined, combination)) return kSuccess;
  return process.fail(kErrOp, "op = %s is not defined for target_datatype = %s", op_name(op), type->name);
}

bool can_compare_and_swap(const BasicInfo& type) {
  switch (type.group) {
    case ReductionGroup::kCInteger:
    case ReductionGroup::kFortranInteger:
    case ReductionGroup::kLogical:
    case ReductionGroup::kMultiLanguage:
    case ReductionGroup::kByte:
      return true;
    default:
      return false;
  }
}

}  // namespace tasuki::rma
