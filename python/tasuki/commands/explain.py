"""tasuki explain: where the time of a traced program went, and what would help."""

from __future__ import annotations

import json
import pathlib
from typing import Annotated

import typer

from tasuki.commands import Refusal
from tasuki.commands.predict import Map


def register(app: typer.Typer) -> None:
    app.command("explain")(explain)


def explain(
    file: Annotated[pathlib.Path, typer.Argument(metavar="TRACE", help="What mpiexec --trace wrote.")],
    run: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="RUN.json", help="The machine: what `tasuki bench` measured there."),
    ] = None,
    machine: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="The machine, as in `tasuki predict`.")
    ] = "",
    map_: Map = "",
    html: Annotated[
        pathlib.Path | None, typer.Option("--html", metavar="FILE", help="Write a page with pictures.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON document and nothing else.")] = False,
) -> None:
    """Says why a program is slow, and what would help: what held it up and what could be gained, the
    largest gain first.

        mpiexec --trace -n 4 ./solver

        tasuki explain solver.trace

        tasuki explain solver.trace --html solver.html      a page with timeline and critical path

        tasuki explain solver.trace --machine hosts.json --map 4x1      a table of `tasuki tune --host`

    With a machine, calls are also compared with what they should take there.
    """
    from tasuki import explain as explaining
    from tasuki import machines, pricing, replay, trace
    from tasuki.commands.predict import must_fit_trace, placement_of, pricer_of
    from tasuki.results import ResultsError

    try:
        place = placement_of(map_, None)
        if place and not (run or machine):
            raise Refusal(f"explain: --map {map_}: expected --run or --machine, too")
        pricer = pricer_of(run, machine, [], place) if run or machine else None
        traced = trace.load(file, forgiving=True)
        must_fit_trace(file, traced.parts[0].size, place)
        found = explaining.explain(traced, pricer)
    except (trace.TraceError, replay.ReplayError) as error:
        raise Refusal(str(error)) from None
    except (ResultsError, machines.MachineError, pricing.PricingError) as error:
        raise Refusal(str(error)) from None
    if html is not None:
        write_page(found, html)
    print(json.dumps(found.document(), indent=1, ensure_ascii=False) if as_json else found.text())


def write_page(found, path: pathlib.Path) -> None:
    from tasuki.explain import page

    try:
        page.write(found, path)
    except OSError as error:
        raise Refusal(f"explain: --html {path}: {error.strerror}") from None
