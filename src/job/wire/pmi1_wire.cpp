// Lines out, lines in: one answer to each request, but for the end of a fence, which comes when it comes.
#include "job/wire/pmi1_wire.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tasuki::wire {
namespace {

constexpr std::size_t kLineBytesMax = 64 << 10;

int number_in(const Pmi1Message& message, const char* name, int otherwise) {
  const auto found = message.find(name);
  return found != message.end() ? static_cast<int>(std::strtol(found->second.c_str(), nullptr, 10))
                                : otherwise;
}

class Pmi1Wire final : public Wire {
 public:
  Pmi1Wire(int fd, const Place& told, bool by_port) : fd_(fd), by_port_(by_port), place_(told) {
    fcntl(fd_, F_SETFD, FD_CLOEXEC);
  }
  // The descriptor stays open until the program ends: launchers take its end for the rank's.

  const Place& place() const override { return place_; }
  std::string name() const override {
    return by_port_ ? "PMI-1 (PMI_PORT)" : "PMI-1 (descriptor " + std::to_string(fd_) + ")";
  }
  std::size_t value_bytes_max() const override { return value_bytes_max_; }

  bool greet(const std::string& port_id, std::string* error);
  bool put(const std::string& key, const std::string& value, std::string* error) override;
  bool get(int rank, const std::string& key, std::string* value, std::string* error) override;
  bool enter_fence(std::string* error) override;
  Directory::Fence look_at_fence(std::string* error) override;
  void abort(int exit_code) override {
    send_line("cmd=abort exitcode=" + std::to_string(exit_code), &broken_);
  }
  void finalize() override {
    std::string error;
    Pmi1Message answer;
    ask("cmd=finalize", "finalize_ack", &answer, &error);
  }

 private:
  bool ask_number(const char* request, const char* answer_name, const char* field, int* number,
                  std::string* error);
  bool ask(const std::string& request, std::string_view answer_name, Pmi1Message* answer, std::string* error);
  bool send_line(std::string line, std::string* error);
  bool read_line(int timeout_ms, std::string* line, std::string* error);
  bool take_rank(const std::string& port_id, std::string* error);
  bool fail(const std::string& what, std::string* error) {
    if (broken_.empty()) broken_ = what;
    *error = broken_;
    return false;
  }
  std::string key_of(int rank, const std::string& key) const {
    return "tasuki-" + std::to_string(rank) + "-" + key;
  }

  int fd_;
  bool by_port_;
  Place place_;
  std::string space_;  // kvsname
  std::size_t key_bytes_max_ = 63;
  std::size_t value_bytes_max_ = 255;
  std::string received_;  // and not yet a line
  bool greeted_ = false;
  bool fence_open_ = false;
  std::string broken_;  // why nothing works any more; empty: it does
};

bool Pmi1Wire::send_line(std::string line, std::string* error) {
  if (!broken_.empty()) return fail(broken_, error);
  line += '\n';
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t count = send(fd_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      pollfd room{fd_, POLLOUT, 0};
      if (poll(&room, 1, kWireTimeoutSeconds * 1000) > 0) continue;
    }
    if (count < 0 && errno == EPIPE && !greeted_)
      return fail("the launcher serves its " + name() + " no more: a program before this one was the rank",
                  error);
    if (count <= 0)
      return fail("the launcher's " + name() + " does not take a line: " + std::strerror(errno), error);
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

/// Returns false without an error when the time passes.
bool Pmi1Wire::read_line(int timeout_ms, std::string* line, std::string* error) {
  while (true) {
    const std::size_t end = received_.find('\n');
    if (end != std::string::npos) {
      *line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return true;
    }
    if (!broken_.empty()) return fail(broken_, error);
    if (received_.size() > kLineBytesMax) return fail("the launcher's " + name() + " sends no lines", error);
    pollfd ready{fd_, POLLIN, 0};
    const int count = poll(&ready, 1, timeout_ms);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) return false;
    char bytes[4096];
    const ssize_t got = recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) {
      return fail("the launcher has closed its " + name() +
                      (got < 0 ? std::string(": ") + std::strerror(errno) : std::string()),
                  error);
    }
    received_.append(bytes, static_cast<std::size_t>(got));
  }
}

bool Pmi1Wire::ask(const std::string& request, std::string_view answer_name, Pmi1Message* answer,
                   std::string* error) {
  if (!send_line(request, error)) return false;
  std::string line;
  while (true) {
    error->clear();
    if (!read_line(kWireTimeoutSeconds * 1000, &line, error)) {
      if (!error->empty()) return false;
      return fail("the launcher has not answered \"" + request + "\" within " +
                      std::to_string(kWireTimeoutSeconds) + " s (" + name() + ")",
                  error);
    }
    *answer = parse_pmi1(line);
    const std::string& command = (*answer)["cmd"];
    if (command == answer_name) return true;
    if (command == "barrier_out" && fence_open_) {
      fence_open_ = false;
      continue;
    }
    return fail("the launcher answers \"" + line + "\" to \"" + request + "\" (" + name() + ")", error);
  }
}

bool Pmi1Wire::ask_number(const char* request, const char* answer_name, const char* field, int* number,
                          std::string* error) {
  Pmi1Message answer;
  if (!ask(request, answer_name, &answer, error)) return false;
  *number = number_in(answer, field, -1);
  return true;
}

/// What a launcher tells one that came by its port, before all else.
bool Pmi1Wire::take_rank(const std::string& port_id, std::string* error) {
  Pmi1Message answer;
  if (!ask("cmd=initack pmiid=" + port_id, "initack", &answer, error)) return false;
  place_.rank = number_in(answer, "rank", place_.rank);
  place_.size = number_in(answer, "size", place_.size);
  // It says so again in lines of their own, the last of which is "debug".
  answer.clear();
  for (std::string line; answer.count("debug") == 0;) {
    error->clear();
    if (!read_line(kWireTimeoutSeconds * 1000, &line, error)) {
      return !error->empty() ? false : fail("the launcher does not tell this rank its place", error);
    }
    answer = parse_pmi1(line);
    if (answer["cmd"] != "set") return fail("the launcher says \"" + line + "\", expected cmd=set", error);
    place_.rank = number_in(answer, "rank", place_.rank);
    place_.size = number_in(answer, "size", place_.size);
  }
  return true;
}

bool Pmi1Wire::greet(const std::string& port_id, std::string* error) {
  if (!port_id.empty() && !take_rank(port_id, error)) return false;
  Pmi1Message answer;
  if (!ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", &answer, error)) return false;
  greeted_ = true;
  if (number_in(answer, "rc", 0) != 0)
    return fail("the launcher does not speak version 1 of PMI (" + name() + ")", error);
  if (!ask("cmd=get_maxes", "maxes", &answer, error)) return false;
  key_bytes_max_ = static_cast<std::size_t>(std::max(0, number_in(answer, "keylen_max", 64) - 1));
  value_bytes_max_ = static_cast<std::size_t>(std::max(0, number_in(answer, "vallen_max", 256) - 1));
  if (key_bytes_max_ < 31 || value_bytes_max_ < 63)
    return fail("the launcher takes keys of " + std::to_string(key_bytes_max_) + " bytes and values of " +
                    std::to_string(value_bytes_max_) + ", expected at least 31 and 63",
                error);
  if (!ask("cmd=get_my_kvsname", "my_kvsname", &answer, error)) return false;
  space_ = answer["kvsname"];
  if (!ask_number("cmd=get_universe_size", "universe_size", "size", &place_.universe, error) ||
      !ask_number("cmd=get_appnum", "appnum", "appnum", &place_.application, error))
    return false;
  if (place_.size >= 1 && place_.rank >= 0 && place_.rank < place_.size) return true;
  return fail("the launcher makes this process rank " + std::to_string(place_.rank) + " of " +
                  std::to_string(place_.size),
              error);
}

bool Pmi1Wire::put(const std::string& key, const std::string& value, std::string* error) {
  Pmi1Message answer;
  const std::string request =
      "cmd=put kvsname=" + space_ + " key=" + key_of(place_.rank, key) + " value=" + value;
  if (!ask(request, "put_result", &answer, error)) return false;
  if (number_in(answer, "rc", 0) == 0) return true;
  *error = "the launcher refuses a value: " + answer["msg"];
  return false;
}

bool Pmi1Wire::get(int rank, const std::string& key, std::string* value, std::string* error) {
  Pmi1Message answer;
  if (!ask("cmd=get kvsname=" + space_ + " key=" + key_of(rank, key), "get_result", &answer, error))
    return false;
  if (number_in(answer, "rc", 0) == 0) {
    *value = answer["value"];
    return true;
  }
  *error = "rank " + std::to_string(rank) + " has put no \"" + key + "\"";
  return false;
}

bool Pmi1Wire::enter_fence(std::string* error) {
  fence_open_ = true;
  return send_line("cmd=barrier_in", error);
}

Directory::Fence Pmi1Wire::look_at_fence(std::string* error) {
  if (!fence_open_) return Directory::Fence::kOver;
  std::string line;
  error->clear();
  if (!read_line(0, &line, error))
    return error->empty() ? Directory::Fence::kOpen : Directory::Fence::kBroken;
  const Pmi1Message answer = parse_pmi1(line);
  const auto command = answer.find("cmd");
  if (command == answer.end() || command->second != "barrier_out" || number_in(answer, "rc", 0) != 0) {
    fail("the launcher says \"" + line + "\", expected the end of a fence (" + name() + ")", error);
    return Directory::Fence::kBroken;
  }
  fence_open_ = false;
  return Directory::Fence::kOver;
}

}  // namespace

Pmi1Message parse_pmi1(std::string_view line) {
  Pmi1Message message;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos)
      message.emplace(std::string(word.substr(0, equals)), std::string(word.substr(equals + 1)));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
  }
  return message;
}

std::unique_ptr<Wire> make_pmi1_wire(int fd, const Place& told, const std::string& port_id,
                                     std::string* error) {
  auto wire = std::make_unique<Pmi1Wire>(fd, told, !port_id.empty());
  if (!wire->greet(port_id, error)) return nullptr;
  return wire;
}

int connect_to_pmi_port(const std::string& address, std::string* error) {
  const std::size_t colon = address.rfind(':');
  int reason = 0;
  if (colon != std::string::npos) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(address.substr(0, colon).c_str(), address.c_str() + colon + 1, &hints, &found) == 0) {
      for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
        const int fd = socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, one->ai_addr, one->ai_addrlen) == 0) {
          freeaddrinfo(found);
          return fd;
        }
        reason = errno;
        if (fd >= 0) close(fd);
      }
      freeaddrinfo(found);
    }
  }
  *error = "cannot connect to the launcher at PMI_PORT=" + address + ": " +
           (reason != 0 ? std::strerror(reason) : "no such address");
  return -1;
}

}  // namespace tasuki::wire
