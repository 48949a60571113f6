// The predefined objects of a rank, by their numbers (base/predefined.hpp).
#pragma once

#include "base/process.hpp"
#include "object/objects.hpp"

namespace tasuki::test {

inline Datatype* type(Process& process, int number) {
  return static_cast<Datatype*>(process.objects->predefined[static_cast<std::size_t>(number)]);
}
inline Op* op(Process& process, int number) {
  return static_cast<Op*>(process.objects->predefined[static_cast<std::size_t>(number)]);
}

}  // namespace tasuki::test
