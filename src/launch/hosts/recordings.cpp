// A folder, and its files in pieces.
#include "launch/hosts/recordings.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "job/message_fields.hpp"
#include "launch/base/format.hpp"

namespace tasuki::launch {
namespace {

constexpr std::size_t kRecordingPieceBytes = 1 << 20;
constexpr std::size_t kQueuedBytesMax = 4 << 20;  // in the channel, before the next piece is read
constexpr const char* kTraceName = "trace";
constexpr const char* kIoTimesName = "iotimes";

}  // namespace

Recordings::~Recordings() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

bool Recordings::begin(Options* options, std::string* error) {
  if (!options->trace && !options->io_times) return true;
  const char* const parent = std::getenv("TMPDIR");
  std::string folder = std::string(parent != nullptr && *parent != '\0' ? parent : "/tmp") + "/tasuki-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    *error =
        format("cannot make the folder '%s', in which ranks record: %s", folder.c_str(), strerror(errno));
    return false;
  }
  folder_ = folder;
  options->trace_file = folder_ + "/" + kTraceName;
  options->io_times_file = folder_ + "/" + kIoTimesName;
  return true;
}

void Recordings::find_files() {
  found_ = true;
  std::error_code trouble;
  std::filesystem::recursive_directory_iterator entry(folder_, trouble);
  for (; !trouble && entry != std::filesystem::recursive_directory_iterator(); entry.increment(trouble)) {
    if (!entry->is_regular_file(trouble)) continue;
    const std::string name = entry->path().filename().string();
    const bool is_part = entry->path().parent_path().filename().string().starts_with(kTraceName);
    if (is_part || name == kIoTimesName) files_.push_back({entry->path().string(), is_part ? name : ""});
  }
}

bool Recordings::send_some(Channel& channel) {
  if (folder_.empty()) return true;
  if (!found_) find_files();
  while (!files_.empty() && channel.open() && channel.waiting_bytes() < kQueuedBytesMax) {
    if (!send_piece(channel)) files_.pop_back();
  }
  return files_.empty() || !channel.open();
}

/// Sends the next piece of the last file, lines whole where it is one of lines. Returns false at its end.
bool Recordings::send_piece(Channel& channel) {
  const File& file = files_.back();
  if (!open_.is_open()) open_.open(file.path, std::ios::binary);
  std::string bytes;
  if (file.part.empty()) {
    for (std::string line; bytes.size() < kRecordingPieceBytes && std::getline(open_, line);)
      bytes += line + "\n";
  } else {
    bytes.resize(kRecordingPieceBytes);
    open_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(open_.gcount()));
  }
  if (bytes.empty()) {
    open_.close();
    open_.clear();
    return false;
  }
  FieldWriter to;
  to.text(file.part);
  to.text(bytes);
  channel.send(Frame::kRecording, to.take());
  return true;
}

}  // namespace tasuki::launch
