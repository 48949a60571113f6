// The Process of the calls that need no MPI_Init: it belongs to no job, and only the program itself ends it.
#include <unistd.h>

#include <cstdio>

#include "coll/run/execution.hpp"
#include "environment/environment.hpp"
#include "io/file/file.hpp"
#include "job/starter.hpp"
#include "link/link.hpp"
#include "object/objects.hpp"
#include "p2p/point_to_point.hpp"
#include "progress/progress.hpp"
#include "tool/tool.hpp"

namespace tasuki {
namespace {

class NoJob final : public Directory {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  bool get(int, std::string_view, std::string*) const override { return false; }
  void enter_fence() override {}
  Fence look_at_fence(std::string*) override { return Fence::kOver; }

 protected:
  bool put_checked(std::string_view, std::string_view, std::string*) override { return true; }
};

class NoNode final : public Node {
 public:
  NoNode() : Node({0}, 0) {}
  int processors_available() const override { return 1; }
};

class NoLauncher final : public Launcher {
 public:
  NoLauncher() : Launcher(0, 1) {}
  void mark_initialized() override {}
  void mark_finalized() override {}
  [[noreturn]] void abort(int exit_code, const std::string& message) override {
    std::fflush(stdout);
    std::fprintf(stderr, "tasuki: %s\n", message.c_str());
    _exit((exit_code & 0xff) != 0 ? exit_code & 0xff : 1);
  }
};

class NoStarter final : public Starter {
 public:
  Directory& directory() override { return directory_; }
  Launcher& launcher() override { return launcher_; }
  Node& node() override { return node_; }
  std::unique_ptr<Link> make_link(const Config&) override { return nullptr; }

 private:
  NoJob directory_;
  NoLauncher launcher_;
  NoNode node_;
};

struct Outside {
  NoStarter starter;
  Process process{starter};
  Tool tool;
};

}  // namespace

Process* make_outside_process() {
  auto* outside = new Outside;
  outside->process.tool = &outside->tool;
  return &outside->process;
}

}  // namespace tasuki
