// What the binding must know of each kind of handle: the ABI's type, its NULL, how messages name it, and the
// error class of a bad one.
#pragma once

#include "base/error.hpp"
#include "binding/abi/abi.hpp"
#include "object/comm.hpp"
#include "object/object.hpp"
#include "p2p/arrived_message.hpp"
#include "p2p/request.hpp"
#include "reduction/op.hpp"

namespace tasuki {

struct Session;
struct Win;
struct File;

/// Of the core's type T: Handle, kKind, kErrorClass, kNoun, kNullName and null().
template <class T>
struct HandleOf;

template <class AbiHandle, Kind kind, ErrorClass error_class>
struct HandleTraits {
  using Handle = AbiHandle;
  static constexpr Kind kKind = kind;
  static constexpr ErrorClass kErrorClass = error_class;
};

template <>
struct HandleOf<Comm> : HandleTraits<MPI_Comm, Kind::kComm, kErrComm> {
  static constexpr const char* kNoun = "communicator";
  static constexpr const char* kNullName = "MPI_COMM_NULL";
  static Handle null() { return MPI_COMM_NULL; }
};
template <>
struct HandleOf<Group> : HandleTraits<MPI_Group, Kind::kGroup, kErrGroup> {
  static constexpr const char* kNoun = "group";
  static constexpr const char* kNullName = "MPI_GROUP_NULL";
  static Handle null() { return MPI_GROUP_NULL; }
};
template <>
struct HandleOf<Datatype> : HandleTraits<MPI_Datatype, Kind::kDatatype, kErrType> {
  static constexpr const char* kNoun = "datatype";
  static constexpr const char* kNullName = "MPI_DATATYPE_NULL";
  static Handle null() { return MPI_DATATYPE_NULL; }
};
template <>
struct HandleOf<Op> : HandleTraits<MPI_Op, Kind::kOp, kErrOp> {
  static constexpr const char* kNoun = "reduction operation";
  static constexpr const char* kNullName = "MPI_OP_NULL";
  static Handle null() { return MPI_OP_NULL; }
};
template <>
struct HandleOf<Request> : HandleTraits<MPI_Request, Kind::kRequest, kErrRequest> {
  static constexpr const char* kNoun = "request";
  static constexpr const char* kNullName = "MPI_REQUEST_NULL";
  static Handle null() { return MPI_REQUEST_NULL; }
};
template <>
struct HandleOf<Message> : HandleTraits<MPI_Message, Kind::kMessage, kErrRequest> {
  static constexpr const char* kNoun = "message";
  static constexpr const char* kNullName = "MPI_MESSAGE_NULL";
  static Handle null() { return MPI_MESSAGE_NULL; }
};
template <>
struct HandleOf<Info> : HandleTraits<MPI_Info, Kind::kInfo, kErrInfo> {
  static constexpr const char* kNoun = "info object";
  static constexpr const char* kNullName = "MPI_INFO_NULL";
  static Handle null() { return MPI_INFO_NULL; }
};
template <>
struct HandleOf<Errhandler> : HandleTraits<MPI_Errhandler, Kind::kErrhandler, kErrErrhandler> {
  static constexpr const char* kNoun = "error handler";
  static constexpr const char* kNullName = "MPI_ERRHANDLER_NULL";
  static Handle null() { return MPI_ERRHANDLER_NULL; }
};
template <>
struct HandleOf<Session> : HandleTraits<MPI_Session, Kind::kSession, kErrSession> {
  static constexpr const char* kNoun = "session";
  static constexpr const char* kNullName = "MPI_SESSION_NULL";
  static Handle null() { return MPI_SESSION_NULL; }
};
template <>
struct HandleOf<Win> : HandleTraits<MPI_Win, Kind::kWin, kErrWin> {
  static constexpr const char* kNoun = "window";
  static constexpr const char* kNullName = "MPI_WIN_NULL";
  static Handle null() { return MPI_WIN_NULL; }
};
template <>
struct HandleOf<File> : HandleTraits<MPI_File, Kind::kFile, kErrFile> {
  static constexpr const char* kNoun = "file";
  static constexpr const char* kNullName = "MPI_FILE_NULL";
  static Handle null() { return MPI_FILE_NULL; }
};

/// The noun of a kind.
inline const char* noun_of(Kind kind) {
  const char* noun = "object";
  const auto take = [&](auto... traits) {
    ((kind == decltype(traits)::kKind ? void(noun = decltype(traits)::kNoun) : void()), ...);
  };
  take(HandleOf<Comm>{}, HandleOf<Group>{}, HandleOf<Datatype>{}, HandleOf<Op>{}, HandleOf<Request>{},
       HandleOf<Message>{}, HandleOf<Info>{}, HandleOf<Errhandler>{}, HandleOf<Session>{}, HandleOf<Win>{},
       HandleOf<File>{});
  return noun;
}

}  // namespace tasuki
