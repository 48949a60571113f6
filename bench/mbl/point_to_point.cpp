// The group point_to_point.
#include "buffers.hpp"
#include "suite.hpp"

namespace mbl {

namespace {

class PingPong : public Pattern {
 public:
  explicit PingPong(const Setting& setting)
      : setting_(setting), count_(static_cast<int>(setting.bytes)), out_(setting.bytes), in_(setting.bytes) {}
  void run(int rounds) override {
    const int peer = 1 - setting_.rank;
    for (int round = 0; round < rounds; ++round) {
      if (setting_.rank == 0) send(peer);
      require(MPI_Recv(in_.data(), count_, MPI_BYTE, peer, 0, setting_.comm, MPI_STATUS_IGNORE), "MPI_Recv");
      if (setting_.rank == 1) send(peer);
    }
  }
  std::string check() override {
    fill(out_.data(), setting_.bytes, static_cast<std::uint64_t>(setting_.rank));
    run(1);
    return compare(in_.data(), setting_.bytes, static_cast<std::uint64_t>(1 - setting_.rank));
  }

 private:
  void send(int peer) {
    require(MPI_Send(out_.data(), count_, MPI_BYTE, peer, 0, setting_.comm), "MPI_Send");
  }
  Setting setting_;
  int count_;
  Buffer out_, in_;
};

}  // namespace

void add_point_to_point(Catalogue& catalogue) {
  Benchmark pingpong;
  pingpong.group = "point_to_point";
  pingpong.name = "pingpong";
  pingpong.variant = "mode=send,memory=malloc,touched=no,layout=contiguous,receive=posted,cache=warm";
  pingpong.doc = "a message one way";
  pingpong.bytes = pingpong.quick_bytes = powers_of_two(0, 8 << 20);
  pingpong.ranks_min = pingpong.ranks_max = 2;
  pingpong.who = Who::kFirst;
  pingpong.divisor = 2;
  pingpong.make = [](const Setting& setting) { return std::make_unique<PingPong>(setting); };
  catalogue.push_back(pingpong);
}

}  // namespace mbl
