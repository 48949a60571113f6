"""The figure of a state: for each quantity the strip of space in colours, and below it its mean along x.

Few particles are shown as points; of many, a place in the strip has the mean of the nearest ones. The strip
is drawn higher than it is, as the figure says. A film draws state after state into the same figure, on the
same scales.
"""

from __future__ import annotations

import dataclasses
import math

import numpy
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from spam_tools.states import State

WIDTH_INCHES = 10.0
PLOT_INCHES = 8.2  # of the width: about what the x axis has
STRIP_INCHES_MIN, STRIP_INCHES_MAX, PROFILE_INCHES = 0.62, 2.4, 1.35
POINTS_MAX = 2000  # so many particles are drawn one by one
PLACES_ALONG_X = 600  # in the strip
NEAREST, DISTANCE_MAX = (
    6,
    5.0,
)  # particles that a place shows; the distance counts in mean distances of particles
PARTICLES_IN_PIECE, PIECES_MAX = 16, 400  # of the profile
TEXT_COLOR, FIRST_COLOR, EMPTY_COLOR = "#59616b", "#bcc2c7", "#e9e9e6"


@dataclasses.dataclass(frozen=True)
class Quantity:
    column: str
    name: str
    colors: str
    line: str  # the colour of its profile


QUANTITIES = (
    Quantity("density", "density", "viridis", "#2a788e"),
    Quantity("velocity_x", "velocity in x", "plasma", "#8f0da4"),
    Quantity("pressure", "pressure", "magma", "#b6377a"),
    Quantity("heat", "heat per particle", "inferno", "#c73e4c"),
)


def quantities_of(states: list[State]) -> list[Quantity]:
    """Heat is shown where there is any."""
    hot = any((state.particles.heat > 0).any() for state in states)
    return [quantity for quantity in QUANTITIES if quantity.column != "heat" or hot]


def widened(low: float, high: float, share: float = 0.0) -> tuple[float, float]:
    """A scale with some room at its ends, and with some inside where all values are the same."""
    size = max(abs(low), abs(high))
    margin = share * (high - low) if high - low > 1e-9 * size else 0.05 * size or 0.5
    return low - margin, high + margin


class Drawing:
    """One figure. `first` is drawn in grey behind every state. A caller that draws several states makes
    room for all of them first, so that the scales stay as they are."""

    def __init__(self, quantities: list[Quantity], first: State):
        self.first, self.width, self.height = first, first.width, first.height
        count = len(first.particles)
        self.points = count <= POINTS_MAX
        self.point_size = 3 if count > 100 else 7
        self.pieces = min(PIECES_MAX, max(1, count // PARTICLES_IN_PIECE))
        self.spacing = math.sqrt(self.width * self.height / count)
        strip = PLOT_INCHES * self.height / self.width
        self.strip_inches = min(max(strip, STRIP_INCHES_MIN), STRIP_INCHES_MAX)
        self.stretch = self.strip_inches / strip
        shape = (PLACES_ALONG_X, max(1, round(PLACES_ALONG_X * self.strip_inches / PLOT_INCHES)))
        x, y = (
            (numpy.arange(number) + 0.5) * size / number
            for number, size in zip(shape, (self.width, self.height), strict=True)
        )
        self.places = numpy.stack(numpy.meshgrid(x, y), axis=-1)
        self.panels = self.make_figure(quantities)
        self.title = self.figure.suptitle("", x=0.01, ha="left", fontsize=11)

    def make_figure(self, quantities) -> list[Panel]:
        heights = [self.strip_inches, PROFILE_INCHES] * len(quantities)
        size = (WIDTH_INCHES, sum(heights) + 0.22 * len(heights) + 0.8)
        self.figure = Figure(figsize=size, dpi=110, layout="constrained")
        FigureCanvasAgg(self.figure)
        axes = self.figure.subplots(
            len(heights), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights}
        )[:, 0]
        panels = [Panel(self, quantity, *axes[2 * i : 2 * i + 2]) for i, quantity in enumerate(quantities)]
        stretched = f"; the strip's y is stretched {self.stretch:.0f} times" if self.stretch >= 1.5 else ""
        axes[-1].set_xlabel(f"x{stretched}", fontsize=9, color=TEXT_COLOR)
        axes[0].set_xlim(0, self.width)
        return panels

    def make_room(self, state: State) -> None:
        """Widens the scales, so that a state fits in."""
        for panel in self.panels:
            panel.make_room(state)

    def draw(self, state: State, title: str) -> None:
        near = None if self.points else self.particles_near(state)
        for panel in self.panels:
            panel.draw(state, near)
        self.title.set_text(title)

    def fix_layout(self) -> None:
        """Everything stays where it is for what is drawn now: a film neither trembles nor takes long."""
        self.figure.draw_without_rendering()
        self.figure.set_layout_engine("none")

    def particles_near(self, state: State) -> tuple[numpy.ndarray, numpy.ndarray]:
        """By place: the numbers of the particles next to it, and whether one is near at all."""
        from scipy.spatial import KDTree

        distances, numbers = KDTree(state.particles[["x", "y"]]).query(self.places, k=NEAREST)
        return numbers, distances[..., 0] < DISTANCE_MAX * self.spacing

    def save(self, path) -> None:
        self.figure.savefig(path)


class Panel:
    """A quantity: its strip, its colour bar, its profile."""

    def __init__(self, drawing: Drawing, quantity: Quantity, strip, profile):
        self.drawing, self.quantity = drawing, quantity
        self.strip, self.profile = strip, profile
        self.scale = Normalize(0, 1)
        self.ends, self.mean_ends = [math.inf, -math.inf], [math.inf, -math.inf]
        if drawing.points:
            self.image = strip.scatter(
                [], [], c=[], s=drawing.point_size**2, cmap=quantity.colors, norm=self.scale
            )
        else:
            self.image = strip.imshow(
                [[math.nan]],
                cmap=quantity.colors,
                norm=self.scale,
                origin="lower",
                aspect="auto",
                interpolation="nearest",
                extent=(0, drawing.width, 0, drawing.height),
            )
        strip.set_facecolor(EMPTY_COLOR)
        strip.set_ylim(0, drawing.height)
        strip.set_ylabel("y", fontsize=9, color=TEXT_COLOR)
        strip.set_title(quantity.name, fontsize=10, loc="left", pad=3)
        bar = drawing.figure.colorbar(
            self.image, ax=strip, extend="both", pad=0.01, aspect=drawing.strip_inches / 0.09
        )
        bar.ax.tick_params(labelsize=8, labelcolor=TEXT_COLOR)
        self.prepare_profile()

    def prepare_profile(self) -> None:
        """The first state's line, and the one that draw() moves."""
        points = {"linestyle": "none", "marker": ".", "markersize": self.drawing.point_size}
        first = self.drawing.first
        self.profile.plot(
            *self.along_x(first),
            color=FIRST_COLOR,
            label=f"t = {first.time:.6g}",
            **(points if self.drawing.points else {"linewidth": 2.4}),
        )
        (self.line,) = self.profile.plot(
            [], [], color=self.quantity.line, **(points if self.drawing.points else {"linewidth": 1.2})
        )
        self.make_room(first)
        for side in ("top", "right"):
            self.profile.spines[side].set_visible(False)
        for axes in (self.strip, self.profile):
            axes.tick_params(labelsize=8, labelcolor=TEXT_COLOR, length=3)
        self.profile.grid(color="#ececea", linewidth=0.6)

    def make_room(self, state: State) -> None:
        """A few particles far from all others do not count for the colours."""
        values = state.particles[self.quantity.column]
        for ends, found in (
            (self.ends, numpy.percentile(values, [0.5, 99.5])),
            (self.mean_ends, self.along_x(state)[1]),
        ):
            ends[:] = min(ends[0], numpy.min(found)), max(ends[1], numpy.max(found))
        self.scale.vmin, self.scale.vmax = widened(*self.ends)
        self.profile.set_ylim(*widened(*self.mean_ends, share=0.08))

    def draw(self, state: State, near: tuple[numpy.ndarray, numpy.ndarray] | None) -> None:
        """`near`: of each place, as particles_near() says; without it particles are drawn one by one."""
        values = state.particles[self.quantity.column].to_numpy()
        if near:
            numbers, is_near = near
            self.image.set_data(numpy.where(is_near, values[numbers].mean(axis=-1), math.nan))
        else:
            self.image.set_offsets(state.particles[["x", "y"]].to_numpy())
            self.image.set_array(values)
        self.line.set_data(*self.along_x(state))
        self.line.set_label(f"t = {state.time:.6g}")
        self.profile.legend(fontsize=8, frameon=False, ncols=2, loc="best", borderpad=0.1)

    def along_x(self, state: State) -> tuple[numpy.ndarray, numpy.ndarray]:
        x, values = state.particles.x.to_numpy(), state.particles[self.quantity.column].to_numpy()
        if self.drawing.points:
            return x, values
        how = {"bins": self.drawing.pieces, "range": (0, state.width)}
        counts, edges = numpy.histogram(x, **how)
        sums, _ = numpy.histogram(x, weights=values, **how)
        there = counts > 0
        return ((edges[1:] + edges[:-1]) / 2)[there], sums[there] / counts[there]


def title_of(state: State, run: dict) -> str:
    """What is seen, and by what it was computed, as far as run.json tells."""
    parts = [f"step {state.step:,}, t = {state.time:.6g}", f"{len(state.particles):,} particles"]
    if run:
        ranks, threads = run["ranks"], run["threads"]
        parts.append(
            f"{ranks} rank{'s' if ranks > 1 else ''} of {threads} thread{'s' if threads > 1 else ''}"
        )
        parts.insert(0, str(run["input"]).rsplit("/", 1)[-1])
    return ": ".join(parts[:2]) + "".join(f", {part}" for part in parts[2:]) if run else ", ".join(parts)
