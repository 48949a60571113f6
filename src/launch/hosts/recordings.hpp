// Recordings: what ranks on this host record (--trace, --io-times), on its way to mpiexec: they write files
// of their own here, in a folder that only this user can enter, and the agent sends them when its ranks have
// ended. So hosts need no file system in common, and nothing travels while the program runs.
//
// One thread. The folder goes with this object; where the agent is killed, with its guard.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "launch/hosts/channel.hpp"
#include "launch/options/options.hpp"

namespace tasuki::launch {

class Recordings {
 public:
  Recordings() = default;
  ~Recordings();
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  /// Makes the folder, and names the files of `options` in it. Nothing where they record nothing. Returns
  /// false and one line in `error` when it cannot be made.
  bool begin(Options* options, std::string* error);
  /// Empty: there is none.
  const std::string& folder() const { return folder_; }

  /// Sends what the channel takes now. Returns whether all has been sent. REQUIRES: the ranks have ended.
  bool send_some(Channel& channel);

 private:
  void find_files();
  bool send_piece(Channel& channel);

  struct File {
    std::string path;
    std::string part;  // of the trace: the rank's name; empty: times of accesses to files
  };
  std::string folder_;
  bool found_ = false;
  std::vector<File> files_;  // still to be sent; the last one first
  std::ifstream open_;       // that one, once it is begun
};

}  // namespace tasuki::launch
