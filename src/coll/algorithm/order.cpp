// Combining in the order of ranks: see coll/algorithm/order.hpp.
#include "coll/algorithm/order.hpp"

namespace tasuki {

Place Operands::expect(bool own_is_left, Count first, Count count) {
  const bool is_input = !(value_ == result_) && !(has_room_ && value_ == room_);
  first_ = first;
  count_ = count;
  // The result of a combination takes the right operand's place, which the input cannot be.
  own_is_left_ = data_.commutative ? is_input : own_is_left;
  const Place start = first_to_room_ ? room_ : result_;
  if (is_input && !own_is_left_) {
    schedule_.copy(at(value_), count, kReduced, at(start), count, kReduced);
    value_ = start;
  }
  if (is_input && own_is_left_) {
    other_ = start;
  } else if (value_ == result_) {
    if (!has_room_) make_room(first, count);
    other_ = room_;
  } else {
    other_ = result_;
  }
  return at(other_);
}

void Operands::combine() {
  if (own_is_left_) {
    schedule_.reduce(at(value_), at(other_), count_, kReduced);
    value_ = other_;
  } else {
    schedule_.reduce(at(other_), at(value_), count_, kReduced);
  }
}

void Operands::end(Count first, Count count) {
  if (value_ == result_) return;
  first_ = first;
  schedule_.copy(at(value_), count, kReduced, at(result_), count, kReduced);
}

}  // namespace tasuki
