// The Process of the calls that need no MPI_Init: it belongs to no job, and only the program itself ends it.
#include <unistd.h>

#include <cstdio>

#include "coll/run/execution.hpp"
#include "environment/environment.hpp"
#include "io/file/file.hpp"
#include "link/link.hpp"
#include "object/objects.hpp"
#include "p2p/point_to_point.hpp"
#include "progress/progress.hpp"
#include "tool/tool.hpp"

namespace tasuki {
namespace {

class NoBootstrap final : public Bootstrap {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int processors_available() const override { return 1; }
  std::unique_ptr<Transport> make_transport(const Config&) override { return nullptr; }
  void mark_initialized() override {}
  void mark_finalized() override {}
  [[noreturn]] void abort(int exit_code, const std::string& message) override {
    std::fflush(stdout);
    std::fprintf(stderr, "tasuki: %s\n", message.c_str());
    _exit((exit_code & 0xff) != 0 ? exit_code & 0xff : 1);
  }
};

struct Outside {
  NoBootstrap bootstrap;
  Process process{bootstrap};
  Tool tool;
};

}  // namespace

Process* make_outside_process() {
  auto* outside = new Outside;
  outside->process.tool = &outside->tool;
  return &outside->process;
}

}  // namespace tasuki
