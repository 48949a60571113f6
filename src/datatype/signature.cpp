// How signatures are made and asked.
#include "datatype/signature.hpp"

#include "base/user_memory.hpp"

#include <algorithm>

namespace tasuki {

SignatureRef signature_basic(const BasicInfo& info) {
  auto made = std::make_shared<Signature>();
  made->basic = info.predefined;
  made->size = info.size;
  made->external_size = info.external_size;
  made->elements = 1;
  return made;
}

SignatureRef signature_repeat(Count count, const SignatureRef& child) {
  SignatureBuilder builder;
  builder.add(count, child);
  return builder.finish();
}

void SignatureBuilder::add(Count count, const SignatureRef& child) {
  if (count == 0 || child->elements == 0) return;
  if (child->parts.size() == 1) return add(count * child->parts[0].count, child->parts[0].child);
  if (!parts_.empty()) {
    Signature::Part& last = parts_.back();
    if (last.child == child || (child->basic != 0 && last.child->basic == child->basic)) {
      last.count += count;
      return;
    }
  }
  if (!failed_) failed_ = !try_append(&parts_, Signature::Part{count, child, 0, 0});
}

SignatureRef SignatureBuilder::finish() {
  if (failed_) return nullptr;
  if (parts_.size() == 1 && parts_[0].count == 1) return parts_[0].child;
  auto made = std::make_shared<Signature>();
  for (Signature::Part& part : parts_) {
    part.size_begin = made->size;
    part.elements_begin = made->elements;
    made->size += part.count * part.child->size;
    made->external_size += part.count * part.child->external_size;
    made->elements += part.count * part.child->elements;
  }
  made->parts = std::move(parts_);
  return made;
}

Count elements_in_bytes(const Signature& signature, Count bytes) {
  if (signature.size == 0) return bytes == 0 ? 0 : kUndefined;
  const Count whole = bytes / signature.size * signature.elements;
  const Count rest = bytes % signature.size;
  if (rest == 0) return whole;
  if (signature.basic != 0) return kUndefined;
  const auto after =
      std::upper_bound(signature.parts.begin(), signature.parts.end(), rest,
                       [](Count value, const Signature::Part& part) { return value < part.size_begin; });
  const Signature::Part& part = *(after - 1);
  const Count inside = elements_in_bytes(*part.child, rest - part.size_begin);
  return inside == kUndefined ? kUndefined : whole + part.elements_begin + inside;
}

Count bytes_of_elements(const Signature& signature, Count elements) {
  const Count whole = elements / signature.elements * signature.size;
  const Count rest = elements % signature.elements;
  if (rest == 0) return whole;
  const auto after =
      std::upper_bound(signature.parts.begin(), signature.parts.end(), rest,
                       [](Count value, const Signature::Part& part) { return value < part.elements_begin; });
  const Signature::Part& part = *(after - 1);
  return whole + part.size_begin + bytes_of_elements(*part.child, rest - part.elements_begin);
}

}  // namespace tasuki
