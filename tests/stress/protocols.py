"""Settings that force the protocols in turn: name -> environment, for the stress and the conformance tests.

The memory of malloc is global in all of them but one, also where mpiexec would not choose it by itself. What
is no setting of the library any more is an error (test_stress.py looks), so that none is forced in vain.
"""

GLOBAL = {"TASUKI_HEAP": "global"}

# What has to be among the ways of a few hundred messages, and what must not.
LARGE = {"sender_write", "get", "cooperative", "put"}
WAYS = {
    "private heap": ({"short", "eager", "two_copy"}, set()),
    "nothing eager": ({"short", "sender_write", "cooperative", "get"}, set()),
    "all eager": ({"short", "eager"}, {"get", "cooperative", "put", "two_copy"}),
    "all written": ({"short", "sender_write", "cooperative"}, set()),
    "all streamed": ({"short", "sender_write", "cooperative"}, set()),
    "got alone": ({"get"}, {"sender_write", "cooperative"}),
    "got together": ({"get", "cooperative"}, {"sender_write"}),
    "put": ({"put"}, {"sender_write", "get", "cooperative"}),
    "two copies": ({"two_copy"}, LARGE),
    "checked": ({"eager"}, {"short", "sender_write"}),
    "two nodes": ({"short", "eager"}, set()),  # two_copy: where more is under way than a rank may keep
}

PROTOCOLS = {
    "default": GLOBAL,
    # Two copies: nothing of the others can be reached.
    "private heap": {"TASUKI_HEAP": "private"},
    # One message waits for its receive whatever its size; and one never does.
    "nothing eager": GLOBAL | {"TASUKI_EAGER_BYTES_MAX": 0},
    "all eager": GLOBAL | {"TASUKI_EAGER_BYTES_MAX": "1G"},
    # Rings that are always full.
    "small rings": GLOBAL | {"TASUKI_RING_BYTES": "4k"},
    # All receives are advertised, and both ranks copy whatever can be cut.
    "all written": GLOBAL
    | {
        "TASUKI_EAGER_BYTES_MAX": 0,
        "TASUKI_PROTOCOL_SENDER_WRITE_BYTES_MIN": 1,
        "TASUKI_PROTOCOL_COOPERATIVE_BYTES_MIN": 1,
    },
    # The sender writes all of it, past its caches.
    "all streamed": GLOBAL
    | {
        "TASUKI_EAGER_BYTES_MAX": 0,
        "TASUKI_PROTOCOL_SENDER_WRITE_BYTES_MIN": 1,
        "TASUKI_PROTOCOL_STREAM_BYTES_MIN": 1,
    },
    # The receiver gets, alone or with the sender.
    "got alone": GLOBAL
    | {
        "TASUKI_EAGER_BYTES_MAX": 0,
        "TASUKI_PROTOCOL_ADVERTISED_RECEIVES": "off",
        "TASUKI_PROTOCOL_COOPERATIVE": "off",
    },
    "got together": GLOBAL
    | {
        "TASUKI_EAGER_BYTES_MAX": 0,
        "TASUKI_PROTOCOL_ADVERTISED_RECEIVES": "off",
        "TASUKI_PROTOCOL_COOPERATIVE_BYTES_MIN": 1,
    },
    # The sender puts into memory that the receiver names.
    "put": GLOBAL
    | {
        "TASUKI_EAGER_BYTES_MAX": 0,
        "TASUKI_PROTOCOL_ADVERTISED_RECEIVES": "off",
        "TASUKI_PROTOCOL_GET": "off",
    },
    # The pipeline, though the memory is global.
    "two copies": GLOBAL
    | {
        "TASUKI_PROTOCOL_ADVERTISED_RECEIVES": "off",
        "TASUKI_PROTOCOL_GET": "off",
        "TASUKI_PROTOCOL_PUT": "off",
    },
    # Nothing is shared but among ranks 0 and 1, or 0 alone; the others are on another node.
    "two nodes": GLOBAL | {"TASUKI_NODES": 2, "TASUKI_NETWORK_LATENCY_NS": 5000},
    # Every message is announced, and every buffer watched until its request is waited for.
    "checked": GLOBAL | {"TASUKI_CHECK": 3},
}
