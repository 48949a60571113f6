// Writing over holes: see read_modify_write.hpp.
#include "io/access/read_modify_write.hpp"

#include <cstring>

namespace tasuki {

bool can_fill_holes(const File& file) {
  return file.can_read() && file.locks != nullptr && file.locks->are_shared_by_all();
}

TransferResult read_with_zeros(FileDriver& driver, const FilePiece& piece) {
  const TransferResult done = driver.read_at({&piece, 1});
  if (done.error == 0)
    std::memset(piece.memory + done.bytes, 0, static_cast<std::size_t>(piece.bytes - done.bytes));
  return done;
}

}  // namespace tasuki
