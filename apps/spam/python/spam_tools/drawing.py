"""The figure of a state: for each quantity the strip of space in colours, and below it its mean along x.

Many particles are shown as means over small boxes, few as points. The strip is drawn higher than it is, as
the figure says. A film draws state after state into the same figure, on the same scales.
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
STRIP_INCHES_MIN, STRIP_INCHES_MAX, PROFILE_INCHES = 0.62, 3.5, 1.35
POINTS_MAX = 2000  # so many particles are drawn one by one
PARTICLES_IN_BOX, BOXES_MAX = 12, 400  # on the average, and along x at most
TEXT_COLOR, FIRST_COLOR, EMPTY_COLOR = "#59616b", "#9aa1a8", "#e9e9e6"


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


def limits_of(values: numpy.ndarray) -> tuple[float, float]:
    """The range of a colour scale: a few particles far from all others do not count."""
    low, high = (float(end) for end in numpy.percentile(values, [0.5, 99.5]))
    if high - low > 1e-9 * max(abs(low), abs(high)):
        return low, high
    return low - 0.5, high + 0.5


class Drawing:
    """One figure. `limits`: of each quantity, by its column. `first` is drawn in grey behind every state."""

    def __init__(self, quantities: list[Quantity], limits: dict[str, tuple[float, float]], first: State):
        self.first, self.width, self.height = first, first.width, first.height
        count = len(first.particles)
        self.points = count <= POINTS_MAX
        box = math.sqrt(self.width * self.height * PARTICLES_IN_BOX / count)
        self.boxes = (
            min(BOXES_MAX, max(1, round(self.width / box))),
            max(1, round(self.height / box)),
        )
        strip = PLOT_INCHES * self.height / self.width
        self.strip_inches = min(max(strip, STRIP_INCHES_MIN), STRIP_INCHES_MAX)
        self.stretch = self.strip_inches / strip
        self.panels = self.make_figure(quantities, limits)
        self.title = self.figure.suptitle("", x=0.01, ha="left", fontsize=11)

    def make_figure(self, quantities, limits) -> list[Panel]:
        heights = [self.strip_inches, PROFILE_INCHES] * len(quantities)
        size = (WIDTH_INCHES, sum(heights) + 0.22 * len(heights) + 0.8)
        self.figure = Figure(figsize=size, dpi=110, layout="constrained")
        FigureCanvasAgg(self.figure)
        axes = self.figure.subplots(
            len(heights), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights}
        )[:, 0]
        panels = [
            Panel(self, quantity, limits[quantity.column], *axes[2 * i : 2 * i + 2])
            for i, quantity in enumerate(quantities)
        ]
        stretched = f"; the strip's y is stretched {self.stretch:.0f} times" if self.stretch >= 1.5 else ""
        axes[-1].set_xlabel(f"x{stretched}", fontsize=9, color=TEXT_COLOR)
        axes[0].set_xlim(0, self.width)
        return panels

    def draw(self, state: State, title: str) -> None:
        for panel in self.panels:
            panel.draw(state)
        self.title.set_text(title)

    def save(self, path) -> None:
        self.figure.savefig(path)


class Panel:
    """A quantity: its strip, its colour bar, its profile."""

    def __init__(self, drawing: Drawing, quantity: Quantity, limits, strip, profile):
        self.drawing, self.quantity = drawing, quantity
        self.strip, self.profile = strip, profile
        scale = Normalize(*limits)
        if drawing.points:
            self.image = strip.scatter([], [], c=[], s=6, cmap=quantity.colors, norm=scale)
        else:
            self.image = strip.imshow(
                [[math.nan]],
                cmap=quantity.colors,
                norm=scale,
                origin="lower",
                aspect="auto",
                interpolation="nearest",
                extent=(0, drawing.width, 0, drawing.height),
            )
        strip.set_facecolor(EMPTY_COLOR)
        strip.set_ylim(0, drawing.height)
        strip.set_ylabel("y", fontsize=9, color=TEXT_COLOR)
        strip.set_title(quantity.name, fontsize=10, loc="left", pad=3)
        bar = drawing.figure.colorbar(self.image, ax=strip, extend="both", pad=0.01, aspect=7)
        bar.ax.tick_params(labelsize=8, labelcolor=TEXT_COLOR)
        self.prepare_profile(limits)

    def prepare_profile(self, limits) -> None:
        """The first state's line, and the one that draw() moves."""
        margin = 0.12 * (limits[1] - limits[0])
        self.profile.set_ylim(limits[0] - margin, limits[1] + margin)
        style = (
            {"linestyle": "none", "marker": ".", "markersize": 3}
            if self.drawing.points
            else {"linewidth": 1.2}
        )
        first = self.drawing.first
        self.profile.plot(*self.along_x(first), color=FIRST_COLOR, label=f"t = {first.time:.6g}", **style)
        (self.line,) = self.profile.plot([], [], color=self.quantity.line, **style)
        for side in ("top", "right"):
            self.profile.spines[side].set_visible(False)
        for axes in (self.strip, self.profile):
            axes.tick_params(labelsize=8, labelcolor=TEXT_COLOR, length=3)
        self.profile.grid(color="#ececea", linewidth=0.6)

    def draw(self, state: State) -> None:
        particles = state.particles
        if self.drawing.points:
            self.image.set_offsets(particles[["x", "y"]].to_numpy())
            self.image.set_array(particles[self.quantity.column].to_numpy())
        else:
            self.image.set_data(self.boxed(state).T)
        self.line.set_data(*self.along_x(state))
        self.line.set_label(f"t = {state.time:.6g}")
        self.profile.legend(fontsize=8, frameon=False, ncols=2, loc="best", borderpad=0.1)

    def boxed(self, state: State) -> numpy.ndarray:
        """The mean of the quantity in each box; nan where no particle is."""
        where = (state.particles.x, state.particles.y)
        how = {"bins": self.drawing.boxes, "range": ((0, state.width), (0, state.height))}
        counts, _, _ = numpy.histogram2d(*where, **how)
        sums, _, _ = numpy.histogram2d(*where, weights=state.particles[self.quantity.column], **how)
        with numpy.errstate(invalid="ignore"):
            return sums / counts

    def along_x(self, state: State) -> tuple[numpy.ndarray, numpy.ndarray]:
        x, values = state.particles.x.to_numpy(), state.particles[self.quantity.column].to_numpy()
        if self.drawing.points:
            return x, values
        how = {"bins": self.drawing.boxes[0], "range": (0, state.width)}
        counts, edges = numpy.histogram(x, **how)
        sums, _ = numpy.histogram(x, weights=values, **how)
        with numpy.errstate(invalid="ignore"):
            return (edges[1:] + edges[:-1]) / 2, sums / counts


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
