"""Settings that force the protocols in turn: name -> environment, for the stress and the conformance tests.

The memory of malloc is global in all of them but one, also where mpiexec would not choose it by itself. What
is no setting of the library any more is an error (test_stress.py looks), so that none is forced in vain.
"""

GLOBAL = {"TASUKI_HEAP": "global"}

PROTOCOLS = {
    "default": GLOBAL,
    # Two copies, or the system's help: nothing of the others can be reached.
    "private heap": {"TASUKI_HEAP": "private"},
    # One message waits for its receive whatever its size; and one never does.
    "nothing eager": GLOBAL | {"TASUKI_EAGER_BYTES_MAX": 0},
    "all eager": GLOBAL | {"TASUKI_EAGER_BYTES_MAX": "1G"},
    # Rings that are always full.
    "small rings": GLOBAL | {"TASUKI_RING_BYTES": "4k"},
}
