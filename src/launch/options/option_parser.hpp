// The parser's state, shared by the table of options and the loop that walks the words.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launch/options/options.hpp"

namespace tasuki::launch {

struct Parser {
  Options* options = nullptr;
  Application application;    // the one being read
  bool in_file = false;       // inside an application file
  bool wants_program = true;  // at the beginning and after ':', until a program or an application file comes

  std::string mapped_by;  // the word of --map-by; empty: not given
  std::string ranked_by;  // the same of --rank-by

  const std::vector<std::string>* words = nullptr;
  std::size_t next = 0;    // the word to be read
  std::string given;       // the option as it was written, for messages
  const char* wants = "";  // what its argument is, in words
  std::string attached;    // VALUE of --option=VALUE
  bool has_attached = false;
  std::string error;

  /// The option's next argument. Returns false, with `error` set, when there is none.
  bool take(std::string* value);
  bool fail(std::string text);
};

/// The headings of the help, in its order. kAccepted is for other launchers' users, and not shown.
enum class Group { kProgram, kOutput, kPlacement, kHosts, kJob, kDoctor, kAccepted };

/// An option: all of its names without dashes, blank separated; the names of its arguments for the help;
/// `apply` takes the arguments from the parser and returns false with parser.error when they are bad; null:
/// the option is another launcher's and is refused, and `help` says why.
struct Option {
  Group group;
  const char* names;
  const char* arguments;  // empty: none
  const char* help;
  bool (*apply)(Parser& parser);
};

/// The option called `name` (no dashes), or null.
const Option* find_option(const std::string& name);

/// The option name that is most like `name`, or an empty string when none is.
std::string nearest_option(const std::string& name);

/// Reads an application file: each line one application, with options.
bool read_application_file(Parser& parser, const std::string& path);

/// Adds parser.application, which has its command, to the options, and begins a new one.
bool finish_application(Parser& parser);

/// Reads words up to the end of the vector; ':' ends an application.
bool parse_words(Parser& parser, const std::vector<std::string>& words);

}  // namespace tasuki::launch
