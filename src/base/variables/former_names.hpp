// Names of settings, counters, algorithms and parameters that users may still know: taken for one release
// beside the present ones; then their rows go.
//
// Pure data.
#pragma once

#include <cstring>
#include <string>

namespace tasuki {

struct FormerName {
  const char* former;
  const char* present;
};

inline constexpr FormerName kFormerNames[] = {
    {"TASUKI_PROTOCOL_SEND_REQUESTS", "TASUKI_PROTOCOL_ADVERTISED_RECEIVES"},
    {"TASUKI_PROTOCOL_WRITE_BYTES_MIN", "TASUKI_PROTOCOL_SENDER_WRITE_BYTES_MIN"},
    {"TASUKI_PROTOCOL_PULL", "TASUKI_PROTOCOL_GET"},
    {"TASUKI_PROTOCOL_PUSH", "TASUKI_PROTOCOL_PUT"},
    {"sent_write_messages", "sent_sender_write_messages"},
    {"sent_write_bytes", "sent_sender_write_bytes"},
    {"received_write_messages", "received_sender_write_messages"},
    {"received_write_bytes", "received_sender_write_bytes"},
    {"sent_pull_messages", "sent_get_messages"},
    {"sent_pull_bytes", "sent_get_bytes"},
    {"received_pull_messages", "received_get_messages"},
    {"received_pull_bytes", "received_get_bytes"},
    {"message_first_pull_messages", "message_first_get_messages"},
    {"message_first_pull_bytes", "message_first_get_bytes"},
    {"sent_push_messages", "sent_put_messages"},
    {"sent_push_bytes", "sent_put_bytes"},
    {"received_push_messages", "received_put_messages"},
    {"received_push_bytes", "received_put_bytes"},
    {"message_first_push_messages", "message_first_put_messages"},
    {"message_first_push_bytes", "message_first_put_bytes"},
};

/// What `name` is called now; `name` itself where that has not changed.
inline const char* present_name(const char* name) {
  for (const FormerName& row : kFormerNames) {
    if (std::strcmp(name, row.former) == 0) return row.present;
  }
  return name;
}

/// Algorithms of collectives: values of TASUKI_BCAST_ALGORITHM and its like, in a table's choices, and behind
/// the operation in the names of counters ("bcast_flags").
inline constexpr FormerName kFormerAlgorithms[] = {
    {"flags", "flag_based"},      {"shared", "single_copy"},     {"shared_split", "single_copy_split"},
    {"shared_copy", "kept_copy"}, {"two_level", "hierarchical"},
};

/// Parameters in tuning tables, by their paths, and the group that they are in.
inline constexpr FormerName kFormerParameters[] = {
    {"stage", "node_segment"},
    {"node_segment.shared_ns", "node_segment.expose_ns"},
    {"node_segment.pulled_bytes_per_ns", "node_segment.get_bytes_per_ns"},
};

/// The same for an algorithm.
inline std::string present_algorithm(const std::string& name) {
  for (const FormerName& row : kFormerAlgorithms) {
    if (name == row.former) return row.present;
  }
  return name;
}

}  // namespace tasuki
