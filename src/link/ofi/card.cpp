// Cards as text, and trying an address.
#include "link/ofi/card.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <sstream>

namespace tasuki::ofi {
namespace {

constexpr const char* kFormat = "1";
constexpr const char* kDigits = "0123456789abcdef";

/// No blanks, and not empty.
std::string word_of(const std::string& text) {
  std::string word;
  for (const char character : text) {
    if (word.size() == 64) break;
    word += character > ' ' && character < 0x7f ? character : '?';
  }
  return word.empty() ? "?" : word;
}

sa_family_t family_of(const std::string& name) {
  sa_family_t family = AF_UNSPEC;
  if (name.size() >= sizeof family) std::memcpy(&family, name.data(), sizeof family);
  const bool good = (family == AF_INET && name.size() == sizeof(sockaddr_in)) ||
                    (family == AF_INET6 && name.size() == sizeof(sockaddr_in6));
  return good ? family : static_cast<sa_family_t>(AF_UNSPEC);
}

}  // namespace

std::string to_text(const Card& card) {
  std::string text = kFormat;
  for (const std::string& part : {card.provider, card.version, card.interface, card.host})
    text += " " + word_of(part);
  text += " ";
  for (const char character : card.name) {
    const auto byte = static_cast<unsigned char>(character);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

bool from_text(const std::string& text, Card* card) {
  *card = {};
  std::istringstream words(text);
  std::string format, digits;
  if (!(words >> format >> card->provider >> card->version >> card->interface >> card->host >> digits) ||
      format != kFormat || digits.size() % 2 != 0 || digits.size() > 2 * kNameBytesMax)
    return false;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const char* const high = std::strchr(kDigits, digits[i]);
    const char* const low = std::strchr(kDigits, digits[i + 1]);
    if (high == nullptr || low == nullptr) return false;
    card->name += static_cast<char>((high - kDigits) * 16 + (low - kDigits));
  }
  return to_text(*card) == text;
}

std::string text_of(int rank, const Card& card) {
  return "rank " + std::to_string(rank) + " on " + card.host + " (interface " + card.interface +
         ", address " + address_text(card.name) + ")";
}

std::string why_not(int rank, const Card& own, int peer, const Card& other) {
  if (own.provider == other.provider && own.version == other.version) return {};
  return text_of(rank, own) + " speaks libfabric's " + own.provider + " " + own.version + " and " +
         text_of(peer, other) + " speaks " + other.provider + " " + other.version +
         ", which do not understand each other: have the same libfabric found on both (TASUKI_NET_LIBRARY), "
         "and the same provider taken (TASUKI_NET_PROVIDER)";
}

bool is_internet_address(const std::string& name) {
  return family_of(name) != AF_UNSPEC;
}

std::string internet_address(const std::string& name) {
  char text[INET6_ADDRSTRLEN] = "";
  const sa_family_t family = family_of(name);
  const std::size_t at =
      family == AF_INET6 ? offsetof(sockaddr_in6, sin6_addr) : offsetof(sockaddr_in, sin_addr);
  if (family != AF_UNSPEC) inet_ntop(family, name.data() + at, text, sizeof text);
  return text;
}

std::uint16_t internet_port(const std::string& name) {
  sockaddr_in any;  // the port lies at the same place in both
  std::memcpy(&any, name.data(), sizeof any);
  return ntohs(any.sin_port);
}

std::string address_text(const std::string& name) {
  const std::string address = internet_address(name);
  if (address.empty()) return "of " + std::to_string(name.size()) + " bytes";
  return (family_of(name) == AF_INET6 ? "[" + address + "]" : address) + ":" +
         std::to_string(internet_port(name));
}

void Probe::begin(const std::string& own, const std::string& other) {
  end();
  kept_ = false;
  state_ = State::kFailed;
  if (!is_internet_address(other)) {
    reason_ = "it has no address that could be tried";
    return;
  }
  socket_ = socket(family_of(other), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ >= 0 && family_of(own) == family_of(other)) {  // from the interface that the packets leave by
    sockaddr_storage from{};
    std::memcpy(&from, own.data(), own.size());
    reinterpret_cast<sockaddr_in*>(&from)->sin_port = 0;  // which lies at the same place in both
    if (bind(socket_, reinterpret_cast<sockaddr*>(&from), static_cast<socklen_t>(own.size())) != 0)
      reason_ = std::string("its own address cannot be used: ") + std::strerror(errno);
  }
  sockaddr_storage to{};
  std::memcpy(&to, other.data(), other.size());
  if (socket_ >= 0 &&
      (connect(socket_, reinterpret_cast<sockaddr*>(&to), static_cast<socklen_t>(other.size())) == 0 ||
       errno == EINPROGRESS)) {
    state_ = State::kOpen;
  } else {
    reason_ = std::strerror(errno);
    refused_ = errno == ECONNREFUSED;
  }
}

void Probe::begin_kept(const std::string& own, const std::string& other, int seconds) {
  begin(own, other);
  kept_ = true;
  if (socket_ < 0) state_ = State::kNone;
  if (state_ != State::kOpen) return;
  constexpr int kOn = 1;
  constexpr int kQuestions = 3;
  const int pause = std::max(1, seconds / (kQuestions + 1));
  setsockopt(socket_, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof kOn);
  setsockopt(socket_, IPPROTO_TCP, TCP_KEEPIDLE, &pause, sizeof pause);
  setsockopt(socket_, IPPROTO_TCP, TCP_KEEPINTVL, &pause, sizeof pause);
  setsockopt(socket_, IPPROTO_TCP, TCP_KEEPCNT, &kQuestions, sizeof kQuestions);
}

/// Nothing is ever sent on a kept connection: what can be read is its end.
bool Probe::is_broken() {
  char byte = 0;
  const ssize_t count = recv(socket_, &byte, 1, MSG_DONTWAIT);
  if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))) return false;
  reason_ = count == 0 ? "its end of a connection was closed" : std::strerror(errno);
  return true;
}

Probe::State Probe::look() {
  if (kept_ && state_ == State::kConnected && is_broken()) state_ = State::kFailed;
  if (state_ != State::kOpen) return state_;
  pollfd one{socket_, POLLOUT, 0};
  if (poll(&one, 1, 0) != 1) return state_;
  int error = 0;
  socklen_t bytes = sizeof error;
  if (getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) error = errno;
  state_ = error == 0 ? State::kConnected : State::kFailed;
  if (error != 0) reason_ = std::strerror(error);
  refused_ = error == ECONNREFUSED;
  return state_;
}

void Probe::end() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
  state_ = State::kNone;
}

}  // namespace tasuki::ofi
