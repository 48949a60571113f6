"""Settings that force the protocols in turn: name -> environment, for the stress and the conformance tests.

What is no setting of the library any more is an error (test_stress.py looks), so that none is forced in vain.
"""

PROTOCOLS = {
    "default": {},
    # One message waits for its receive whatever its size; and one never does.
    "nothing eager": {"TASUKI_EAGER_BYTES_MAX": 0},
    "all eager": {"TASUKI_EAGER_BYTES_MAX": "1G"},
    # Rings that are always full.
    "small rings": {"TASUKI_RING_BYTES": "4k"},
}
