// Host lists and host files, and who gets which rank.
#include "launch/allocation/host_list.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "launch/base/format.hpp"

namespace tasuki::launch {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; (begin = text.find_first_not_of(" \t\r\n", begin)) != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n", begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

namespace {

bool read_slots(const std::string& word, int* slots) {
  char* end = nullptr;
  errno = 0;
  const long number = std::strtol(word.c_str(), &end, 10);
  if (word.empty() || *end != '\0' || errno != 0 || number < 1 || number > kSlotsMax) return false;
  *slots = static_cast<int>(number);
  return true;
}

/// A name that a launcher could take for an option, or that is none, is refused.
bool is_host_name(const std::string& name) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._:%-").find(c) != std::string_view::npos;
  };
  return !name.empty() && name[0] != '-' && name.size() < 256 && std::all_of(name.begin(), name.end(), fits);
}

void add_slots(const HostSlots& host, std::vector<HostSlots>* hosts) {
  const auto same = [&host](const HostSlots& other) {
    return other.name == host.name && other.user == host.user;
  };
  const auto found = std::find_if(hosts->begin(), hosts->end(), same);
  if (found == hosts->end()) {
    hosts->push_back(host);
  } else {
    found->slots = std::min(kSlotsMax, found->slots + host.slots);
  }
}

/// "user@name:2": all but the slots may be missing.
bool read_host(std::string word, HostSlots* host, std::string* error) {
  const std::string given = word;
  const std::size_t at = word.find('@');
  if (at != std::string::npos) {
    host->user = word.substr(0, at);
    word.erase(0, at + 1);
  }
  std::string slots;
  if (!word.empty() && word[0] == '[') {  // an IPv6 address
    const std::size_t close = word.find(']');
    if (close != std::string::npos && close + 1 < word.size() && word[close + 1] == ':')
      slots = word.substr(close + 2);
    word = word.substr(1, close == std::string::npos ? close : close - 1);
  } else if (std::count(word.begin(), word.end(), ':') == 1) {
    slots = word.substr(word.find(':') + 1);
    word.resize(word.find(':'));
    if (slots.empty()) slots = "?";
  }
  host->name = word;
  if (!is_host_name(word) || (at != std::string::npos && !is_host_name(host->user))) {
    *error = format("'%s' is no host: expected NAME or NAME:SLOTS", given.c_str());
    return false;
  }
  if (slots.empty() || read_slots(slots, &host->slots)) return true;
  *error = format("'%s': expected a number of slots from 1 to %d behind ':'", given.c_str(), kSlotsMax);
  return false;
}

/// "slots=2", "user=name", as behind a host's name.
bool read_attribute(const std::string& word, HostSlots* host, std::string* error) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const std::string value = equals != std::string::npos ? word.substr(equals + 1) : "";
  if (name == "slots") {
    if (read_slots(value, &host->slots)) return true;
    *error = format("'%s': expected a number of slots from 1 to %d", word.c_str(), kSlotsMax);
    return false;
  }
  if (name == "user") {
    host->user = value;
    if (is_host_name(value)) return true;
    *error = format("'%s': expected the name of a user", word.c_str());
    return false;
  }
  // What others' host files say besides, and what this mpiexec decides for itself.
  for (const char* known : {"max_slots", "max-slots", "binding", "ifhn", "cpus"}) {
    if (name == known) return true;
  }
  *error = format("'%s' is unknown: expected slots=N or user=NAME", word.c_str());
  return false;
}

}  // namespace

bool add_host_list(const std::string& list, std::vector<HostSlots>* hosts, std::string* error) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    HostSlots host;
    if (!read_host(list.substr(begin, end - begin), &host, error)) return false;
    add_slots(host, hosts);
    begin = end + 1;
  }
  if (hosts->size() <= kHostsMax) return true;
  *error = format("%zu hosts are more than %zu", hosts->size(), kHostsMax);
  return false;
}

bool add_host_file(const std::string& text, std::vector<HostSlots>* hosts, std::string* error) {
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    ++number;
    const std::string line = text.substr(begin, end - begin);
    const std::vector<std::string> words = words_of(line.substr(0, line.find('#')));
    begin = end + 1;
    if (words.empty()) continue;
    HostSlots host;
    bool good = read_host(words[0], &host, error);
    for (std::size_t i = 1; good && i < words.size(); ++i) good = read_attribute(words[i], &host, error);
    if (!good) {
      *error = format("line %d: %s", number, error->c_str());
      return false;
    }
    add_slots(host, hosts);
  }
  if (hosts->size() <= kHostsMax) return true;
  *error = format("%zu hosts are more than %zu", hosts->size(), kHostsMax);
  return false;
}

std::vector<int> plan_hosts(const std::vector<HostSlots>& hosts, int ranks, NodeOrder order) {
  std::int64_t slots = 0;
  for (const HostSlots& host : hosts) slots += host.slots;
  const std::int64_t rounds = ranks / slots;  // full ones
  std::int64_t rest = ranks % slots;
  std::vector<std::int64_t> room;  // ranks of each host
  for (const HostSlots& host : hosts) {
    const bool whole = order == NodeOrder::kCyclic && rest > 0;  // those in turn may take all of their slots
    const std::int64_t more = whole ? host.slots : std::min<std::int64_t>(host.slots, rest);
    room.push_back(rounds * host.slots + more);
    if (order == NodeOrder::kBlock) rest -= more;
  }
  std::vector<int> of_rank;
  for (std::size_t host = 0; of_rank.size() < static_cast<std::size_t>(ranks);
       host = (host + 1) % hosts.size()) {
    const std::int64_t take = order == NodeOrder::kBlock ? room[host] : std::min<std::int64_t>(1, room[host]);
    of_rank.insert(of_rank.end(), static_cast<std::size_t>(take), static_cast<int>(host));
    room[host] -= take;
  }
  return of_rank;
}

}  // namespace tasuki::launch
