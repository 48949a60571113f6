"""spam shock: a shock in front of a wall, beside the Rankine-Hugoniot relations.

Gas of the density D0 that moves at speed u against a mirror on the right comes to rest in a denser state D1,
behind a shock that runs away from the mirror at speed s. Mass, momentum and energy are kept if

    D1 s = D0 (s + u),    P1 - P0 = D0 (s + u) u,    e1 - e0 = (P0 + P1) / 2 (1 / D0 - 1 / D1)

(Rankine 1870, Hugoniot 1889). Here P = (beta / 60) D^2 / 2 and e = (beta / 60) D / 2 + heat: heat does not
push.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
from typing import Annotated

import typer

from spam_tools.refusal import Refusal

# Of the stretch between shock and wall: neither in the wave nor in the first, warmer layer at the wall.
BEHIND = (0.35, 0.85)
STRETCH_MIN = 0.08  # of space's width: before, there is no state behind that could be told from the wave
STATES_MIN = 3


@dataclasses.dataclass
class Behind:
    """The state behind a shock: mass density, heat for each mass; and the shock's speed from the wall."""

    density: float
    heat: float
    speed: float


@dataclasses.dataclass
class Seen:
    """A shock in one snapshot: its place in x, mass density and heat behind it."""

    time: float
    place: float
    density: float
    heat: float


@dataclasses.dataclass
class Shock:
    expected: Behind
    measured: Behind
    seen: list[Seen]

    def errors(self) -> dict[str, float]:
        """Relative."""
        return {
            name: getattr(self.measured, name) / getattr(self.expected, name) - 1
            for name in ("density", "speed", "heat")
        }


def expected_behind(stiffness: float, density: float, speed: float) -> Behind:
    """`stiffness` is beta / 60; `density` and `speed` are D0 and u of the gas that comes in."""
    import numpy

    # From the first two relations: B/2 (D1^2 - D0^2) (D1 - D0) = D0 D1 u^2.
    half = stiffness / 2
    cubic = [half, -half * density, -half * density**2 - density * speed**2, half * density**3]
    behind = max(root.real for root in numpy.roots(cubic) if abs(root.imag) < 1e-9)
    pressures = half * density**2 + half * behind**2
    energy = pressures / 2 * (1 / density - 1 / behind)
    return Behind(behind, energy - half * (behind - density), density * speed / (behind - density))


def profile(state, mass: float, bin_width: float):
    """(middle of each bin, mass density in it), from the wall to the left."""
    import numpy

    edges = numpy.arange(state.width, state.particles.x.min(), -bin_width)[::-1]
    counts, _ = numpy.histogram(state.particles.x, edges)
    return ((edges[1:] + edges[:-1]) / 2)[::-1], (counts * mass / (bin_width * state.height))[::-1]


def see(state, mass: float, threshold: float, bin_width: float) -> Seen | None:
    """The shock in a state; nothing where it is still too near to the wall."""
    middles, densities = profile(state, mass, bin_width)
    below = (densities < threshold).nonzero()[0]
    if len(below) == 0 or below[0] == 0:
        return None
    at = below[0]  # between this bin and the one before it the density falls below the threshold
    part = (densities[at - 1] - threshold) / (densities[at - 1] - densities[at])
    place = middles[at - 1] + part * (middles[at] - middles[at - 1])
    stretch = state.width - place
    if stretch < STRETCH_MIN * state.width:
        return None
    low, high = (place + part * stretch for part in BEHIND)
    behind = state.particles[state.particles.x.between(low, high)]
    area = (high - low) * state.height
    return Seen(state.time, float(place), mass * len(behind) / area, float(behind.heat.mean() / mass))


def rarefied_until(stiffness: float, density: float, speed: float, time: float) -> float:
    """How far from the left the gas is thinner, having been open there: it spreads at the speed of sound."""
    return (speed + math.sqrt(stiffness * density)) * time


def measure(states: list) -> Shock:
    """REQUIRES: the first state is that of gas that moves evenly against the mirror on the right."""
    import numpy

    first = states[0].particles
    inner = first[first.x.between(0.2 * states[0].width, 0.8 * states[0].width)]
    number_density = len(inner) / (0.6 * states[0].width * states[0].height)
    stiffness = float((2 * inner.pressure / inner.density**2).mean())
    mass = states[0].mass
    density, speed = number_density * mass, float(inner.velocity_x.mean())
    if speed <= 0:
        raise Refusal(f"{states[0].path}: this gas moves at {speed:.3g}, not at the wall on the right")
    expected = expected_behind(stiffness, density, speed)
    bin_width = 2 / math.sqrt(number_density)
    seen = []
    for state in states:
        found = see(state, mass, (density + expected.density) / 2, bin_width)
        if found and found.place > rarefied_until(stiffness, density, speed, state.time):
            seen.append(found)
    if len(seen) < STATES_MIN:
        raise Refusal(
            f"{states[0].path.parent}: a shock is seen in {len(seen)} of {len(states)} snapshots; expected "
            f"at least {STATES_MIN}: more steps, or a smaller output.snapshot_interval"
        )
    slope = numpy.polyfit([one.time for one in seen], [one.place for one in seen], 1)[0]
    late = seen[len(seen) // 2 :]
    measured = Behind(
        float(numpy.mean([one.density for one in late])),
        float(numpy.mean([one.heat for one in late])),
        float(-slope),
    )
    return Shock(expected, measured, seen)


def register(app: typer.Typer) -> None:
    @app.command()
    def shock(
        directory: Annotated[pathlib.Path, typer.Argument(help="what `spam run --output` made")],
    ) -> None:
        """Measure a shock in front of a wall, beside the Rankine-Hugoniot relations."""
        from rich.console import Console
        from rich.table import Table

        from spam_tools.states import read_state, snapshots_in

        found = measure([read_state(path) for path in snapshots_in(directory)])
        table = Table(title=f"{directory}: the shock in {len(found.seen)} snapshots")
        for heading in ("", "measured", "Rankine-Hugoniot", "difference"):
            table.add_column(heading, justify="left" if not heading else "right")
        named = {"density": "density behind", "speed": "speed from the wall", "heat": "heat for each mass"}
        for name, error in found.errors().items():
            expected, measured = getattr(found.expected, name), getattr(found.measured, name)
            table.add_row(named[name], f"{measured:.4f}", f"{expected:.4f}", f"{100 * error:+.2f} %")
        Console().print(table)
