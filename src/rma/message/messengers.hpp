// Messengers: the messengers of a process, which have work to do whenever it makes progress.
//
// Ownership: each Messenger belongs to its window and enters itself here.
#pragma once

#include <vector>

#include "base/process.hpp"
#include "progress/progress.hpp"

namespace tasuki::rma {

class Messenger;

struct Messengers final : ProgressHook {
  explicit Messengers(Process& owner) : process(owner) {}
  ~Messengers();
  void add(Messenger* messenger);
  void remove(Messenger* messenger);
  bool poll() override;

  Process& process;
  std::vector<Messenger*> messengers;  // the hook is set while there are any
};

}  // namespace tasuki::rma
