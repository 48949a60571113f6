"""Heat flows through a copper plate: a 2-D heat equation, cut into strips of rows, one a rank.

Each step every rank sends its first and its last row to its neighbours (halo exchange, numpy buffers through
mpi4py), then moves its own rows on by one explicit time step. Rank 0 gathers the field, computes the same
serially, and compares: the arithmetic is the same, so the fields must be equal to the last bit or nearly so.

    mpiexec -n 4 python heat.py [--side 512] [--steps 2400] [--out build/demo]

Plain ranks and point-to-point messages, on any MPI that mpi4py finds. Exit status 1 when the result is wrong.
"""

import argparse
import pathlib
import sys
import time

import numpy as np
from mpi4py import MPI

PLATE_METRES = 1.0
DIFFUSIVITY = 1.11e-4  # of copper, m^2/s
AMBIENT = 20.0  # degrees Celsius: the start, and the rim for ever
TOLERANCE = 1e-10
# Discs held at a temperature: x, y, radius (shares of the plate's side), degrees Celsius.
DISCS = [
    (0.30, 0.62, 0.10, 95.0),
    (0.68, 0.70, 0.06, 70.0),
    (0.62, 0.30, 0.12, -5.0),
    (0.22, 0.22, 0.04, 80.0),
]


def rows_of(rank, size, side):
    """First row and one past the last of a rank's strip; strips differ by one row at most."""
    return rank * side // size, (rank + 1) * side // size


def starting_field(first, last, side):
    """Rows first-1 .. last of the plate (one halo row on each side), and the held cells with their values."""
    y, x = np.meshgrid(
        (np.arange(first - 1, last + 1) + 0.5) / side, (np.arange(side) + 0.5) / side, indexing="ij"
    )
    field = np.full(y.shape, AMBIENT)
    held = np.zeros(y.shape, dtype=bool)
    for centre_x, centre_y, radius, degrees in DISCS:
        inside = (x - centre_x) ** 2 + (y - centre_y) ** 2 < radius**2
        field[inside] = degrees
        held |= inside
    return field, held, field[held].copy()


def step(field, new, held, values, weight):
    """One explicit step of the rows between the halo rows, into `new`; the rim keeps its values."""
    middle = field[1:-1, 1:-1]
    np.subtract(field[:-2, 1:-1], middle, out=new[1:-1, 1:-1])
    new[1:-1, 1:-1] += field[2:, 1:-1] - middle
    new[1:-1, 1:-1] += field[1:-1, :-2] - middle
    new[1:-1, 1:-1] += field[1:-1, 2:] - middle
    new[1:-1, 1:-1] *= weight
    new[1:-1, 1:-1] += middle
    new[:, 0] = new[:, -1] = AMBIENT
    new[held] = values


def exchange_halos(comm, field):
    """The neighbours' rows into this rank's halo rows. At the plate's ends the halo row stays ambient."""
    above = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
    below = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
    requests = [
        comm.Irecv(field[0], above, tag=1),
        comm.Irecv(field[-1], below, tag=2),
        comm.Isend(field[1], above, tag=2),
        comm.Isend(field[-2], below, tag=1),
    ]
    MPI.Request.Waitall(requests)


def solve(comm, side, steps, weight, progress):
    """This rank's strip after `steps` steps. With MPI.COMM_SELF: the whole plate, serially."""
    first, last = rows_of(comm.rank, comm.size, side)
    field, held, values = starting_field(first, last, side)
    new = field.copy()
    for done in range(steps):
        exchange_halos(comm, field)
        step(field, new, held, values, weight)
        new[0], new[-1] = AMBIENT, AMBIENT
        field, new = new, field
        progress(done + 1)
    return field[1:-1].copy()


class Progress:
    """A bar with the time left on a terminal; else a line now and then (demo.py makes a bar of those)."""

    LINE_SECONDS = 0.5

    def __init__(self, title, total, silent):
        self.title, self.total, self.silent = title, total, silent
        self.begin = self.told = time.monotonic()
        self.bar = None
        if not silent and sys.stdout.isatty():
            self.open_bar()

    def open_bar(self):
        try:
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self.bar = Progress(
                TextColumn("{task.description:<10}"),
                BarColumn(40),
                TextColumn("{task.percentage:>3.0f} %"),
                TimeRemainingColumn(),
                TextColumn("left"),
                transient=True,
            )
            self.task = self.bar.add_task(self.title, total=self.total)
            self.bar.start()
        except ImportError:
            self.bar = None

    def __call__(self, done):
        if self.silent or (done % 25 and done < self.total):
            return
        if self.bar:
            self.bar.update(self.task, completed=done)
            return
        now = time.monotonic()
        if now - self.told >= self.LINE_SECONDS:
            self.told = now
            left = (now - self.begin) * (self.total - done) / done
            print(f"{self.title}: {100 * done // self.total} %, {left:.0f} s left", flush=True)

    def close(self):
        """Seconds since the beginning."""
        if self.bar:
            self.bar.stop()
        return time.monotonic() - self.begin


def draw(field, seconds, ranks, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.2, 6), constrained_layout=True)
    extent = (0, PLATE_METRES, 0, PLATE_METRES)
    image = axes.imshow(field, origin="lower", extent=extent, cmap="inferno", vmin=-5, vmax=95)
    levels = [5, 15, 25, 35, 50, 65, 80]
    lines = axes.contour(
        field, levels, origin="lower", extent=extent, colors="white", linewidths=0.7, alpha=0.7
    )
    axes.clabel(lines, fmt="%d", fontsize=7)
    for rank in range(1, ranks):
        axes.axhline(
            rows_of(rank, ranks, len(field))[0] / len(field), color="white", lw=0.6, ls=":", alpha=0.8
        )
    cells = f"{field.shape[0]} x {field.shape[1]} cells"
    parted = f", parted among {ranks} ranks at the dotted lines" if ranks > 1 else ""
    axes.set_title(f"Heat in a copper plate after {seconds:.0f} s\n{cells}{parted}", fontsize=11)
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")
    figure.colorbar(image, ax=axes, label="temperature (°C)")
    figure.savefig(path, dpi=150)


def report(field, serial, times, args, size, physical_seconds):
    """Rank 0: compares with the serial field, draws. Returns whether the result is right."""
    difference = float(np.abs(field - serial).max())
    right = difference <= TOLERANCE and bool(np.isfinite(field).all())
    halo_bytes = 2 * (size - 1) * args.side * 8 * args.steps
    print(f"{args.side} x {args.side} cells, {args.steps} steps: {physical_seconds:.1f} s in the plate")
    print(f"{size} ranks {times[0]:.2f} s, serial {times[1]:.2f} s; halos: {halo_bytes / 1e6:.0f} MB")
    verdict = "right" if right else f"WRONG, at most {TOLERANCE} allowed"
    print(f"largest difference from the serial result: {difference:.1e} degrees C ({verdict})")
    args.out.mkdir(parents=True, exist_ok=True)
    draw(field, physical_seconds, size, args.out / "heat.png")
    print(f"picture: {args.out / 'heat.png'}")
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=512, help="cells along each side of the plate")
    parser.add_argument("--steps", type=int, default=2400, help="time steps")
    parser.add_argument(
        "--out", type=pathlib.Path, default=pathlib.Path("build/demo"), help="folder of the picture"
    )
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    if args.side < comm.size or args.steps < 1:
        if comm.rank == 0:
            print(
                f"heat: --side {args.side} --steps {args.steps}, expected a row a rank and a step",
                file=sys.stderr,
            )
        return 1

    cell = PLATE_METRES / args.side
    weight = 0.24  # diffusivity * dt / cell^2; the explicit step is stable up to 0.25
    physical_seconds = args.steps * weight * cell**2 / DIFFUSIVITY

    progress = Progress(f"{comm.size} ranks", args.steps, silent=comm.rank != 0)
    comm.Barrier()
    strip = solve(comm, args.side, args.steps, weight, progress)
    comm.Barrier()
    parallel_seconds = progress.close()

    rows = [rows_of(rank, comm.size, args.side) for rank in range(comm.size)]
    counts = [(last - first) * args.side for first, last in rows]
    field = np.empty((args.side, args.side)) if comm.rank == 0 else None
    comm.Gatherv(strip, [field, counts] if comm.rank == 0 else None, root=0)

    right = None
    if comm.rank == 0:
        progress = Progress("serial", args.steps, silent=False)
        serial = solve(MPI.COMM_SELF, args.side, args.steps, weight, progress)
        times = (parallel_seconds, progress.close())
        right = report(field, serial, times, args, comm.size, physical_seconds)
    right = comm.bcast(right, root=0)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
