// Questions and answers: a line of text each. A question is a place in a file or a process whose stack is
// wanted; see source_lines/main.cpp.
#include "launch/doctor/source_lines.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <string_view>

#include "base/system/clock.hpp"
#include "base/system/memory_file.hpp"
#include "launch/base/format.hpp"
#include "launch/base/spawn_attributes.hpp"
#include "launch/program/rank_environment.hpp"

namespace tasuki::launch {
namespace {

constexpr std::size_t kAnswersBytesMax = 64 << 20;
constexpr const char* kSourceLinesProgram = "tasuki-source-lines";

const MappedFile* file_at(const std::vector<MappedFile>& files, std::uint64_t address) {
  const auto holds = [address](const MappedFile& file) {
    return file.begin <= address && address < file.end;
  };
  const auto found = std::find_if(files.begin(), files.end(), holds);
  return found != files.end() ? &*found : nullptr;
}

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // of npos too
}

/// The words of a line between tabs: number of the question, function, source file, line, module.
SourceLine read_answer(std::string_view text) {
  SourceLine answer;
  std::string_view words[4];
  for (std::string_view& word : words) {
    const std::size_t tab = std::min(text.find('\t'), text.size());
    word = text.substr(0, tab);
    text.remove_prefix(std::min(tab + 1, text.size()));
  }
  answer.function = words[0];
  answer.file = words[1];
  std::from_chars(words[2].data(), words[2].data() + words[2].size(), answer.line);
  answer.module = words[3];
  return answer;
}

/// A file that holds `text`, to be read from its start; -1: none to be had.
int make_file(const std::string& text) {
  const int fd = make_memory_file("tasuki-questions");
  if (fd < 0) return -1;
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(fd, text.data() + done, text.size() - done);
    if (written > 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      close(fd);
      return -1;
    }
  }
  lseek(fd, 0, SEEK_SET);
  return fd;
}

/// Starts it with nothing of our environment, which could have libdw ask servers or load libraries.
int start_program_at(const std::string& path, int questions, int answers) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, questions, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answers, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const SpawnAttributes attributes(SpawnAttributes::Group::kOwn);
  char* const arguments[] = {const_cast<char*>(path.c_str()), nullptr};
  char* const environment[] = {nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, path.c_str(), &actions, attributes.get(), arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : -1;
}

}  // namespace

std::string short_text(const SourceLine& line) {
  if (!line.file.empty() && line.line > 0) {
    return format("%s:%d", std::string(last_part(line.file)).c_str(), line.line);
  }
  const std::string module(last_part(line.module));
  return line.function.empty() || module.empty() ? module : line.function + "() in " + module;
}

SourceLookup::SourceLookup(EventLoop* loop, const std::string& program)
    : loop_(loop), program_(program.empty() ? installed_program(kSourceLinesProgram) : program) {}

SourceLookup::~SourceLookup() {
  end_program();
}

void SourceLookup::start(const std::vector<SourceQuery>& queries, int limit_ms) {
  end_program();
  said_.clear();
  deadline_ns_ = clock_ns() + static_cast<std::int64_t>(limit_ms) * 1'000'000;
  std::string questions;
  ask(queries, &questions);
  if (!questions.empty()) run_program(questions);
}

/// What many ranks ask is asked once.
void SourceLookup::ask(const std::vector<SourceQuery>& queries, std::string* questions) {
  wanted_.clear();
  std::map<std::string, int> numbers;
  const auto number_of = [&](const std::string& question) {
    const auto [entry, is_new] = numbers.emplace(question, static_cast<int>(numbers.size()));
    if (is_new) *questions += question;
    return entry->second;
  };
  for (const SourceQuery& query : queries) {
    Wanted& wanted = wanted_.emplace_back();
    std::vector<MappedFile> files;
    if (query.pid > 0) files = mapped_files(query.pid);
    for (const std::uint64_t address : query.addresses) {
      // A call that returns to an address was made by the instruction before it.
      const MappedFile* file = address != 0 ? file_at(files, address - 1) : nullptr;
      if (file == nullptr && address != 0) file = file_at(query.files, address - 1);
      const std::string_view path = file != nullptr ? file->path : "";
      wanted.modules.emplace_back(path);
      const bool askable = file != nullptr && path.find('\n') == std::string_view::npos;
      wanted.lines.push_back(
          askable
              ? number_of(format("at %llx %llu %s\n",
                                 static_cast<unsigned long long>(address - 1 - file->begin + file->offset),
                                 static_cast<unsigned long long>(file->inode), file->path))
              : -1);
    }
    if (query.wants_stack && query.pid > 0) wanted.stack = number_of(format("stack %d\n", query.pid));
  }
}

void SourceLookup::run_program(const std::string& questions) {
  const int file = program_.empty() ? -1 : make_file(questions);
  if (file < 0) return;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) == 0) {
    pid_ = start_program_at(program_, file, ends[1]);
    close(ends[1]);
    fd_ = ends[0];
    fcntl(fd_, F_SETFL, O_NONBLOCK);
    if (pid_ < 0) {
      end_program();
    } else if (loop_ != nullptr) {
      loop_->add_readable(fd_, this);
    }
  }
  close(file);
}

void SourceLookup::ready() {
  char bytes[64 * 1024];
  for (;;) {
    const ssize_t count = ::read(fd_, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count > 0 && said_.size() < kAnswersBytesMax) {
      said_.append(bytes, static_cast<std::size_t>(count));
      continue;
    }
    return end_program();
  }
}

bool SourceLookup::done() {
  if (fd_ >= 0 && clock_ns() >= deadline_ns_) end_program();
  return fd_ < 0;
}

/// It has nothing that could be left behind: a rank whose stack it reads goes on when it dies.
void SourceLookup::end_program() {
  if (fd_ >= 0) {
    if (loop_ != nullptr) loop_->remove(fd_);
    close(fd_);
    fd_ = -1;
  }
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }
}

std::vector<SourceAnswer> SourceLookup::answers() const {
  std::map<int, std::vector<SourceLine>> said;
  const std::size_t whole = said_.rfind('\n') + 1;  // the last line may be cut
  for (std::size_t begin = 0; begin < whole;) {
    const std::size_t end = said_.find('\n', begin);
    const std::string_view text(said_.data() + begin, end - begin);
    int number = -1;
    const char* const stop = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
    const auto digits = static_cast<std::size_t>(stop - text.data());
    if (digits < text.size() && text[digits] == '\t') {
      said[number].push_back(read_answer(text.substr(digits + 1)));
    }
    begin = end + 1;
  }
  std::vector<SourceAnswer> answers;
  for (const Wanted& wanted : wanted_) {
    SourceAnswer& answer = answers.emplace_back();
    for (std::size_t index = 0; index < wanted.lines.size(); ++index) {
      const auto found = said.find(wanted.lines[index]);
      answer.lines.push_back(found != said.end() ? found->second.front() : SourceLine{});
      answer.lines.back().module = wanted.modules[index];
    }
    if (const auto found = said.find(wanted.stack); found != said.end()) answer.stack = found->second;
  }
  return answers;
}

std::vector<SourceAnswer> find_source_lines(const std::vector<SourceQuery>& queries, int limit_ms,
                                            const std::string& program) {
  SourceLookup lookup(nullptr, program);
  lookup.start(queries, limit_ms);
  while (!lookup.done()) {
    pollfd entry{lookup.fd_, POLLIN, 0};
    poll(&entry, 1,
         static_cast<int>(std::max<std::int64_t>(1, (lookup.deadline_ns_ - clock_ns()) / 1'000'000)));
    lookup.ready();
  }
  return lookup.answers();
}

}  // namespace tasuki::launch
