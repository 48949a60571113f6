// Walking the words: options, programs, ':' and application files.
#include "launch/options/options.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "launch/base/format.hpp"
#include "launch/options/option_parser.hpp"

namespace tasuki::launch {

bool Parser::take(std::string* value) {
  if (has_attached) {
    *value = attached;
    has_attached = false;
    return true;
  }
  if (next >= words->size()) return fail(format("option %s needs %s", given.c_str(), wants));
  *value = (*words)[next++];
  return true;
}

bool Parser::fail(std::string text) {
  error = std::move(text);
  return false;
}

namespace {

/// Reads the option at parser.next.
bool parse_option(Parser& parser) {
  parser.given = (*parser.words)[parser.next++];
  std::string name = parser.given.substr(parser.given.find_first_not_of('-'));
  const std::size_t equals = name.find('=');
  parser.has_attached = equals != std::string::npos;
  if (parser.has_attached) {
    parser.attached = name.substr(equals + 1);
    name.resize(equals);
    parser.given.resize(parser.given.find('='));
  }
  const Option* option = find_option(name);
  if (option == nullptr) {
    const std::string near = nearest_option(name);
    const std::string advice = near.empty() ? "mpiexec --help lists all" : "did you mean --" + near + "?";
    return parser.fail("unknown option " + parser.given + "; " + advice);
  }
  parser.wants = option->arguments;
  if (option->apply == nullptr) return parser.fail("option " + parser.given + ": " + option->help);
  if (!option->apply(parser)) return false;
  if (parser.has_attached) return parser.fail("option " + parser.given + " takes no value");
  return true;
}

bool has_own_options(const Application& application) {
  return application.ranks != 1 || !application.directory.empty() || !application.path.empty() ||
         !application.environment.empty() || application.inherit_given;
}

/// At ':' and at the end of the command line. After an application file no program needs to follow.
bool end_application(Parser& parser) {
  const bool nothing = parser.application.command.empty() && !parser.wants_program;
  if (nothing && has_own_options(parser.application)) {
    return parser.fail(
        "options of a program beside an application file: write them into the file, before the program");
  }
  return nothing || finish_application(parser);
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && word.find_first_not_of('-') != std::string::npos;
}

}  // namespace

bool finish_application(Parser& parser) {
  if (parser.application.command.empty()) {
    return parser.fail("no program is given to start; mpiexec --help shows how");
  }
  if (parser.options->ranks() + parser.application.ranks > kRanksMax) {
    return parser.fail(format("too many ranks, at most %d", kRanksMax));
  }
  parser.options->applications.push_back(std::move(parser.application));
  parser.application = {};
  return true;
}

bool parse_words(Parser& parser, const std::vector<std::string>& words) {
  parser.words = &words;
  parser.next = 0;
  parser.wants_program = true;
  std::vector<std::string>& command = parser.application.command;
  while (parser.next < words.size()) {
    const std::string& word = words[parser.next];
    if (word == ":") {
      ++parser.next;
      if (!end_application(parser)) return false;
      parser.wants_program = true;
    } else if (!command.empty()) {
      command.push_back(word);
      ++parser.next;
    } else if (word == "--") {
      ++parser.next;
      if (parser.next < words.size()) command.push_back(words[parser.next++]);
    } else if (is_option(word)) {
      if (!parse_option(parser)) return false;
      if (!parser.options->needs_no_program()) continue;
      const std::size_t next = std::min(parser.next, words.size());
      parser.options->info_command.assign(words.begin() + static_cast<std::ptrdiff_t>(next), words.end());
      return true;
    } else {
      command.push_back(word);
      ++parser.next;
    }
  }
  return true;
}

bool read_application_file(Parser& parser, const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  if (file.is_open()) file.peek();  // a directory can be opened, but not read
  if (!file.is_open() || (file.fail() && !file.eof())) {
    return parser.fail(format("cannot read the application file '%s': %s", path.c_str(), strerror(errno)));
  }
  Parser inner;
  inner.options = parser.options;
  inner.in_file = true;
  const std::size_t before = parser.options->applications.size();
  std::string line;
  int number = 0;
  for (std::string part; std::getline(file, part);) {
    ++number;
    if (!part.empty() && part.back() == '\\') {
      part.back() = ' ';
      line += part;
      if (file.peek() != std::ifstream::traits_type::eof()) continue;
      part.clear();
    }
    std::vector<std::string> words;
    const bool closed = split_words(line + part, &words);
    line.clear();
    if (closed && words.empty()) continue;
    if (!closed) inner.error = "a quote is not closed";
    if (!closed || !parse_words(inner, words) || !finish_application(inner)) {
      return parser.fail(format("%s, line %d: %s", path.c_str(), number, inner.error.c_str()));
    }
  }
  if (parser.options->applications.size() == before) {
    return parser.fail(format("the application file '%s' names no program", path.c_str()));
  }
  parser.wants_program = false;
  return true;
}

namespace {

/// Whether the words ask to look at a job that runs. (Ranks of a program that is missing are a mistake.)
bool is_visit(const Parser& parser) {
  return parser.options->visits() && parser.wants_program && parser.application.command.empty() &&
         !has_own_options(parser.application);
}

/// What the options before one program mean for the others.
void settle_applications(Options* options) {
  std::vector<Application>& all = options->applications;
  for (Application& application : all) {
    if (application.inherit_given) continue;
    application.inherit = options->inherit;
    application.inherited = options->inherited;
  }
  const auto names_hosts = [](const Application& application) { return !application.hosts.empty(); };
  if (!all.empty() && std::none_of(all.begin() + 1, all.end(), names_hosts)) all.front().hosts.clear();
}

}  // namespace

bool parse_options(const std::vector<std::string>& words, Options* options, std::string* error) {
  Parser parser;
  parser.options = options;
  bool good = parse_words(parser, words);
  if (good && options->needs_no_program()) return true;
  if (good && is_visit(parser)) {
    good = !options->top || options->doctor == DoctorForm::kUnasked ||
           parser.fail("--doctor and --top without a program: expected one of them");
    *error = parser.error;
    return good;
  }
  good = good && end_application(parser) && take_all_slots(options, &parser.error);
  if (good && options->job_pid != 0) {
    good = parser.fail(
        format("--job %d: names a job that runs, for --doctor or --top without a program", options->job_pid));
  }
  if (good && options->stdin_rank >= options->ranks()) {
    good = parser.fail(
        format("--stdin %d: expected a rank below %d, or none", options->stdin_rank, options->ranks()));
  }
  settle_applications(options);
  *error = parser.error;
  return good;
}

bool split_words(const std::string& line, std::vector<std::string>* words) {
  std::string word;
  bool inside = false;  // a word, possibly an empty one, has begun
  char quote = '\0';
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char character = line[at];
    if (quote != '\0') {
      if (character == quote) {
        quote = '\0';
      } else if (character == '\\' && quote == '"' && at + 1 < line.size()) {
        word += line[++at];
      } else {
        word += character;
      }
    } else if (character == '\'' || character == '"') {
      quote = character;
      inside = true;
    } else if (character == '\\' && at + 1 < line.size()) {
      word += line[++at];
      inside = true;
    } else if (std::strchr(" \t\r", character) != nullptr) {
      if (inside) words->push_back(word);
      word.clear();
      inside = false;
    } else if (character == '#' && !inside) {
      break;
    } else {
      word += character;
      inside = true;
    }
  }
  if (inside) words->push_back(word);
  return quote == '\0';
}

int edit_distance(const std::string& one, const std::string& other) {
  std::vector<int> row(other.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 0; i < one.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i) + 1;
    for (std::size_t j = 0; j < other.size(); ++j) {
      const int replace = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replace, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace tasuki::launch
