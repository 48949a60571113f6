"""What a run left in its directory: snapshots (VTKHDF files) as data frames, and run.json."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re

import pandas

from spam_tools.refusal import Refusal


@dataclasses.dataclass
class State:
    """The particles at one time, a row for each: x, y, velocity_x, velocity_y, density, pressure, heat."""

    path: pathlib.Path
    step: int
    time: float
    width: float  # of space
    height: float
    mass: float  # of each particle
    particles: pandas.DataFrame


def snapshots_in(directory: pathlib.Path) -> list[pathlib.Path]:
    """Its snapshots by step. Refuses a directory that has none."""
    if not directory.is_dir():
        raise Refusal(
            f"{directory}: there is no such directory; expected the one that `spam run --output` made"
        )
    found = {}
    for path in directory.glob("snapshot-*.vtkhdf"):
        named = re.fullmatch(r"snapshot-(\d+)\.vtkhdf", path.name)
        if named:
            found[int(named[1])] = path
    if not found:
        raise Refusal(f"{directory}: holds no snapshots; expected files snapshot-STEP.vtkhdf of a run")
    return [found[step] for step in sorted(found)]


def read_state(path: pathlib.Path) -> State:
    """Refuses a file that is no snapshot, naming it."""
    import h5py

    try:
        with h5py.File(path) as file:
            grid = file["VTKHDF"]
            fields, data = grid["FieldData"], grid["PointData"]
            columns = {"id": data["id"][:]}
            for name, rows in (("", grid["Points"]), ("velocity_", data["velocity"])):
                columns |= {f"{name}x": rows[:, 0], f"{name}y": rows[:, 1]}
            columns |= {name: data[name][:] for name in ("density", "pressure", "heat")}
            width, height = fields["space"][:]
            step, time, mass = int(fields["step"][0]), float(fields["time"][0]), float(fields["mass"][0])
    except (OSError, KeyError, ValueError) as error:
        raise Refusal(f"{path}: is no snapshot of spam: {error}") from None
    return State(path, step, time, width, height, mass, pandas.DataFrame(columns).set_index("id"))


def read_run(directory: pathlib.Path) -> dict:
    """run.json, or nothing where a run left none: it did not come to its end."""
    path = directory / "run.json"
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Refusal(f"{path}: cannot be read: {error}") from None
