"""The options of `tasuki bench` and `tasuki compare`: types, names and help, for the commands' signatures."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

Quick = Annotated[bool, typer.Option("--quick", help="Fewer sizes and variants: 3 minutes with 2 ranks.")]
Ranks = Annotated[
    list[str] | None,
    typer.Option("-n", "--ranks", metavar="N[,N…]", help="How many ranks; 2 when not given. Repeatable."),
]
Only = Annotated[
    list[str] | None,
    typer.Option(metavar="GROUP[/NAME]", help="Only this: rma, point_to_point/pingpong. Repeatable."),
]
Budget = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Time for the samples of a case, all rounds together: 0.1 when not given, with --quick 0.08.",
    ),
]
Work = Annotated[
    pathlib.Path | None,
    typer.Option(metavar="DIR", help="Where built suites are kept; ~/.cache/tasuki when not given."),
]

# Of bench.
Mpi = Annotated[
    str,
    typer.Option(
        metavar="[NAME=]PREFIX", help="The MPI whose bin/ has mpicxx and mpiexec; ours when not given."
    ),
]
List = Annotated[
    bool, typer.Option("--list", help="List what there is with these options, and measure nothing.")
]
Out = Annotated[
    pathlib.Path | None, typer.Option("-o", "--out", metavar="FILE", help="The results, as JSON.")
]
Csv = Annotated[pathlib.Path | None, typer.Option(metavar="FILE", help="The rows as a table, a line each.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with the file of -o: what is in it is not run again.")
]
Table = Annotated[
    pathlib.Path | None,
    typer.Option(metavar="FILE", help="The tuning table that Tasuki is to choose by (`tasuki tune`)."),
]
Width = Annotated[
    float,
    typer.Option(
        metavar="FRACTION",
        help="A case is done when its median's 95 % interval is narrower than this part of the median.",
    ),
]
Cold = Annotated[bool, typer.Option("--cold", help="Push the data out of the caches before every sample.")]
Folder = Annotated[
    pathlib.Path | None,
    typer.Option(metavar="DIR", help="Where MPI-IO's files are made: on the file system to measure."),
]
ThreadMultiple = Annotated[
    bool,
    typer.Option("--thread-multiple", help="Begin MPI with MPI_THREAD_MULTIPLE: what that costs a call."),
]
Threads = Annotated[
    int,
    typer.Option(
        metavar="N", min=0, max=256, help="Also 1, 2, 4 to N threads of each rank that call at the same time."
    ),
]
Nodes = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Divide the ranks among N virtual nodes that send over the network (Tasuki)."
    ),
]
Network = Annotated[
    str,
    typer.Option(metavar="fabric|model", help="Between virtual nodes: libfabric, or the imitated network."),
]
Host = Annotated[
    str,
    typer.Option(
        metavar="HOST:N[,HOST:N…]",
        help="Divide the ranks among these hosts, as mpiexec --host takes them (Tasuki).",
    ),
]
Limit = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="A case that gives no sign of life for so long is ended, and told."),
]

# Of compare.
Files = Annotated[
    list[pathlib.Path] | None,
    typer.Argument(metavar="[FILE…]", help="Results; the first is the base.", show_default=False),
]
Mpis = Annotated[
    list[str] | None,
    typer.Option(
        "--mpi", metavar="[NAME=]PREFIX", help="Measure this MPI. Repeatable; the first is the base."
    ),
]
Tables = Annotated[
    list[pathlib.Path] | None,
    typer.Option("--table", metavar="FILE", help="Measure Tasuki with this tuning table. Repeatable."),
]
Rounds = Annotated[int, typer.Option(metavar="N", help="How often all take turns.")]
OutFolder = Annotated[
    pathlib.Path,
    typer.Option("-o", "--out", metavar="DIR", help="Where NAME.json of each that is measured goes."),
]
Tolerance = Annotated[float, typer.Option(metavar="FRACTION", help="Smaller differences are none.")]
Every = Annotated[bool, typer.Option("--all", help="Show the rows that are the same, too.")]
Json = Annotated[bool, typer.Option("--json", help="Everything as JSON, for scripts.")]
Gate = Annotated[
    bool,
    typer.Option(
        "--gate",
        help="End with one line and an exit status for CI: 0, nothing is slower; 1, something; 3, unclear.",
    ),
]
FailOn = Annotated[
    list[str] | None,
    typer.Option(metavar="VERDICT", help="Exit status 1 if a row is slower, or a guideline violated."),
]
