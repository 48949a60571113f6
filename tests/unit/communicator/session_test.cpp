// Sessions and communicators from groups alone: process sets, tags and groups that do not disturb each other,
// buffers, and what is refused.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "communicator/api.hpp"
#include "communicator/sessions.hpp"
#include "object/api.hpp"
#include "p2p/call/api.hpp"
#include "p2p/ranks.hpp"

namespace tasuki::test {
namespace {

Errhandler* returning(Process& process) {
  return predefined_object<Errhandler>(*process.objects, kMpiErrorsReturn);
}

Ref<Session> open_session(Process& process) {
  return Ref<Session>(new Session(process, ThreadLevel::kMultiple, returning(process)));
}

Ref<Group> group_of(Process& process, Session& session, const char* set) {
  Group* group = nullptr;
  EXPECT_EQ(api::group_from_session_pset(process, &session, set, &group), 0);
  return Ref<Group>(group);
}

Comm* create(Process& process, Group& group, const std::string& tag) {
  Comm* comm = nullptr;
  EXPECT_EQ(api::comm_create_from_group(process, &group, tag.c_str(), nullptr, returning(process), &comm), 0);
  return comm;
}

/// Each rank's number comes back from each rank.
void use(Rank& on, Comm& comm) {
  const int right = (comm.rank + 1) % comm.size();
  const int left = (comm.rank + comm.size() - 1) % comm.size();
  int token = -1;
  EXPECT_EQ(api::sendrecv(on.process, &comm.rank, 1, on.integer, right, 1, &token, 1, on.integer, left, 1,
                          &comm, nullptr),
            0);
  EXPECT_EQ(token, left);
}

TEST(Session, ProcessSets) {
  on_both_networks(3, [](Rank& on) {
    const Ref<Session> session = open_session(on.process);
    int count = 0;
    EXPECT_EQ(api::session_get_num_psets(on.process, session.get(), nullptr, &count), 0);
    for (int n = 0; n < count; ++n) {
      std::string name;
      EXPECT_EQ(api::session_get_nth_pset(on.process, session.get(), nullptr, n, &name), 0);
      const Ref<Group> group = group_of(on.process, *session, name.c_str());
      EXPECT_EQ(group->size(), name == "mpi://SELF" ? 1 : 3) << name;
      EXPECT_EQ(group->rank, name == "mpi://SELF" ? 0 : on.rank) << name;
      Info* info = nullptr;
      EXPECT_EQ(api::session_get_pset_info(on.process, session.get(), name.c_str(), &info), 0);
      EXPECT_EQ(*find_info(info, "mpi_size"), std::to_string(group->size()));
      release(info);
    }
    std::string name;
    Group* group = nullptr;
    EXPECT_EQ(error_class_bits(api::session_get_nth_pset(on.process, session.get(), nullptr, count, &name)),
              kErrArg);
    EXPECT_EQ(error_class_bits(api::group_from_session_pset(on.process, session.get(), "moon", &group)),
              kErrArg);
    EXPECT_EQ(group, nullptr);
  });
}

TEST(Session, TheSameTagAgainAndAgain) {
  on_both_networks(4, [](Rank& on) {
    const Ref<Session> session = open_session(on.process);
    const Ref<Group> world = group_of(on.process, *session, "mpi://WORLD");
    Comm* last = nullptr;
    for (int lap = 0; lap < 50; ++lap) {  // the first members run ahead: their messages are early
      Comm* comm = create(on.process, *world, "tag");
      EXPECT_EQ(comm->session.get(), session.get());
      if (last != nullptr) {
        EXPECT_NE(comm->context, last->context);
        use(on, *last);
        release(last);
      }
      last = comm;
    }
    release(last);
  });
}

TEST(Session, OverlappingGroupsAndTagsDoNotDisturbEachOther) {
  on_both_networks(4, [](Rank& on) {
    const Ref<Session> session = open_session(on.process);
    const Ref<Group> world = group_of(on.process, *session, "mpi://WORLD");
    // Every pair makes its own, in an order that differs from rank to rank but never crosses.
    for (int distance = 1; distance < 4; ++distance) {
      for (int first = 0; first + distance < 4; ++first) {
        if (on.rank != first && on.rank != first + distance) continue;
        const int ranks[] = {first + distance, first};
        Group* pair = nullptr;
        EXPECT_EQ(api::group_incl(on.process, world.get(), 2, ranks, &pair), 0);
        EXPECT_EQ(pair->session.get(), session.get()) << "a group derived from the session's";
        Comm* comm = create(on.process, *pair, "pair");
        EXPECT_EQ(comm->rank, on.rank == first ? 1 : 0);
        use(on, *comm);
        release(comm);
        release(pair);
      }
    }
    Comm* all = create(on.process, *world, "");
    use(on, *all);
    release(all);
  });
}

TEST(Session, ThreadsCreateAtOnce) {
  WorldOptions options;
  options.thread_level = ThreadLevel::kMultiple;
  run_ranks(
      3,
      [](Process& process) {
        Rank on(process);
        std::unique_lock lock(process.lock);
        const Ref<Session> session = open_session(process);
        const Ref<Group> world = group_of(process, *session, "mpi://WORLD");
        lock.unlock();
        std::vector<std::thread> workers;
        for (int worker = 0; worker < 4; ++worker) {
          workers.emplace_back([&, worker] {
            for (int lap = 0; lap < 10; ++lap) {
              const std::lock_guard inside(process.lock);
              Comm* comm = create(process, *world, "worker " + std::to_string(worker));
              use(on, *comm);
              release(comm);
            }
          });
        }
        for (std::thread& worker : workers) worker.join();
        lock.lock();
      },
      options);
}

TEST(Session, IntercommunicatorsFromGroups) {
  on_both_networks(4, [](Rank& on) {
    const Ref<Session> session = open_session(on.process);
    const Ref<Group> world = group_of(on.process, *session, "mpi://WORLD");
    const int odd[] = {3, 1};
    Group* odds = nullptr;
    Group* evens = nullptr;
    EXPECT_EQ(api::group_incl(on.process, world.get(), 2, odd, &odds), 0);
    EXPECT_EQ(api::group_excl(on.process, world.get(), 2, odd, &evens), 0);
    const bool is_odd = on.rank % 2 == 1;
    for (int lap = 0; lap < 10; ++lap) {
      Comm* inter = nullptr;
      // Only the leaders know the remote group.
      const bool leads = on.rank == 1 || on.rank == 0;
      Group* remote = leads ? (is_odd ? evens : odds) : nullptr;
      EXPECT_EQ(
          api::intercomm_create_from_groups(on.process, is_odd ? odds : evens, is_odd ? 1 : 0, remote,
                                            is_odd ? 0 : 1, "x", nullptr, returning(on.process), &inter),
          0);
      EXPECT_EQ(inter->remote_group->size(), 2);
      EXPECT_EQ(inter->remote_group->endpoints.front(), is_odd ? 0 : 3);
      Comm* merged = nullptr;
      EXPECT_EQ(api::intercomm_merge(on.process, inter, is_odd, &merged), 0);
      use(on, *merged);
      release(merged);
      release(inter);
    }
    // A leader's wrong argument reaches its whole group; here on both sides.
    Comm* inter = nullptr;
    const Code code =
        api::intercomm_create_from_groups(on.process, is_odd ? odds : evens, 0, is_odd ? evens : odds, 2, "y",
                                          nullptr, returning(on.process), &inter);
    const bool leads = on.rank == 3 || on.rank == 0;
    EXPECT_EQ(error_class_bits(code), leads ? kErrRank : kErrComm);
    EXPECT_EQ(inter, nullptr);
    release(odds);
    release(evens);
  });
}

TEST(Session, WhatIsRefused) {
  run_ranks(2, [](Process& process) {
    Rank on(process);
    const Ref<Session> session = open_session(process);
    const Ref<Group> world = group_of(process, *session, "mpi://WORLD");
    const int other = 1 - on.rank;
    Group* others = nullptr;
    Comm* comm = nullptr;
    EXPECT_EQ(api::group_incl(process, world.get(), 1, &other, &others), 0);
    const auto class_of = [&](Group* group, const std::string& tag, Errhandler* errhandler) {
      return error_class_bits(
          api::comm_create_from_group(process, group, tag.c_str(), nullptr, errhandler, &comm));
    };
    EXPECT_EQ(class_of(others, "tag", returning(process)), kErrGroup);
    Errhandler of_sessions;
    of_sessions.owner = Kind::kSession;
    EXPECT_EQ(class_of(world.get(), "tag", &of_sessions), kErrErrhandler);
    EXPECT_EQ(class_of(predefined_object<Group>(*process.objects, kMpiGroupEmpty), "tag", returning(process)),
              0);
    EXPECT_EQ(comm, nullptr);
    release(others);

    ThreadLevel level = ThreadLevel::kFunneled;
    const Ref<Info> info(new Info);
    EXPECT_EQ(requested_thread_level(process, info.get(), &level), 0);
    EXPECT_EQ(level, ThreadLevel::kFunneled);
    set_info(info.get(), "thread_level", "MPI_THREAD_MULTIPLE");
    EXPECT_EQ(requested_thread_level(process, info.get(), &level), 0);
    EXPECT_EQ(level, ThreadLevel::kMultiple);
    set_info(info.get(), "thread_level", "MULTIPLE");
    EXPECT_EQ(error_class_bits(requested_thread_level(process, info.get(), &level)), kErrInfoValue);
  });
}

TEST(Session, BufferOfItsCommunicators) {
  run_ranks(2, [](Process& process) {
    Rank on(process);
    const Ref<Session> session = open_session(process);
    const Ref<Group> world = group_of(process, *session, "mpi://WORLD");
    Comm* comm = create(process, *world, "buffers");
    const Bytes out = pattern(3000, 1);
    Bytes in(3000);
    Bytes room(20000);
    const auto bsend = [&] { return api::bsend(process, out.data(), 3000, on.byte, 1 - on.rank, 1, comm); };
    EXPECT_EQ(error_class_bits(bsend()), kErrBuffer) << "there is no buffer";
    EXPECT_EQ(api::buffer_attach(process, kBufferAutomatic, 0), 0);
    EXPECT_EQ(bsend(), 0) << "where neither communicator nor session has one the process's is used (MPI 3.6)";
    EXPECT_EQ(api::recv(process, in.data(), 3000, on.byte, 1 - on.rank, 1, comm, nullptr), 0);
    EXPECT_EQ(api::session_attach_buffer(process, session.get(), room.data(), 20000), 0);
    EXPECT_EQ(bsend(), 0);
    EXPECT_EQ(api::recv(process, in.data(), 3000, on.byte, 1 - on.rank, 1, comm, nullptr), 0);
    EXPECT_EQ(in, out);
    Request* flushing = nullptr;
    EXPECT_EQ(api::session_iflush_buffer(process, session.get(), &flushing), 0);
    EXPECT_EQ(on.wait(flushing), 0);
    EXPECT_EQ(bsend(), 0);
    EXPECT_EQ(api::recv(process, in.data(), 3000, on.byte, 1 - on.rank, 1, comm, nullptr), 0);
    EXPECT_EQ(finish_session(*session), 0) << "waits for the message in the buffer";
    EXPECT_EQ(session->slots.get(kBufferSlot), nullptr);
    release(comm);
  });
}

}  // namespace
}  // namespace tasuki::test
