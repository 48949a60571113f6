// Datatype: the end of its life.
#include "datatype/datatype.hpp"

namespace tasuki {

Datatype::~Datatype() {
  for (Datatype* type : types) release(type);
}

}  // namespace tasuki
