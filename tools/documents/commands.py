"""What the commands take, read from the commands: mpiexec by its --help and by what it says of a wrong value,
the compiler wrappers by their usage, tasuki by the parser that it runs on."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Option:
    names: list[str]  # with dashes
    arguments: str  # as the help names them: "NAME VALUE"; empty: none
    help: str
    group: str = ""
    values: list[str] = field(default_factory=list)  # the words that it may be
    attached: bool = False  # its value may be left out: --stats, --stats=json

    @property
    def takes(self) -> int:
        """How many words follow it."""
        return 0 if self.attached or not self.arguments else len(self.arguments.split())


@dataclass
class Command:
    name: str
    summary: str
    usage: str
    text: str  # paragraphs; those that are indented are examples
    options: list[Option]
    after: str = ""


def _output(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def _values(mpiexec: Path, name: str) -> list[str]:
    """What mpiexec says it had expected, where these are words."""
    said = re.search(r"expected ([\w, -]+?)(;|\n|$)", _output(mpiexec, f"{name}=?"))
    words = re.split(r", | or ", said.group(1)) if said else []
    return words if len(words) > 1 and all(re.fullmatch(r"[a-z_]+", word) for word in words) else []


def mpiexec(path: Path) -> Command:
    text = _output(path, "--help")
    head, options, after = re.match(
        r"(.*?)\n\n(\S[^\n]*:\n  -.*?)\n\n(Standard input.*)", text, re.S
    ).groups()
    summary = head.split("\n")[0].removeprefix("mpiexec: ")
    found: list[Option] = []
    group = ""
    for line in options.split("\n"):
        if line and line[0] != " ":
            group = line.rstrip(":")
        elif match := re.match(r"  (-\S.*?)(?:  +(\S.*))?$", line):
            words = match.group(1).split()
            names = [word for word in words if word.startswith("-")]
            found.append(Option(names, " ".join(words[len(names) :]), match.group(2) or "", group))
        elif line.strip():
            found[-1].help = f"{found[-1].help} {line.strip()}".strip()
    for option in found:
        option.arguments = re.sub(r" \| ", "|", option.arguments)
        long = next((name for name in option.names if name.startswith("--")), option.names[0])
        option.attached = not option.arguments and f"{long}=" in option.help
        if option.arguments or option.attached:
            option.values = _values(path, long)
    text = head.split("\n\n", 1)[1]
    return Command("mpiexec", summary, "mpiexec [options] program [arguments] [: ...]", text, found, after)


def wrapper(path: Path, language: str) -> Command:
    usage, *lines = _output(path, "-showme:help").rstrip().split("\n")
    options = []
    for line in lines:
        names, said = re.match(r"  (-\S.*?)(?:  +(\S.*))?$", line).groups()
        options.append(Option([name.strip() for name in names.split(",")], "", said or ""))
    modules = (
        "It compiles the sources of the modules mpi and mpi_f08 for each compiler that it meets for the "
        "first time, in the installed tree or, where that cannot be written, in the user's cache.\n\n"
    )
    text = (
        f"Compiles and links {language} programs with Tasuki, for the standard ABI of MPI 5.0. What it does "
        "not know\nit passes to the compiler.\n\n" + (modules if language == "Fortran" else "")
    )
    text += (
        "    "
        + path.name
        + {"Fortran": " -O2 program.f90 -o program"}.get(language, " -O2 program.c -o program")
    )
    usage = usage.removeprefix("Usage: ")
    return Command(path.name, f"compile a {language} program for MPI", usage, text, options)


def tasuki(app, overview: str) -> list[Command]:
    """The command and its subcommands, of a typer application."""
    import typer.main

    group = typer.main.get_command(app)
    result = [_of_click("tasuki", group, overview, "tasuki COMMAND [options]")]
    for registered in sorted(app.registered_commands, key=lambda one: group_name(one)):
        name = group_name(registered)
        command = group.commands[name]
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        usage = " ".join(["tasuki", name, "[options]", *(_metavar(p) for p in arguments)])
        result.append(_of_click(f"tasuki {name}", command, registered.callback.__doc__, usage))
    return result


def group_name(registered) -> str:
    return registered.name or registered.callback.__name__.replace("_", "-")


def _metavar(parameter) -> str:
    shown = parameter.metavar or parameter.human_readable_name.upper()
    return shown + ("..." if parameter.nargs == -1 and "…" not in shown else "")


def _of_click(name: str, command, text: str | None, usage: str) -> Command:
    import inspect

    text = inspect.cleandoc(text or "")
    options = []
    for parameter in command.params:
        if parameter.param_type_name != "option":
            continue
        flag = getattr(parameter, "is_flag", False)
        names = sorted([*parameter.opts, *parameter.secondary_opts], key=len)
        said = " ".join((parameter.help or "").split())
        shown = "" if flag else (parameter.metavar or "VALUE").replace(" ", "")
        values = shown.split("|") if re.fullmatch(r"[a-z0-9-]+(\|[a-z0-9-]+)+", shown) else []
        options.append(Option(names, shown, said, values=values))
    options.append(Option(["--help"], "", "print what the command takes"))
    summary = re.split(r"(?<=\.)\s|\n\n", " ".join(text.split("\n\n")[0].split()))[0].rstrip(".")
    return Command(name, summary[:1].lower() + summary[1:], usage, text, options)
