// MPI_Comm_join (MPI 11.10.4): two processes that have a socket in common.
//
// Each tells the other over the socket where it is reached and a context that it offers; the smaller context
// is the one they talk in. Nothing else goes over the socket, and nothing is left in it.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "communicator/api.hpp"
#include "dynamic/api.hpp"
#include "dynamic/dynamic.hpp"
#include "object/comm.hpp"
#include "object/objects.hpp"
#include "p2p/remote_job.hpp"
#include "progress/progress.hpp"

namespace tasuki {
namespace {

constexpr std::uint64_t kMagic = 0x6e696f6a6b757361;  // "asukjoin"

struct Record {
  std::uint64_t magic;
  Context offer;
  PeerAddress address;
};

/// Moves a record as far as that goes at once. Returns false when the socket is no good any more.
class RecordMove {
 public:
  RecordMove(int fd, Record* record, bool out)
      : fd_(fd), bytes_(reinterpret_cast<char*>(record)), out_(out) {}

  bool done() const { return moved_ == sizeof(Record); }
  int error() const { return error_; }

  /// Whether there is nothing more to wait for.
  bool advance() {
    while (!done() && error_ == 0) {
      const std::size_t left = sizeof(Record) - moved_;
      const ssize_t count = out_ ? send(fd_, bytes_ + moved_, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                                 : recv(fd_, bytes_ + moved_, left, MSG_DONTWAIT);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
      if (count <= 0) error_ = count == 0 ? EPIPE : errno;
      if (count > 0) moved_ += static_cast<std::size_t>(count);
    }
    return true;
  }

 private:
  int fd_;
  char* bytes_;
  bool out_;
  std::size_t moved_ = 0;
  int error_ = 0;
};

/// The other end of a socket of the machine's own is there; that of another one may be anywhere.
Reach reach_over(int fd) {
  sockaddr_storage own{};
  socklen_t bytes = sizeof own;
  const bool known = getsockname(fd, reinterpret_cast<sockaddr*>(&own), &bytes) == 0;
  return known && own.ss_family == AF_UNIX ? Reach::kMachine : Reach::kHosts;
}

}  // namespace

namespace api {

Code comm_join(Process& process, int fd, Comm** intercomm) {
  int kind = 0;
  socklen_t kind_bytes = sizeof kind;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &kind_bytes) != 0)
    return process.fail(kErrArg, "fd = %d, expected a connected socket: %s", fd, std::strerror(errno));
  if (kind != SOCK_STREAM) return process.fail(kErrArg, "fd = %d, expected a socket of type SOCK_STREAM", fd);
  Record mine{kMagic, make_context(process), {}};
  Record theirs{};
  if (const Code code = own_address(process, reach_over(fd), &mine.address)) return code;
  RecordMove out(fd, &mine, true);
  RecordMove in(fd, &theirs, false);
  process.progress->wait_until([&] {
    const bool sent = out.advance();
    return in.advance() && sent;
  });
  if (const int error = out.error() != 0 ? out.error() : in.error())
    return process.fail(kErrOther, "fd = %d: the other side is gone: %s", fd, std::strerror(error));
  if (theirs.magic != kMagic)
    return process.fail(kErrOther, "fd = %d: what came is not from MPI_Comm_join of this library", fd);
  if (theirs.address.name == mine.address.name)
    return process.fail(kErrArg, "fd = %d is connected to this process itself, expected another", fd);
  int endpoint = -1;
  if (const Code code = join_endpoint(process, theirs.address, &endpoint)) return code;
  const Ref<Comm> road = make_road(process, std::min(mine.offer, theirs.offer), endpoint);
  return intercomm_create(process, process.objects->self, 0, road.get(), 0, 0, intercomm);
}

}  // namespace api
}  // namespace tasuki
