// The ways to send a message and to receive one (see channel.hpp).
#include "channel.hpp"

#include <algorithm>

#include "suite.hpp"

namespace mbl {

namespace {

constexpr int kTag = 1;
constexpr int kPartitions = 8;            // of a partitioned message …
constexpr int kPartitionBytesMin = 1024;  // … whose parts have at least so many bytes

}  // namespace

const std::vector<SendMode>& send_modes() {
  static const std::vector<SendMode> modes = {
      {.name = "send", .blocking = MPI_Send},
      {.name = "bsend", .blocking = MPI_Bsend, .buffered = true},
      {.name = "ssend", .blocking = MPI_Ssend},
      {.name = "rsend", .blocking = MPI_Rsend, .ready = true},
      {.name = "isend", .immediate = MPI_Isend},
      {.name = "ibsend", .immediate = MPI_Ibsend, .buffered = true},
      {.name = "issend", .immediate = MPI_Issend},
      {.name = "irsend", .immediate = MPI_Irsend, .ready = true},
      {.name = "send_init", .persistent = MPI_Send_init},
      {.name = "bsend_init", .persistent = MPI_Bsend_init, .buffered = true},
      {.name = "ssend_init", .persistent = MPI_Ssend_init},
      {.name = "rsend_init", .persistent = MPI_Rsend_init, .ready = true},
      {.name = "partitioned"},
  };
  return modes;
}

const SendMode& send_mode(const std::string& name) {
  return *std::find_if(send_modes().begin(), send_modes().end(),
                       [&](const SendMode& mode) { return name == mode.name; });
}

const char* name_of(Receive receive) {
  switch (receive) {
    case Receive::kPosted:
      return "posted";
    case Receive::kBlocking:
      return "blocking";
    case Receive::kAnySource:
      return "any_source";
    case Receive::kAnyTag:
      return "any_tag";
    case Receive::kProbe:
      return "probe";
    case Receive::kMprobe:
      return "mprobe";
    case Receive::kPersistent:
      return "recv_init";
  }
  return "";
}

Channel::Channel(const SendMode& mode, Receive receive, const Ends& ends)
    : mode_(mode), receive_(receive), ends_(ends) {
  if (mode.partitioned()) {
    receive_ = Receive::kPersistent;
    make_partitioned();
  } else {
    make_persistent();
  }
}

Channel::~Channel() {
  for (MPI_Request* request : {&out_request_, &in_request_}) {
    if (*request != MPI_REQUEST_NULL) MPI_Request_free(request);
  }
}

void Channel::make_partitioned() {
  const int parts = std::clamp(ends_.count / kPartitionBytesMin, 1, kPartitions);
  partitions_ = ends_.count % parts == 0 ? parts : 1;
  const MPI_Count count = ends_.count / partitions_;
  require(MPI_Psend_init(ends_.out, partitions_, count, ends_.type, ends_.peer, kTag, ends_.comm,
                         MPI_INFO_NULL, &out_request_),
          "MPI_Psend_init");
  require(MPI_Precv_init(ends_.in, partitions_, count, ends_.type, ends_.peer, kTag, ends_.comm,
                         MPI_INFO_NULL, &in_request_),
          "MPI_Precv_init");
}

void Channel::make_persistent() {
  if (mode_.persistent != nullptr) {
    require(mode_.persistent(ends_.out, ends_.count, ends_.type, ends_.peer, kTag, ends_.comm, &out_request_),
            mode_.name);
  }
  if (receive_ == Receive::kPersistent) {
    require(MPI_Recv_init(ends_.in, ends_.count, ends_.type, ends_.peer, kTag, ends_.comm, &in_request_),
            "MPI_Recv_init");
  }
}

void Channel::move(void* out, void* in) {
  ends_.out = out;
  ends_.in = in;
}

void Channel::post() {
  if (receive_ == Receive::kPersistent) {
    require(MPI_Start(&in_request_), "MPI_Start");
  } else if (receive_ == Receive::kPosted || receive_ == Receive::kAnySource ||
             receive_ == Receive::kAnyTag) {
    const int source = receive_ == Receive::kAnySource ? MPI_ANY_SOURCE : ends_.peer;
    const int tag = receive_ == Receive::kAnyTag ? MPI_ANY_TAG : kTag;
    require(MPI_Irecv(ends_.in, ends_.count, ends_.type, source, tag, ends_.comm, &in_request_), "MPI_Irecv");
  }
}

void Channel::await() {
  if (receive_ == Receive::kMprobe) {
    MPI_Message message = MPI_MESSAGE_NULL;
    require(MPI_Mprobe(ends_.peer, kTag, ends_.comm, &message, MPI_STATUS_IGNORE), "MPI_Mprobe");
    require(MPI_Mrecv(ends_.in, ends_.count, ends_.type, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
  } else if (receive_ == Receive::kBlocking || receive_ == Receive::kProbe) {
    if (receive_ == Receive::kProbe) {
      require(MPI_Probe(ends_.peer, kTag, ends_.comm, MPI_STATUS_IGNORE), "MPI_Probe");
    }
    require(MPI_Recv(ends_.in, ends_.count, ends_.type, ends_.peer, kTag, ends_.comm, MPI_STATUS_IGNORE),
            "MPI_Recv");
  } else {
    require(MPI_Wait(&in_request_, MPI_STATUS_IGNORE), "MPI_Wait");
  }
}

void Channel::send() {
  if (mode_.blocking != nullptr) {
    require(mode_.blocking(ends_.out, ends_.count, ends_.type, ends_.peer, kTag, ends_.comm), mode_.name);
    return;
  }
  if (mode_.immediate != nullptr) {
    require(mode_.immediate(ends_.out, ends_.count, ends_.type, ends_.peer, kTag, ends_.comm, &out_request_),
            mode_.name);
  } else {
    require(MPI_Start(&out_request_), "MPI_Start");
    if (mode_.partitioned()) require(MPI_Pready_range(0, partitions_ - 1, out_request_), "MPI_Pready_range");
  }
  require(MPI_Wait(&out_request_, MPI_STATUS_IGNORE), "MPI_Wait");
}

AttachedBuffer::AttachedBuffer(int messages, std::int64_t bytes)
    : memory_(messages * (bytes + MPI_BSEND_OVERHEAD)) {
  require(MPI_Buffer_attach(memory_.data(), static_cast<int>(memory_.size())), "MPI_Buffer_attach");
}

AttachedBuffer::~AttachedBuffer() {
  void* base = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&base, &bytes);
}

}  // namespace mbl
