// Processes that come later: spawning, ports, names, joining (MPI 11.7 - 11.10), by bindgen/README.md's
// rules.
//
// Where the calls live: ports.cpp (open, close, accept, connect), names.cpp, join.cpp, spawn.cpp. What is
// significant only at the root is not looked at elsewhere; the root's error becomes all ranks' error.
#pragma once

#include <string>
#include <vector>

#include "base/types.hpp"
#include "object/comm.hpp"

namespace tasuki::api {

// --- 11.9: connecting to others ---
Code open_port(Process& process, Info* info, std::string* port_name);
Code close_port(Process& process, const char* port_name);
Code comm_accept(Process& process, const char* port_name, Info* info, int root, Comm* comm, Comm** newcomm);
Code comm_connect(Process& process, const char* port_name, Info* info, int root, Comm* comm, Comm** newcomm);
Code publish_name(Process& process, const char* service_name, Info* info, const char* port_name);
Code unpublish_name(Process& process, const char* service_name, Info* info, const char* port_name);
Code lookup_name(Process& process, const char* service_name, Info* info, std::string* port_name);

// --- 11.10.4: over a socket of the user's ---
Code comm_join(Process& process, int fd, Comm** intercomm);

// --- 11.8: spawning. The binding writes these entries by hand.
// `array_of_errcodes` gets a class for each process that was asked for. ---
Code comm_spawn(Process& process, const char* command, char** argv, int maxprocs, Info* info, int root,
                Comm* comm, Comm** intercomm, std::vector<int>* array_of_errcodes);
Code comm_spawn_multiple(Process& process, int count, char** array_of_commands, char*** array_of_argv,
                         const int* array_of_maxprocs, Info* const* array_of_info, int root, Comm* comm,
                         Comm** intercomm, std::vector<int>* array_of_errcodes);

}  // namespace tasuki::api
