// The checks of a collective's arguments that the binding cannot make, because they need several arguments
// or the communicator. Each returns 0 or the code of an error with its text.
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "coll/schedule/data.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "reduction/op.hpp"

namespace tasuki {

/// MPI_Scan and MPI_Exscan have no meaning on an intercommunicator (MPI 6.2.2).
Code check_intracommunicator(Comm& comm);

/// `buffer`, the argument `name`, must not be MPI_IN_PLACE; `where_legal` says where it may be.
Code check_not_in_place(Process& process, const char* name, const void* buffer, const char* where_legal);

/// A count, the argument `name`, must be of elements whose bytes can be counted.
Code check_count(Process& process, const char* name, Count count, const TypeShape& type);

/// The same for the `size` blocks of a buffer; those of an array must not be negative, and the blocks
/// together, and each displacement, must be of bytes that can be counted. `name` without the plural's s. With
/// TASUKI_CHECK blocks that are received must not overlap, where the type has no gaps.
Code check_blocks(Process& process, const char* name, const Blocks& blocks, int size);

/// Whether some block with data begins at `address`; `base` is the buffer of which it is one.
bool block_begins_at(std::intptr_t address, const void* base, const Blocks& blocks, int size);

/// Whether some block of the one buffer and some block of the other begin with the same byte.
bool blocks_begin_alike(const void* sendbuf, const Blocks& out, int out_blocks, const void* recvbuf,
                        const Blocks& in, int in_blocks);

/// MPI 6.2: send and receive buffer must not overlap. Detects the usual slips: one block of the one begins
/// where any of the other does (many blocks on either side: in buffers that have one address); and with
/// TASUKI_CHECK any overlap, where the types have no gaps.
Code check_distinct(Process& process, const void* sendbuf, const Elements& mine, const void* recvbuf,
                    const Blocks& all, int size);
Code check_distinct(Process& process, const void* sendbuf, const Blocks& out, const void* recvbuf,
                    const Blocks& in, int size);
Code check_distinct(Process& process, const void* sendbuf, const Blocks& out, int out_blocks,
                    const void* recvbuf, const Blocks& in, int in_blocks);
Code check_distinct(Process& process, const void* sendbuf, const void* recvbuf, const Datatype& datatype,
                    Count count);

/// What a reduction must satisfy at every rank, and at a rank that gets a result of `count` elements.
Code check_reduction(Comm& comm, Count count, const Datatype& datatype, const Op& op);
Code check_result(Process& process, const void* sendbuf, const void* recvbuf, const Datatype& datatype,
                  Count count);

}  // namespace tasuki
