// Messengers: the hook of all messengers.
#include "rma/message/messengers.hpp"

#include "rma/message/messenger.hpp"

namespace tasuki::rma {

Messengers::~Messengers() {
  if (!messengers.empty()) process.progress->remove(this);
}

void Messengers::add(Messenger* messenger) {
  if (messengers.empty()) process.progress->add(this);
  messengers.push_back(messenger);
}

void Messengers::remove(Messenger* messenger) {
  std::erase(messengers, messenger);
  if (messengers.empty()) process.progress->remove(this);
}

bool Messengers::poll() {
  bool moved = false;
  for (Messenger* messenger : messengers) moved |= messenger->poll();
  return moved;
}

}  // namespace tasuki::rma
