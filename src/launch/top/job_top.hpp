// JobTop: mpiexec --top for our own job: the table below what the ranks write on the terminal. Of a job that
// runs already see visit/top_visit.cpp. Nothing where no user wants it. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launch/stream/console.hpp"
#include "launch/top/top.hpp"
#include "launch/world/worlds.hpp"

namespace tasuki::launch {

class JobTop {
 public:
  JobTop(const Worlds& worlds, Console& console) : worlds_(worlds), console_(console) {}

  /// Shows the job of `program`, which begins now, from now on.
  void begin(const std::string& program);

  /// When to call show() next; 0: never.
  std::int64_t due_ns() const { return top_ ? top_->due_ns() : 0; }
  /// Looks at the ranks, and shows them, if it is time.
  void show(std::int64_t now_ns);

  /// Takes the table away; show() brings it back.
  void hide();
  /// The same for good.
  void end();

 private:
  const Worlds& worlds_;
  Console& console_;
  std::optional<Top> top_;
};

}  // namespace tasuki::launch
