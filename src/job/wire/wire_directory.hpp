// WireDirectory: the Directory of a job that another launcher started. Values go over its wire; once all
// ranks turn out to share memory they go through that instead, which takes no messages and sees ranks that
// end.
//
// What a rank puts before a fence goes over the wire as one text; what was got once is kept.
//
// Ownership: the wire outlives it. Thread safety: as Directory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "job/directory.hpp"
#include "job/value_table.hpp"
#include "job/wire/value_text.hpp"
#include "job/wire/wire.hpp"

namespace tasuki::wire {

class WireDirectory final : public Directory {
 public:
  explicit WireDirectory(Wire& wire);

  int rank() const override { return wire_.place().rank; }
  int size() const override { return wire_.place().size; }
  int nodes() const override { return nodes_; }
  int node(int rank) const override { return node_of_rank_[static_cast<std::size_t>(rank)]; }
  std::uint64_t machine() const override { return machine_; }
  std::uint64_t job_id() const override { return job_id_; }
  int application_number() const override { return wire_.place().application; }
  int universe_size() const override;

  bool get(int rank, std::string_view key, std::string* value) const override;
  void enter_fence() override;
  Fence look_at_fence(std::string* error) override;

  /// The job's number, this machine's, and on which node each rank is.
  void set_places(std::uint64_t job_id, std::uint64_t machine, std::vector<int> node_of_rank);
  /// What is known of ranks that end; -1: none has.
  void set_ended(std::function<int()> first_ended) { first_ended_ = std::move(first_ended); }
  /// Called before the wire is asked for what a rank has put; ends the job where it answers no more.
  void set_before_asking(std::function<void(int rank)> look) { before_asking_ = std::move(look); }
  /// From now on everything goes through `table`. What was put before is not found there.
  void use(std::unique_ptr<ValueTable> table) { table_ = std::move(table); }

 protected:
  bool put_checked(std::string_view key, std::string_view value, std::string* error) override;

 private:
  bool fetch(int rank) const;
  bool fetch_text(int rank, int fence, std::string* text) const;

  Wire& wire_;
  std::uint64_t job_id_ = 0;
  std::uint64_t machine_ = 0;
  int nodes_ = 1;
  std::vector<int> node_of_rank_;
  std::function<int()> first_ended_ = [] { return -1; };
  std::function<void(int rank)> before_asking_ = [](int) {};
  std::unique_ptr<ValueTable> table_;
  Values pending_;  // put since the last fence
  int entered_ = 0;
  mutable int over_ = 0;
  std::string broken_;  // why a fence could not be entered
  /// What is known of each rank; what it put before its first `fetched` fences was got.
  struct Known {
    Values values;
    int fetched = 0;
  };
  mutable std::vector<Known> known_;
};

}  // namespace tasuki::wire
