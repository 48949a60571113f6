// mpiexec --info: what this library is, what a user can set, and what it counts and offers to tools. All of
// it comes from the tables in base/ that serve the library itself. Pure but for asking how many processors
// there are, and what the kernel and the networks offer.
#pragma once

#include <string>
#include <vector>

#include "launch/options/options.hpp"

namespace tasuki::launch {

/// Writes it for a terminal of 80 columns (with bold headings if `bold`), as JSON, or as the Markdown of
/// docs/variables.md, which names nothing of this machine. `environment` is what the settings are read from;
/// `command` is the program whose heap is described, or empty: of one that brings nothing with it. Returns
/// false and one line in `error` when a setting has a bad value.
bool info_text(InfoForm form, const char* const* environment, const std::vector<std::string>& command,
               bool bold, std::string* text, std::string* error);

}  // namespace tasuki::launch
