// Point-to-point communication: the user's calls (MPI chapter 3), by bindgen/README.md's rules. The binding
// has checked ranks, tags, counts, handles, null buffers and committed types. It reads and writes statuses
// itself.
//
// Where the calls live: send.cpp, receive.cpp, probe.cpp, sendrecv.cpp, persistent.cpp, buffered.cpp,
// completion.cpp, generalized.cpp. Partitioned ones: p2p/partitioned/.
#pragma once

#include "base/types.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "object/session.hpp"
#include "p2p/arrived_message.hpp"
#include "p2p/request.hpp"

namespace tasuki::api {

// 3.2, 3.4: blocking
Code send(Process& process, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm);
Code bsend(Process& process, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm);
Code ssend(Process& process, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm);
Code rsend(Process& process, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm);
Code recv(Process& process, void* buf, Count count, Datatype* datatype, int source, int tag, Comm* comm,
          Status* status);

// 3.7: nonblocking
Code isend(Process& process, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm,
           Request** request);
Code ibsend(Process& process, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm,
            Request** request);
Code issend(Process& process, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm,
            Request** request);
Code irsend(Process& process, const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm,
            Request** request);
Code irecv(Process& process, void* buf, Count count, Datatype* datatype, int source, int tag, Comm* comm,
           Request** request);

// 3.7.3 - 3.7.6: completion
Code wait(Process& process, Request** request, Status* status);
Code test(Process& process, Request** request, bool* flag, Status* status);
Code waitany(Process& process, Count count, Request** requests, int* index, Status* status);
Code testany(Process& process, Count count, Request** requests, int* index, bool* flag, Status* status);
Code waitall(Process& process, Count count, Request** requests, Status* statuses);
Code testall(Process& process, Count count, Request** requests, bool* flag, Status* statuses);
Code waitsome(Process& process, Count incount, Request** requests, Count* outcount, int* indices,
              Status* statuses);
Code testsome(Process& process, Count incount, Request** requests, Count* outcount, int* indices,
              Status* statuses);
Code request_get_status(Process& process, Request* request, bool* flag, Status* status);
Code request_get_status_any(Process& process, Count count, Request* const* requests, int* index, bool* flag,
                            Status* status);
Code request_get_status_all(Process& process, Count count, Request* const* requests, bool* flag,
                            Status* statuses);
Code request_get_status_some(Process& process, Count incount, Request* const* requests, Count* outcount,
                             int* indices, Status* statuses);
Code request_free(Process& process, Request** request);

// 3.8: probe and cancel
Code probe(Process& process, int source, int tag, Comm* comm, Status* status);
Code iprobe(Process& process, int source, int tag, Comm* comm, bool* flag, Status* status);
Code mprobe(Process& process, int source, int tag, Comm* comm, Message** message, Status* status);
Code improbe(Process& process, int source, int tag, Comm* comm, bool* flag, Message** message,
             Status* status);
Code mrecv(Process& process, void* buf, Count count, Datatype* datatype, Message** message, Status* status);
Code imrecv(Process& process, void* buf, Count count, Datatype* datatype, Message** message,
            Request** request);
Code cancel(Process& process, Request* request);

// 13.2: generalised requests. Errors of the user's functions come back as they are.
Code grequest_start(Process& process, AnyFunction query_fn, AnyFunction free_fn, AnyFunction cancel_fn,
                    void* extra_state, Request** request);
/// The handle's second use ends: `*request` becomes null. kErrRequest for a request of another kind, and for
/// one that is complete already.
Code grequest_complete(Process& process, Request** request);

// 3.9: persistent
Code send_init(Process& process, const void* buf, Count count, Datatype* datatype, int dest, int tag,
               Comm* comm, Request** request);
Code bsend_init(Process& process, const void* buf, Count count, Datatype* datatype, int dest, int tag,
                Comm* comm, Request** request);
Code ssend_init(Process& process, const void* buf, Count count, Datatype* datatype, int dest, int tag,
                Comm* comm, Request** request);
Code rsend_init(Process& process, const void* buf, Count count, Datatype* datatype, int dest, int tag,
                Comm* comm, Request** request);
Code recv_init(Process& process, void* buf, Count count, Datatype* datatype, int source, int tag, Comm* comm,
               Request** request);
Code start(Process& process, Request** request);
Code startall(Process& process, Count count, Request** requests);

// 3.10, 3.11: send-receive
Code sendrecv(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, int dest,
              int sendtag, void* recvbuf, Count recvcount, Datatype* recvtype, int source, int recvtag,
              Comm* comm, Status* status);
Code sendrecv_replace(Process& process, void* buf, Count count, Datatype* datatype, int dest, int sendtag,
                      int source, int recvtag, Comm* comm, Status* status);
Code isendrecv(Process& process, const void* sendbuf, Count sendcount, Datatype* sendtype, int dest,
               int sendtag, void* recvbuf, Count recvcount, Datatype* recvtype, int source, int recvtag,
               Comm* comm, Request** request);
Code isendrecv_replace(Process& process, void* buf, Count count, Datatype* datatype, int dest, int sendtag,
                       int source, int recvtag, Comm* comm, Request** request);

// 3.6: buffers of the buffered mode. kBufferAutomatic: the library allocates.
Code buffer_attach(Process& process, void* buffer, Count size);
Code buffer_detach(Process& process, void** buffer_addr, Count* size);
Code buffer_flush(Process& process);
Code buffer_iflush(Process& process, Request** request);
Code comm_attach_buffer(Process& process, Comm* comm, void* buffer, Count size);
Code comm_detach_buffer(Process& process, Comm* comm, void** buffer_addr, Count* size);
Code comm_flush_buffer(Process& process, Comm* comm);
Code comm_iflush_buffer(Process& process, Comm* comm, Request** request);
/// Of the communicators that are derived from a session.
Code session_attach_buffer(Process& process, Session* session, void* buffer, Count size);
Code session_detach_buffer(Process& process, Session* session, void** buffer_addr, Count* size);
Code session_flush_buffer(Process& process, Session* session);
Code session_iflush_buffer(Process& process, Session* session, Request** request);

}  // namespace tasuki::api
