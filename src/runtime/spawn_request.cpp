// The layout of messages to mpiexec, and moving them.
#include "runtime/spawn_request.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace tasuki {
namespace {

constexpr std::uint32_t kRequestMagic = 0x6e707374;  // "tspn": the first field, so that versions are told
constexpr std::uint32_t kAnswerMagic = 0x61707374;

class Writer {
 public:
  void number(std::uint32_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_ += value;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what Writer wrote; `good` is false once something was missing.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::uint32_t number() {
    std::uint32_t value = 0;
    const std::string_view from = take(sizeof value);
    if (!from.empty()) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(number())); }
  /// A number of things that follow, each of at least 4 bytes.
  std::uint32_t length() {
    const std::uint32_t count = number();
    if (count > bytes_.size() / 4) good_ = false;
    return good_ ? count : 0;
  }
  bool over() const { return good_ && bytes_.empty(); }

 private:
  std::string_view take(std::size_t count) {
    if (!good_ || count > bytes_.size()) {
      good_ = false;
      return {};
    }
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  std::string_view bytes_;
  bool good_ = true;
};

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
  Writer writer;
  writer.number(kRequestMagic);
  writer.text(request.parent_port);
  writer.number(static_cast<std::uint32_t>(request.programs.size()));
  for (const SpawnProgram& program : request.programs) {
    writer.number(static_cast<std::uint32_t>(program.ranks));
    writer.text(program.directory);
    writer.text(program.path);
    writer.text(program.initial_errhandler);
    writer.number(static_cast<std::uint32_t>(program.command.size()));
    for (const std::string& word : program.command) writer.text(word);
  }
  return writer.take();
}

bool decode(const std::string& message, SpawnRequest* request) {
  Reader reader(message);
  if (reader.number() != kRequestMagic) return false;
  request->parent_port = reader.text();
  request->programs.resize(reader.length());
  for (SpawnProgram& program : request->programs) {
    program.ranks = static_cast<std::int32_t>(reader.number());
    program.directory = reader.text();
    program.path = reader.text();
    program.initial_errhandler = reader.text();
    program.command.resize(reader.length());
    for (std::string& word : program.command) word = reader.text();
    if (program.ranks < 0 || program.command.empty()) return false;
  }
  return reader.over() && !request->programs.empty();
}

std::string encode(const SpawnAnswer& answer) {
  Writer writer;
  writer.number(kAnswerMagic);
  writer.text(answer.error);
  return writer.take();
}

bool decode(const std::string& message, SpawnAnswer* answer) {
  Reader reader(message);
  if (reader.number() != kAnswerMagic) return false;
  answer->error = reader.text();
  return reader.over();
}

std::string farewell() {
  return "bye";
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
