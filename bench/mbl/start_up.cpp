// The group start_up: MPI_Init, MPI_Finalize, sessions, and making communicators and groups. What is made is
// freed within the time. No data of the user's move; check() makes everything once and looks whether it has
// the right size. (The time of a whole job, from mpiexec's start to its end, is measured from outside.)
#include <string>

#include "clock.hpp"
#include "suite.hpp"

namespace mbl {

namespace {

constexpr int kTag = 2;

/// Makes something of the setting's ranks and frees it again. Returns what is wrong with it, or nothing.
using Make = std::string (*)(const Setting& setting);

class Making : public Pattern {
 public:
  Making(const Setting& setting, Make make) : setting_(setting), make_(make) {}
  void run(int rounds) override {
    for (int round = 0; round < rounds && wrong_.empty(); ++round) wrong_ = make_(setting_);
  }
  std::string check() override {
    if (wrong_.empty()) wrong_ = make_(setting_);
    return wrong_.empty() ? kNotChecked : wrong_;
  }

 private:
  Setting setting_;
  Make make_;
  std::string wrong_;
};

std::string expect_size(MPI_Comm* comm, int expected) {
  int size = -1;
  require(MPI_Comm_size(*comm, &size), "MPI_Comm_size");
  require(MPI_Comm_free(comm), "MPI_Comm_free");
  if (size == expected) return {};
  return "the new communicator has " + std::to_string(size) + " ranks, expected " + std::to_string(expected);
}

std::string dup(const Setting& setting) {
  MPI_Comm made = MPI_COMM_NULL;
  require(MPI_Comm_dup(setting.comm, &made), "MPI_Comm_dup");
  return expect_size(&made, setting.size);
}

std::string idup(const Setting& setting) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  require(MPI_Comm_idup(setting.comm, &made, &request), "MPI_Comm_idup");
  require(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  return expect_size(&made, setting.size);
}

/// Into even and odd ranks.
std::string split(const Setting& setting) {
  MPI_Comm made = MPI_COMM_NULL;
  require(MPI_Comm_split(setting.comm, setting.rank % 2, setting.rank, &made), "MPI_Comm_split");
  return expect_size(&made, (setting.size + 1 - setting.rank % 2) / 2);
}

std::string split_type(const Setting& setting) {
  MPI_Comm made = MPI_COMM_NULL;
  require(MPI_Comm_split_type(setting.comm, MPI_COMM_TYPE_SHARED, setting.rank, MPI_INFO_NULL, &made),
          "MPI_Comm_split_type");
  require(MPI_Comm_free(&made), "MPI_Comm_free");  // how many share a machine is not known
  return {};
}

std::string create_group(const Setting& setting) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  require(MPI_Comm_group(setting.comm, &group), "MPI_Comm_group");
  require(MPI_Comm_create_group(setting.comm, group, kTag, &made), "MPI_Comm_create_group");
  require(MPI_Group_free(&group), "MPI_Group_free");
  return expect_size(&made, setting.size);
}

std::string create(const Setting& setting) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  require(MPI_Comm_group(setting.comm, &group), "MPI_Comm_group");
  require(MPI_Comm_create(setting.comm, group, &made), "MPI_Comm_create");
  require(MPI_Group_free(&group), "MPI_Group_free");
  return expect_size(&made, setting.size);
}

/// Local: the group of a communicator, and that of its first half.
std::string group(const Setting& setting) {
  MPI_Group whole = MPI_GROUP_NULL, half = MPI_GROUP_NULL;
  int range[1][3] = {{0, (setting.size - 1) / 2, 1}}, size = -1;
  require(MPI_Comm_group(setting.comm, &whole), "MPI_Comm_group");
  require(MPI_Group_range_incl(whole, 1, range, &half), "MPI_Group_range_incl");
  require(MPI_Group_size(half, &size), "MPI_Group_size");
  require(MPI_Group_free(&half), "MPI_Group_free");
  require(MPI_Group_free(&whole), "MPI_Group_free");
  return size == (setting.size + 1) / 2 ? "" : "the group has " + std::to_string(size) + " ranks";
}

/// Two halves are split off, an intercommunicator is made of them and merged again.
std::string intercomm(const Setting& setting) {
  const int half = setting.size / 2, upper = setting.rank >= half;
  MPI_Comm local = MPI_COMM_NULL, inter = MPI_COMM_NULL, merged = MPI_COMM_NULL;
  require(MPI_Comm_split(setting.comm, upper, setting.rank, &local), "MPI_Comm_split");
  require(MPI_Intercomm_create(local, 0, setting.comm, upper != 0 ? 0 : half, kTag, &inter),
          "MPI_Intercomm_create");
  require(MPI_Intercomm_merge(inter, upper, &merged), "MPI_Intercomm_merge");
  require(MPI_Comm_free(&inter), "MPI_Comm_free");
  require(MPI_Comm_free(&local), "MPI_Comm_free");
  return expect_size(&merged, setting.size);
}

std::string cartesian(const Setting& setting) {
  int dims[2] = {0, 0};
  const int periods[2] = {1, 1};
  MPI_Comm made = MPI_COMM_NULL;
  require(MPI_Dims_create(setting.size, 2, dims), "MPI_Dims_create");
  require(MPI_Cart_create(setting.comm, 2, dims, periods, 0, &made), "MPI_Cart_create");
  return expect_size(&made, setting.size);
}

/// A second session beside that of MPI_Init.
std::string session([[maybe_unused]] const Setting& setting) {
  MPI_Session made = MPI_SESSION_NULL;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &made) != MPI_SUCCESS) {
    return std::string(kUnsupported) + "MPI_Session_init beside MPI_Init";
  }
  require(MPI_Session_finalize(&made), "MPI_Session_finalize");
  return {};
}

struct Item {
  const char* name;
  const char* doc;
  Make make;
  int ranks_min;
};

const Item kItems[] = {
    {"session", "MPI_Session_init and MPI_Session_finalize, beside MPI_Init", session, 1},
    {"comm_dup", "MPI_Comm_dup and MPI_Comm_free", dup, 1},
    {"comm_idup", "MPI_Comm_idup, MPI_Wait and MPI_Comm_free", idup, 1},
    {"comm_split", "MPI_Comm_split into even and odd ranks, and MPI_Comm_free", split, 1},
    {"comm_split_type", "MPI_Comm_split_type by shared memory, and MPI_Comm_free", split_type, 1},
    {"comm_create", "MPI_Comm_create of all ranks' group, and freeing both", create, 1},
    {"comm_create_group", "MPI_Comm_create_group of all ranks' group, and freeing both", create_group, 1},
    {"group", "MPI_Comm_group, MPI_Group_range_incl of its half, and freeing both (local)", group, 1},
    {"intercomm", "MPI_Comm_split in halves, MPI_Intercomm_create and _merge, and freeing all", intercomm, 2},
    {"cart_create", "MPI_Dims_create and MPI_Cart_create in two dimensions, and MPI_Comm_free", cartesian, 1},
};

}  // namespace

void add_start_up(Catalogue& catalogue, double init_seconds) {
  Benchmark base;
  base.group = "start_up";
  base.bytes = base.quick_bytes = {0};
  Benchmark init = base;
  init.name = "init";
  init.doc = "MPI_Init, once in each process: the ranks are the samples";
  init.once = [init_seconds] { return init_seconds; };
  catalogue.push_back(init);
  Benchmark finalize = base;
  finalize.name = "finalize";
  finalize.doc = "MPI_Finalize, once, at the program's end: rank 0's time";
  finalize.at_end = true;
  finalize.once = [] {
    const double begin = monotonic_seconds();
    require(MPI_Finalize(), "MPI_Finalize");
    return monotonic_seconds() - begin;
  };
  catalogue.push_back(finalize);
  for (const Item& item : kItems) {
    Benchmark made = base;
    made.name = item.name;
    made.doc = item.doc;
    made.ranks_min = item.ranks_min;
    made.make = [make = item.make](const Setting& setting) {
      return std::make_unique<Making>(setting, make);
    };
    catalogue.push_back(made);
  }
}

}  // namespace mbl
