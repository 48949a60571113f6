// SendRequest and ReceiveRequest: one message on its way, seen from its two ends; and SendReceiveRequest, the
// pair of both that MPI_Isendrecv starts.
//
// They live in pools of their Process (PointToPoint) and go back there when their last reference is released.
// The engine holds one reference from begin() until the operation is over.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "p2p/matching.hpp"
#include "p2p/message_checks.hpp"
#include "p2p/request.hpp"
#include "protocol/choose.hpp"
#include "protocol/packet.hpp"
#include "protocol/strided_buffer.hpp"
#include "protocol/write.hpp"

namespace tasuki {

class BufferPool;
struct BufferEntry;
struct SendReceiveRequest;
struct LargeEnd;

enum class SendMode : std::uint8_t { kStandard, kBuffered, kSynchronous, kReady };

struct SendRequest final : Request {
  SendRequest(const void* data, Count elements, Datatype& type, int dest_rank, int message_tag, Comm& on,
              Plane plane, SendMode send_mode)
      : Request(RequestType::kSend, on),
        buffer(data),
        count(elements),
        datatype(Ref<Datatype>::share(&type)),
        dest(dest_rank),
        envelope{on.rank, message_tag, on.context | static_cast<Context>(plane)},
        mode(send_mode),
        cursor(type, elements) {
    active = true;
  }
  static void operator delete(SendRequest* request, std::destroying_delete_t);
  Code start() override;
  Code cancel() override;
  bool goes_at_once() const { return protocol == Protocol::kShort || protocol == Protocol::kEager; }
  /// Whether it is not over before the receiver answers.
  bool waits_for_answer() const {
    return protocol == Protocol::kLong || (protocol == Protocol::kEager && mode == SendMode::kSynchronous);
  }

  const void* buffer;
  Count count;
  Ref<Datatype> datatype;
  int dest;          // rank in the communicator, or kProcNull
  int endpoint = 0;  // the same in the job
  Envelope envelope;
  SendMode mode;
  Protocol protocol = Protocol::kShort;
  bool opened = false;            // the first packet has left
  bool pushed = false;            // so has everything that does not wait for an answer
  bool answered = false;          // the answer to a synchronous or long message has come
  bool cancelling = false;        // the receiver is asked to drop the message, or will be once it has left
  bool returns_soon = false;      // of a nonblocking call: it leaves a long copy to a rank that waits
  bool may_be_set_aside = false;  // of a blocking call in the standard mode, with a long message
  PackCursor cursor;
  RequestId receiver = 0;       // where the fragments of a long message go, once cleared
  Count bytes_wanted = 0;       // how many of them the receiver takes
  LargeEnd* large = nullptr;    // of a message that may go straight between the buffers
  SendRequest* next = nullptr;  // in the queue of its peer
  BufferPool* pool = nullptr;   // where `buffer` was taken from, in the buffered mode
  BufferEntry* entry = nullptr;
  SendReceiveRequest* pair = nullptr;
  std::unique_ptr<MessageNote> note;  // with TASUKI_CHECK
};

struct ReceiveRequest final : Request, PostedReceive {
  ReceiveRequest(void* data, Count elements, Datatype& type, int source_rank, int message_tag, Comm& on,
                 Plane plane)
      : Request(RequestType::kReceive, on),
        buffer(data),
        datatype(Ref<Datatype>::share(&type)),
        context(on.context | static_cast<Context>(plane)),
        cursor(type, elements) {
    source = source_rank;
    tag = message_tag;
    active = true;
  }
  static void operator delete(ReceiveRequest* request, std::destroying_delete_t);
  Code start() override;
  Code cancel() override;
  Count capacity() const { return cursor.total_bytes(); }
  StridedBuffer strided_buffer() const { return tasuki::strided_buffer(buffer, cursor.count(), *datatype); }

  void* buffer;
  Ref<Datatype> datatype;
  Context context;
  PackCursor cursor;
  LargeEnd* large = nullptr;  // of one that is, or wants to be, advertised, or that this rank copies for
  // Once matched:
  int endpoint = 0;        // where the message comes from
  bool streaming = false;  // fragments may come
  bool put_to = false;     // the sender copies, and says when it has; or sends fragments
  Count bytes_wanted = 0;  // of a long message: what the clear-to-send asked for
  SendReceiveRequest* pair = nullptr;
  std::unique_ptr<MessageNote> note;  // with TASUKI_CHECK
};

/// A send and a receive that complete together; the status is the receive's.
struct SendReceiveRequest final : Request {
  explicit SendReceiveRequest(Comm& on) : Request(RequestType::kSendReceive, on) { active = true; }

  /// The send or the receive is over.
  void part_done();

  int parts_left = 2;
  Ref<SendRequest> send;
  Ref<ReceiveRequest> receive;
  std::unique_ptr<std::byte[]> copy;  // of the data to send, when the receive replaces it
};

}  // namespace tasuki
