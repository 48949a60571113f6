// Where what a job's ranks record goes (--trace, --io-times).
#pragma once

#include <string>
#include <vector>

namespace tasuki::launch {

/// "heat.trace" for python3 heat.py, "solver.trace" for ./bin/solver, with the ending ".trace".
std::string name_after(const std::vector<std::string>& command, const std::string& ending);

/// As it is seen from everywhere, wherever a rank may go.
std::string absolute_path(const std::string& path);

}  // namespace tasuki::launch
