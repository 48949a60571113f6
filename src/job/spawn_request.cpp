// The layout of messages to mpiexec, and moving them.
#include "job/spawn_request.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "job/message_fields.hpp"

namespace tasuki {
namespace {

constexpr std::uint32_t kRequestMagic = 0x70707374;  // "tspp": the first field, it differs between versions
constexpr std::uint32_t kAnswerMagic = 0x62707374;
constexpr std::uint32_t kNameMagic = 0x6d707374;
constexpr std::uint32_t kConnectionMagic = 0x63707374;
constexpr std::size_t kProgramBytesMin = 6 * sizeof(std::uint32_t);

bool move_all(int fd, char* bytes, std::size_t count, bool out) {
  while (count > 0) {
    const ssize_t moved = out ? send(fd, bytes, count, MSG_NOSIGNAL) : recv(fd, bytes, count, 0);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    bytes += moved;
    count -= static_cast<std::size_t>(moved);
  }
  return true;
}

}  // namespace

std::string encode(const SpawnRequest& request) {
  FieldWriter writer;
  writer.number(kRequestMagic);
  writer.text(request.parent_port);
  writer.wide_number(request.spawner);
  writer.number(static_cast<std::uint32_t>(request.programs.size()));
  for (const SpawnProgram& program : request.programs) {
    writer.number(static_cast<std::uint32_t>(program.ranks));
    writer.text(program.directory);
    writer.text(program.path);
    writer.text(program.initial_errhandler);
    writer.text(program.hosts);
    writer.number(static_cast<std::uint32_t>(program.command.size()));
    for (const std::string& word : program.command) writer.text(word);
  }
  return writer.take();
}

bool decode(const std::string& message, SpawnRequest* request) {
  FieldReader reader(message);
  if (reader.number() != kRequestMagic) return false;
  request->parent_port = reader.text();
  request->spawner = reader.wide_number();
  request->programs.resize(reader.length(kProgramBytesMin));
  for (SpawnProgram& program : request->programs) {
    program.ranks = static_cast<std::int32_t>(reader.number());
    program.directory = reader.text();
    program.path = reader.text();
    program.initial_errhandler = reader.text();
    program.hosts = reader.text();
    program.command.resize(reader.length());
    for (std::string& word : program.command) word = reader.text();
    if (program.ranks < 0 || program.command.empty()) return false;
  }
  return reader.over() && !request->programs.empty();
}

std::string encode(const SpawnAnswer& answer) {
  FieldWriter writer;
  writer.number(kAnswerMagic);
  writer.text(answer.error);
  writer.text(answer.text);
  return writer.take();
}

bool decode(const std::string& message, SpawnAnswer* answer) {
  FieldReader reader(message);
  if (reader.number() != kAnswerMagic) return false;
  answer->error = reader.text();
  answer->text = reader.text();
  return reader.over();
}

std::string encode(const NameRequest& request) {
  FieldWriter writer;
  writer.number(kNameMagic);
  writer.number(static_cast<std::uint32_t>(request.verb));
  writer.text(request.service);
  writer.text(request.port);
  return writer.take();
}

bool decode(const std::string& message, NameRequest* request) {
  FieldReader reader(message);
  if (reader.number() != kNameMagic) return false;
  request->verb = static_cast<NameRequest::Verb>(reader.number());
  request->service = reader.text();
  request->port = reader.text();
  return reader.over() && request->verb <= NameRequest::Verb::kLookUp;
}

std::string encode(const ConnectionReport& report) {
  FieldWriter writer;
  writer.number(kConnectionMagic);
  writer.wide_number(report.job);
  writer.number(static_cast<std::uint32_t>(report.rank));
  writer.number(static_cast<std::uint32_t>(report.connected.size()));
  for (const std::uint64_t job : report.connected) writer.wide_number(job);
  return writer.take();
}

bool decode(const std::string& message, ConnectionReport* report) {
  FieldReader reader(message);
  if (reader.number() != kConnectionMagic) return false;
  report->job = reader.wide_number();
  report->rank = static_cast<std::int32_t>(reader.number());
  report->connected.resize(reader.length(sizeof(std::uint64_t)));
  for (std::uint64_t& job : report->connected) job = reader.wide_number();
  return reader.over() && report->rank >= 0;
}

std::string farewell() {
  return "bye";
}

std::string values_put() {
  return "put";
}

bool write_message(int fd, const std::string& message) {
  auto length = static_cast<std::uint32_t>(message.size());
  return move_all(fd, reinterpret_cast<char*>(&length), sizeof length, true) &&
         move_all(fd, const_cast<char*>(message.data()), message.size(), true);
}

bool read_message(int fd, std::string* message) {
  std::uint32_t length = 0;
  if (!move_all(fd, reinterpret_cast<char*>(&length), sizeof length, false) || length > kMessageBytesMax) {
    return false;
  }
  message->resize(length);
  return move_all(fd, message->data(), length, false);
}

}  // namespace tasuki
